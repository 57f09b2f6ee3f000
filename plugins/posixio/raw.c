/* System calls in place of functions that cannot be looked up yet. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"

/* MODE of an open with FLAGS, the last of its ARGUMENTS where it has one. */
#define OPEN_MODE(flags)                                                                           \
	({                                                                                         \
		mode_t mode_ = 0;                                                                  \
		va_list args_;                                                                     \
                                                                                                   \
		if (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE) {                       \
			va_start(args_, flags);                                                    \
			mode_ = va_arg(args_, mode_t);                                             \
			va_end(args_);                                                             \
		}                                                                                  \
		mode_;                                                                             \
	})

static int raw_openat(int dir, const char *path, int flags, ...)
{
	return (int)syscall(SYS_openat, dir, path, flags, OPEN_MODE(flags));
}

static int raw_open(const char *path, int flags, ...)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, OPEN_MODE(flags));
}

#ifdef __x86_64__
static long raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long ret = own_call_number(number, a, b, c, d, e, f);

	if (ret < 0 && ret > -4096) {
		errno = (int)-ret;
		return -1;
	}
	return ret;
}

/* for the tracer itself: the kernel's structure is glibc's here */
static int raw_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}
#endif

/* libaio's calls are the kernel's, but return the error instead of -1 */
static int raw_io_submit(unsigned long context, long n, void *list)
{
	long ret = syscall(SYS_io_submit, context, n, list);

	return ret < 0 ? -errno : (int)ret;
}

static int raw_io_getevents(unsigned long context, long least, long n, void *list, void *timeout)
{
	long ret = syscall(SYS_io_getevents, context, least, n, list, timeout);

	return ret < 0 ? -errno : (int)ret;
}

/* X(name, type, number, parameters, arguments): functions that are the system call. */
#define CALLS(X)                                                                                   \
	X(close, int, SYS_close, (int fd), fd)                                                     \
	X(read, ssize_t, SYS_read, (int fd, void *to, size_t size), fd, to, size)                  \
	X(write, ssize_t, SYS_write, (int fd, const void *from, size_t size), fd, from, size)      \
	X(munmap, int, SYS_munmap, (void *at, size_t size), at, size)                              \
	X(madvise, int, SYS_madvise, (void *at, size_t size, int advice), at, size, advice)

/* The same, where all arguments and results are words. */
#ifdef __LP64__
#define WORD_CALLS(X)                                                                              \
	X(lseek, off_t, SYS_lseek, (int fd, off_t offset, int whence), fd, offset, whence)         \
	X(pread, ssize_t, SYS_pread64, (int fd, void *to, size_t size, off_t offset), fd, to,      \
	  size, offset)                                                                            \
	X(mmap, void *, SYS_mmap,                                                                  \
	  (void *at, size_t size, int prot, int flags, int fd, off_t offset), at, size, prot,      \
	  flags, fd, offset)
#else
#define WORD_CALLS(X)
#endif

#define X(name, type, number, parameters, ...)                                                     \
	static type raw_##name parameters                                                          \
	{                                                                                          \
		return (type)syscall(number, __VA_ARGS__);                                         \
	}
CALLS(X)
WORD_CALLS(X)
#undef X

/* Calls that an allocator or a loader hook may make while it is itself being loaded. */
void *raw_function(enum function fn)
{
	switch (fn) {
	case FN_open:
	case FN_open64:
		return (void *)raw_open;
	case FN_openat:
	case FN_openat64:
		return (void *)raw_openat;
#define X(name, ...)                                                                               \
	case FN_##name:                                                                            \
		return (void *)raw_##name;
		CALLS(X)
#undef X
#define X(name, ...)                                                                               \
	case FN_##name:                                                                            \
	case FN_##name##64:                                                                        \
		return (void *)raw_##name;
		WORD_CALLS(X)
#undef X
#ifdef __x86_64__
	case FN_syscall:
		return (void *)raw_syscall;
	case FN_fstat:
		return (void *)raw_fstat;
#endif
	case FN_io_submit:
		return (void *)raw_io_submit;
	case FN_io_getevents:
		return (void *)raw_io_getevents;
	default:
		return NULL;
	}
}

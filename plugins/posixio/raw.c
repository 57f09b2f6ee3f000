/* System calls in place of functions that cannot be looked up yet. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"

static int raw_openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static int raw_open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {
		va_start(args, flags);
		mode = va_arg(args, mode_t);
		va_end(args);
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static int raw_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static ssize_t raw_read(int fd, void *buffer, size_t size)
{
	return syscall(SYS_read, fd, buffer, size);
}

static ssize_t raw_write(int fd, const void *buffer, size_t size)
{
	return syscall(SYS_write, fd, buffer, size);
}

#ifdef __LP64__
static off_t raw_lseek(int fd, off_t offset, int whence)
{
	return syscall(SYS_lseek, fd, offset, whence);
}

static ssize_t raw_pread(int fd, void *buffer, size_t size, off_t offset)
{
	return syscall(SYS_pread64, fd, buffer, size, offset);
}
#endif

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
#endif

#ifdef __x86_64__
/* for the tracer itself: the kernel's structure is glibc's here */
static int raw_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}
#endif

#ifdef __LP64__
static void *raw_mmap(void *wish, size_t size, int protection, int flags, int fd, off_t offset)
{
	return (void *)syscall(SYS_mmap, wish, size, protection, flags, fd, offset);
}
#endif

static int raw_munmap(void *at, size_t size)
{
	return (int)syscall(SYS_munmap, at, size);
}

static int raw_madvise(void *at, size_t size, int advice)
{
	return (int)syscall(SYS_madvise, at, size, advice);
}

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
	case FN_close:
		return (void *)raw_close;
	case FN_read:
		return (void *)raw_read;
	case FN_write:
		return (void *)raw_write;
#ifdef __LP64__
	case FN_lseek:
	case FN_lseek64:
		return (void *)raw_lseek;
	case FN_pread:
	case FN_pread64:
		return (void *)raw_pread;
#endif
#ifdef __x86_64__
	case FN_syscall:
		return (void *)raw_syscall;
	case FN_fstat:
		return (void *)raw_fstat;
#endif
#ifdef __LP64__
	case FN_mmap:
	case FN_mmap64:
		return (void *)raw_mmap;
#endif
	case FN_munmap:
		return (void *)raw_munmap;
	case FN_madvise:
		return (void *)raw_madvise;
	case FN_io_submit:
		return (void *)raw_io_submit;
	case FN_io_getevents:
		return (void *)raw_io_getevents;
	default:
		return NULL;
	}
}

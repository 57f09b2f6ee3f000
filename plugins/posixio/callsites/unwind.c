/* libsci-unwind: walks the stack with libunwind, loaded separately so that it replaces nothing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/*
 * libunwind.so exports backtrace() and _Unwind_*: linked to a preloaded library, it would be used
 * by the program's C++ exceptions. So the tracer opens this library with RTLD_LOCAL. For a function
 * without unwind tables libunwind probes the stack by writing bytes into a pipe of its own, whose
 * descriptors the program may close and reuse for its files. With RTLD_DEEPBIND libunwind uses
 * these stand-ins: its pipe is no descriptor, nothing is written. Calls on other descriptors (maps,
 * messages) are passed on to the C library.
 */
#define NO_PIPE (-1)

EXPORT int pipe2(int fds[2], int flags);
EXPORT ssize_t read(int fd, void *buffer, size_t n);
EXPORT ssize_t write(int fd, const void *buffer, size_t n);
EXPORT long syscall(long number, ...);
EXPORT int sci_unwind(void **frames, int room);

static __typeof__(read) *real_read;
static __typeof__(write) *real_write;
static __typeof__(syscall) *real_syscall;

EXPORT int pipe2(int fds[2], int flags)
{
	(void)flags;
	fds[0] = fds[1] = NO_PIPE;
	return 0;
}

/* From the pipe: the byte written last is there, so libunwind need not open it again. */
EXPORT ssize_t read(int fd, void *buffer, size_t n)
{
	if (fd != NO_PIPE)
		return real_read(fd, buffer, n);
	errno = 0;
	return 1;
}

/* Can the byte at ADDRESS be read? The kernel copies the mask before it rejects HOW. */
static ssize_t probe(uintptr_t address)
{
	if (real_syscall(SYS_rt_sigprocmask, ~0L, address & ~(uintptr_t)7, NULL, 8L) != 0 &&
	    errno == EFAULT)
		return -1;
	errno = 0;
	return 1;
}

EXPORT ssize_t write(int fd, const void *buffer, size_t n)
{
	return fd == NO_PIPE ? probe((uintptr_t)buffer) : real_write(fd, buffer, n);
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_write && (int)a[0] == NO_PIPE)
		return probe((uintptr_t)a[1]);
	return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Return addresses, innermost first; how many, up to ROOM. */
EXPORT int sci_unwind(void **frames, int room)
{
	return unw_backtrace(frames, room);
}

__attribute__((constructor)) static void find_real(void)
{
	real_read = (__typeof__(real_read))dlsym(RTLD_NEXT, "read");
	real_write = (__typeof__(real_write))dlsym(RTLD_NEXT, "write");
	real_syscall = (__typeof__(real_syscall))dlsym(RTLD_NEXT, "syscall");
}

/* libsci-unwind: walks the stack with libunwind, loaded apart so that it takes over nothing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/*
 * libunwind.so exports backtrace() and _Unwind_*: linked to a preloaded library it would be what
 * the program's C++ exceptions run on. So the tracer opens this library with RTLD_LOCAL.
 *
 * And where a function has no unwind tables libunwind probes the stack by writing bytes into a pipe
 * of its own, whose descriptors the program may close and use for files of its own. With
 * RTLD_DEEPBIND these stand-ins are what libunwind finds: no descriptor is opened, nothing written.
 */
EXPORT int pipe2(int fds[2], int flags);
EXPORT ssize_t read(int fd, void *buffer, size_t n);
EXPORT ssize_t write(int fd, const void *buffer, size_t n);

EXPORT int pipe2(int fds[2], int flags)
{
	(void)flags;
	fds[0] = fds[1] = -1;
	return 0;
}

/* "The byte written before is there", so the pipe need not be opened anew. */
EXPORT ssize_t read(int fd, void *buffer, size_t n)
{
	(void)fd;
	(void)buffer;
	errno = 0;
	return n > 0;
}

/* Can BUFFER be read? The kernel copies the mask in before it finds that HOW means nothing. */
EXPORT ssize_t write(int fd, const void *buffer, size_t n)
{
	uintptr_t mask = (uintptr_t)buffer & ~(uintptr_t)7;

	(void)fd;
	if (syscall(SYS_rt_sigprocmask, ~0, mask, NULL, 8) != 0 && errno == EFAULT)
		return -1;
	errno = 0;
	return (ssize_t)n;
}

/* Return addresses, innermost first, this function's own included; how many, up to ROOM. */
EXPORT int sci_unwind(void **frames, int room);

EXPORT int sci_unwind(void **frames, int room)
{
	return unw_backtrace(frames, room);
}

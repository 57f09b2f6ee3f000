/* System calls in place of functions that cannot be looked up yet. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* What an allocator or a loader hook may call while it is itself being loaded. */
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
	default:
		return NULL;
	}
}

/* Wrappers of calls that create, copy and close descriptors. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

static bool changes_file(int command)
{
	switch (command) {
	case F_SETFL:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
	case F_SETLEASE:
	case F_SETPIPE_SZ:
		return true;
	default:
		return false;
	}
}

/* The mode is given only if a file may be created; reading it otherwise is undefined. */
#define TAKES_MODE(flags) (((flags)&O_CREAT) || ((flags)&O_TMPFILE) == O_TMPFILE)
#define READ_MODE(flags, mode)                                                                     \
	do {                                                                                       \
		if (TAKES_MODE(flags)) {                                                           \
			va_list list;                                                              \
                                                                                                   \
			va_start(list, flags);                                                     \
			mode = va_arg(list, mode_t);                                               \
			va_end(list);                                                              \
		}                                                                                  \
	} while (0)

#define OPENED(name, dir, path, flags, args)                                                       \
	struct op op;                                                                              \
	int fd;                                                                                    \
                                                                                                   \
	if (!op_begin_open(&op, FN_##name, CALLER)) {                                              \
		fd = REAL(name) args;                                                              \
		op_open_untraced(fd, CALLER);                                                      \
		return fd;                                                                         \
	}                                                                                          \
	fd = REAL(name) args;                                                                      \
	op_end_open(&op, fd, dir, path, flags);                                                    \
	return fd

EXPORT int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(flags, mode);
	OPENED(open, AT_FDCWD, path, flags, (path, flags, mode));
}

EXPORT int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(flags, mode);
	OPENED(open64, AT_FDCWD, path, flags, (path, flags, mode));
}

EXPORT int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(flags, mode);
	OPENED(openat, dir, path, flags, (dir, path, flags, mode));
}

EXPORT int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	READ_MODE(flags, mode);
	OPENED(openat64, dir, path, flags, (dir, path, flags, mode));
}

EXPORT int creat(const char *path, mode_t mode)
{
	OPENED(creat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, (path, mode));
}

EXPORT int creat64(const char *path, mode_t mode)
{
	OPENED(creat64, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, (path, mode));
}

EXPORT int __open_2(const char *path, int flags)
{
	OPENED(__open_2, AT_FDCWD, path, flags, (path, flags));
}

EXPORT int __open64_2(const char *path, int flags)
{
	OPENED(__open64_2, AT_FDCWD, path, flags, (path, flags));
}

EXPORT int __openat_2(int dir, const char *path, int flags)
{
	OPENED(__openat_2, dir, path, flags, (dir, path, flags));
}

EXPORT int __openat64_2(int dir, const char *path, int flags)
{
	OPENED(__openat64_2, dir, path, flags, (dir, path, flags));
}

#define DUPLICATED(name, old_fd, args)                                                             \
	struct op op;                                                                              \
	int fd;                                                                                    \
                                                                                                   \
	if (!op_begin_open(&op, FN_##name, CALLER)) {                                              \
		fd = REAL(name) args;                                                              \
		op_dup_untraced(fd);                                                               \
		return fd;                                                                         \
	}                                                                                          \
	fd = REAL(name) args;                                                                      \
	op_end_dup(&op, old_fd, fd);                                                               \
	return fd

EXPORT int dup(int old_fd)
{
	DUPLICATED(dup, old_fd, (old_fd));
}

EXPORT int dup2(int old_fd, int new_fd)
{
	DUPLICATED(dup2, old_fd, (old_fd, new_fd));
}

EXPORT int dup3(int old_fd, int new_fd, int flags)
{
	DUPLICATED(dup3, old_fd, (old_fd, new_fd, flags));
}

EXPORT int close(int fd)
{
	CLOSES(close, fd, (fd));
}

/* the path is known after the function has made it from the template */
EXPORT int mkstemp(char *template)
{
	OPENED(mkstemp, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL, (template));
}

EXPORT int mkstemp64(char *template)
{
	OPENED(mkstemp64, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL, (template));
}

EXPORT int mkostemp(char *template, int flags)
{
	OPENED(mkostemp, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags, (template, flags));
}

EXPORT int mkostemp64(char *template, int flags)
{
	OPENED(mkostemp64, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags,
	       (template, flags));
}

EXPORT int mkstemps(char *template, int suffix)
{
	OPENED(mkstemps, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL, (template, suffix));
}

EXPORT int mkstemps64(char *template, int suffix)
{
	OPENED(mkstemps64, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL, (template, suffix));
}

EXPORT int mkostemps(char *template, int suffix, int flags)
{
	OPENED(mkostemps, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags,
	       (template, suffix, flags));
}

EXPORT int mkostemps64(char *template, int suffix, int flags)
{
	OPENED(mkostemps64, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags,
	       (template, suffix, flags));
}

/*
 * The third argument may be an int, a pointer or missing; glibc itself takes it as a pointer, and
 * so does this wrapper. Only calls that duplicate, change flags or lock are recorded: the others do
 * not affect the file.
 */
static ALWAYS_INLINE int control(enum function fn, __typeof__(fcntl) *real, int fd, int command,
				 void *arg, const void *caller)
{
	struct op op;
	int ret;

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
		if (!op_begin_open(&op, fn, caller)) {
			ret = real(fd, command, arg);
			op_dup_untraced(ret);
			return ret;
		}
		op_kind(&op, ETA_OP_OPEN);
		ret = real(fd, command, arg);
		op_end_dup(&op, fd, ret);
		return ret;
	}
	if (!changes_file(command) || !op_begin(&op, fn, fd, 0, ETA_OFFSET_UNKNOWN, caller))
		return real(fd, command, arg);
	ret = real(fd, command, arg);
	if (command == F_SETFL && ret == 0)
		op_flags(&op, fd, (int)(intptr_t)arg);
	op_end(&op, ETA_OP_OTHER, ret == -1 ? -errno : ret, ETA_OFFSET_UNKNOWN);
	return ret;
}

EXPORT int fcntl(int fd, int command, ...)
{
	va_list list;
	void *arg;

	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	return control(FN_fcntl, REAL(fcntl), fd, command, arg, CALLER);
}

EXPORT int fcntl64(int fd, int command, ...)
{
	va_list list;
	void *arg;

	va_start(list, command);
	arg = va_arg(list, void *);
	va_end(list);
	return control(FN_fcntl64, REAL(fcntl64), fd, command, arg, CALLER);
}

/*
 * Each of the descriptors gets a record, as if it were closed separately. Not if they stay open:
 * with CLOSE_RANGE_CLOEXEC, or with a flag that the kernel does not know.
 */
EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!(flags & ~(int)CLOSE_RANGE_UNSHARE))
		op_close_many(FN_close_range, first, last, CALLER);
	return REAL(close_range)(first, last, flags);
}

EXPORT void closefrom(int first)
{
	op_close_many(FN_closefrom, first < 0 ? 0 : (unsigned)first, UINT_MAX, CALLER);
	REAL(closefrom)(first);
}

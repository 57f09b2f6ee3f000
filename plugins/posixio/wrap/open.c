/* Wrappers of calls that make, copy and close descriptors. */
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

/* The mode is there only when a file may be made; reading it otherwise is undefined. */
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

#define SHAPE_OPEN(name, kind, type, detail)                                                       \
	EXPORT int name(const char *path, int flags, ...)                                          \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		READ_MODE(flags, mode);                                                            \
		OPENED(name, AT_FDCWD, path, flags, (path, flags, mode));                          \
	}

#define SHAPE_OPENAT(name, kind, type, detail)                                                     \
	EXPORT int name(int dir, const char *path, int flags, ...)                                 \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		READ_MODE(flags, mode);                                                            \
		OPENED(name, dir, path, flags, (dir, path, flags, mode));                          \
	}

#define SHAPE_CREAT(name, kind, type, detail)                                                      \
	EXPORT int name(const char *path, mode_t mode)                                             \
	{                                                                                          \
		OPENED(name, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, (path, mode));          \
	}

#define SHAPE_OPEN_2(name, kind, type, detail)                                                     \
	EXPORT int name(const char *path, int flags)                                               \
	{                                                                                          \
		OPENED(name, AT_FDCWD, path, flags, (path, flags));                                \
	}

#define SHAPE_OPENAT_2(name, kind, type, detail)                                                   \
	EXPORT int name(int dir, const char *path, int flags)                                      \
	{                                                                                          \
		OPENED(name, dir, path, flags, (dir, path, flags));                                \
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

#define SHAPE_DUP(name, kind, type, detail)                                                        \
	EXPORT int name(int old_fd)                                                                \
	{                                                                                          \
		DUPLICATED(name, old_fd, (old_fd));                                                \
	}

#define SHAPE_DUP2(name, kind, type, detail)                                                       \
	EXPORT int name(int old_fd, int new_fd)                                                    \
	{                                                                                          \
		DUPLICATED(name, old_fd, (old_fd, new_fd));                                        \
	}

#define SHAPE_DUP3(name, kind, type, detail)                                                       \
	EXPORT int name(int old_fd, int new_fd, int flags)                                         \
	{                                                                                          \
		DUPLICATED(name, old_fd, (old_fd, new_fd, flags));                                 \
	}

#define SHAPE_CLOSE(name, kind, type, detail)                                                      \
	EXPORT int name(int fd)                                                                    \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!op_begin_close(&op, FN_##name, fd, CALLER))                                   \
			return REAL(name)(fd);                                                     \
		ret = REAL(name)(fd);                                                              \
		op_end_close(&op, ret);                                                            \
		return ret;                                                                        \
	}

/* the path is known once the function has made it from the template */
#define SHAPE_MKSTEMP(name, kind, type, detail)                                                    \
	EXPORT int name(char *template)                                                            \
	{                                                                                          \
		OPENED(name, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL, (template));           \
	}

#define SHAPE_MKOSTEMP(name, kind, type, detail)                                                   \
	EXPORT int name(char *template, int flags)                                                 \
	{                                                                                          \
		OPENED(name, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags,                \
		       (template, flags));                                                         \
	}

#define SHAPE_MKSTEMPS(name, kind, type, detail)                                                   \
	EXPORT int name(char *template, int suffix)                                                \
	{                                                                                          \
		OPENED(name, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL, (template, suffix));   \
	}

#define SHAPE_MKOSTEMPS(name, kind, type, detail)                                                  \
	EXPORT int name(char *template, int suffix, int flags)                                     \
	{                                                                                          \
		OPENED(name, AT_FDCWD, template, O_RDWR | O_CREAT | O_EXCL | flags,                \
		       (template, suffix, flags));                                                 \
	}

/*
 * The third argument may be an int, a pointer or missing; glibc itself takes it as a pointer, and
 * so do we. Only what duplicates, changes flags or locks is recorded: the rest does not touch the
 * file.
 */
#define SHAPE_FCNTL(name, kind, type, detail)                                                      \
	EXPORT int name(int fd, int command, ...)                                                  \
	{                                                                                          \
		struct op op;                                                                      \
		va_list list;                                                                      \
		void *arg;                                                                         \
		int ret;                                                                           \
                                                                                                   \
		va_start(list, command);                                                           \
		arg = va_arg(list, void *);                                                        \
		va_end(list);                                                                      \
		if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {                            \
			if (!op_begin_open(&op, FN_##name, CALLER)) {                              \
				ret = REAL(name)(fd, command, arg);                                \
				op_dup_untraced(ret);                                              \
				return ret;                                                        \
			}                                                                          \
			op_kind(&op, ETA_OP_OPEN);                                                 \
			ret = REAL(name)(fd, command, arg);                                        \
			op_end_dup(&op, fd, ret);                                                  \
			return ret;                                                                \
		}                                                                                  \
		if (!changes_file(command) ||                                                      \
		    !op_begin(&op, FN_##name, fd, 0, ETA_OFFSET_UNKNOWN, CALLER))                  \
			return REAL(name)(fd, command, arg);                                       \
		ret = REAL(name)(fd, command, arg);                                                \
		if (command == F_SETFL && ret == 0)                                                \
			op_flags(&op, fd, (int)(intptr_t)arg);                                     \
		op_end(&op, ETA_OP_##kind, ret == -1 ? -errno : ret, ETA_OFFSET_UNKNOWN);          \
		return ret;                                                                        \
	}

/*
 * Of many descriptors at once: each is a record of its own, as if it were closed by itself. Not
 * where they stay open: with CLOSE_RANGE_CLOEXEC, or with a flag that the kernel does not know.
 */
#define SHAPE_CLOSE_RANGE(name, kind, type, detail)                                                \
	EXPORT int name(unsigned int first, unsigned int last, int flags)                          \
	{                                                                                          \
		if (!(flags & ~(int)CLOSE_RANGE_UNSHARE))                                          \
			op_close_many(FN_##name, first, last, CALLER);                             \
		return REAL(name)(first, last, flags);                                             \
	}

#define SHAPE_CLOSEFROM(name, kind, type, detail)                                                  \
	EXPORT void name(int first)                                                                \
	{                                                                                          \
		op_close_many(FN_##name, first < 0 ? 0 : (unsigned)first, UINT_MAX, CALLER);       \
		REAL(name)(first);                                                                 \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_OPEN_FUNCTIONS(X)
#undef X

/* Wrappers of calls that make, copy and close descriptors. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

/* glibc's checked names (-D_FORTIFY_SOURCE) have no public prototype */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

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

#define OPENED(name, path, flags, args)                                                            \
	struct op op;                                                                              \
	int fd;                                                                                    \
                                                                                                   \
	if (!op_begin_open(&op, FN_##name, CALLER)) {                                              \
		fd = REAL(name) args;                                                              \
		op_open_untraced(fd, CALLER);                                                      \
		return fd;                                                                         \
	}                                                                                          \
	fd = REAL(name) args;                                                                      \
	op_end_open(&op, fd, path, flags);                                                         \
	return fd

#define SHAPE_OPEN(name)                                                                           \
	EXPORT int name(const char *path, int flags, ...)                                          \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		READ_MODE(flags, mode);                                                            \
		OPENED(name, path, flags, (path, flags, mode));                                    \
	}

#define SHAPE_OPENAT(name)                                                                         \
	EXPORT int name(int dir, const char *path, int flags, ...)                                 \
	{                                                                                          \
		mode_t mode = 0;                                                                   \
                                                                                                   \
		READ_MODE(flags, mode);                                                            \
		OPENED(name, path, flags, (dir, path, flags, mode));                               \
	}

#define SHAPE_CREAT(name)                                                                          \
	EXPORT int name(const char *path, mode_t mode)                                             \
	{                                                                                          \
		OPENED(name, path, O_WRONLY | O_CREAT | O_TRUNC, (path, mode));                    \
	}

#define SHAPE_OPEN_2(name)                                                                         \
	EXPORT int name(const char *path, int flags)                                               \
	{                                                                                          \
		OPENED(name, path, flags, (path, flags));                                          \
	}

#define SHAPE_OPENAT_2(name)                                                                       \
	EXPORT int name(int dir, const char *path, int flags)                                      \
	{                                                                                          \
		OPENED(name, path, flags, (dir, path, flags));                                     \
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

#define SHAPE_DUP(name)                                                                            \
	EXPORT int name(int old_fd)                                                                \
	{                                                                                          \
		DUPLICATED(name, old_fd, (old_fd));                                                \
	}

#define SHAPE_DUP2(name)                                                                           \
	EXPORT int name(int old_fd, int new_fd)                                                    \
	{                                                                                          \
		DUPLICATED(name, old_fd, (old_fd, new_fd));                                        \
	}

#define SHAPE_DUP3(name)                                                                           \
	EXPORT int name(int old_fd, int new_fd, int flags)                                         \
	{                                                                                          \
		DUPLICATED(name, old_fd, (old_fd, new_fd, flags));                                 \
	}

#define SHAPE_CLOSE(name)                                                                          \
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

#define X(name, kind, shape, variant, offset_type) SHAPE_##shape(name)
SCI_OPEN_FUNCTIONS(X)
#undef X

/* Wrappers of calls on names and attributes, recorded with SCI_METADATA=1 only. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wrap.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

/* names of programs that were built with a glibc before 2.33 */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __lxstat(int version, const char *path, struct stat *st);
int __lxstat64(int version, const char *path, struct stat64 *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);

#define NAMED(name, kind, detail, type, path, args)                                                \
	if (!DETAIL_##detail)                                                                      \
		return REAL(name) args;                                                            \
	ON_PATH(name, kind, type, path, args)

#define ATTRIBUTE(name, kind, detail, fd, args)                                                    \
	if (!DETAIL_##detail)                                                                      \
		return REAL(name) args;                                                            \
	ON_FD(name, kind, int, fd, 0, ETA_OFFSET_UNKNOWN, ret, args)

#define SHAPE_STAT(name, kind, type, detail)                                                       \
	EXPORT int name(const char *path, struct type *st)                                         \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (path, st));                                  \
	}

#define SHAPE_XSTAT(name, kind, type, detail)                                                      \
	EXPORT int name(int version, const char *path, struct type *st)                            \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (version, path, st));                         \
	}

#define SHAPE_FSTATAT(name, kind, type, detail)                                                    \
	EXPORT int name(int dir, const char *path, struct type *st, int flags)                     \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, st, flags));                      \
	}

#define SHAPE_STATX(name, kind, type, detail)                                                      \
	EXPORT int name(int dir, const char *path, int flags, unsigned mask, struct statx *st)     \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, flags, mask, st));                \
	}

#define SHAPE_PATH(name, kind, type, detail)                                                       \
	EXPORT int name(const char *path)                                                          \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (path));                                      \
	}

#define SHAPE_PATH_MODE(name, kind, type, detail)                                                  \
	EXPORT int name(const char *path, type mode)                                               \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (path, mode));                                \
	}

#define SHAPE_PATH_AT_MODE(name, kind, type, detail)                                               \
	EXPORT int name(int dir, const char *path, type mode)                                      \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, mode));                           \
	}

/* the file of a call with two names is the one that is there before it */
#define SHAPE_PATHS(name, kind, type, detail)                                                      \
	EXPORT int name(const char *path, const char *new_path)                                    \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (path, new_path));                            \
	}

#define SHAPE_PATHS_AT(name, kind, type, detail)                                                   \
	EXPORT int name(int dir, const char *path, int new_dir, const char *new_path)              \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, new_dir, new_path));              \
	}

#define SHAPE_PATHS_AT_FLAGS(name, kind, type, detail)                                             \
	EXPORT int name(int dir, const char *path, int new_dir, const char *new_path, type flags)  \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, new_dir, new_path, flags));       \
	}

/* a target is a text and need not be there; of an empty one the path was not read */
#define LINK(path) (ret == 0 || errno == EEXIST ? (path) : NULL)
#define SHAPE_SYMLINK(name, kind, type, detail)                                                    \
	EXPORT int name(const char *target, const char *path)                                      \
	{                                                                                          \
		NAMED(name, kind, detail, int, LINK(path), (target, path));                        \
	}

#define SHAPE_SYMLINKAT(name, kind, type, detail)                                                  \
	EXPORT int name(const char *target, int dir, const char *path)                             \
	{                                                                                          \
		NAMED(name, kind, detail, int, LINK(path), (target, dir, path));                   \
	}

/* what came may have been put over the path, and has no end */
#define UNTOUCHED(path, target)                                                                    \
	(ret < 0 || ((uintptr_t)(path) - (uintptr_t)(target) >= (uintptr_t)ret &&                  \
		     memchr(path, 0, (uintptr_t)(target) - (uintptr_t)(path)))                     \
		 ? (path)                                                                          \
		 : NULL)

#define SHAPE_READLINK(name, kind, type, detail)                                                   \
	EXPORT ssize_t name(const char *path, char *target, size_t size)                           \
	{                                                                                          \
		NAMED(name, kind, detail, ssize_t, UNTOUCHED(path, target), (path, target, size)); \
	}

#define SHAPE_FCHMODAT(name, kind, type, detail)                                                   \
	EXPORT int name(int dir, const char *path, mode_t mode, int flags)                         \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, mode, flags));                    \
	}

#define SHAPE_UTIME(name, kind, type, detail)                                                      \
	EXPORT int name(const char *path, const struct utimbuf *times)                             \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (path, times));                               \
	}

#define SHAPE_UTIMES(name, kind, type, detail)                                                     \
	EXPORT int name(const char *path, const struct timeval times[2])                           \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (path, times));                               \
	}

#define SHAPE_UTIMENSAT(name, kind, type, detail)                                                  \
	EXPORT int name(int dir, const char *path, const struct timespec times[2], int flags)      \
	{                                                                                          \
		NAMED(name, kind, detail, int, path, (dir, path, times, flags));                   \
	}

#define SHAPE_FSTAT(name, kind, type, detail)                                                      \
	EXPORT int name(int fd, struct type *st)                                                   \
	{                                                                                          \
		ATTRIBUTE(name, kind, detail, fd, (fd, st));                                       \
	}

#define SHAPE_FXSTAT(name, kind, type, detail)                                                     \
	EXPORT int name(int version, int fd, struct type *st)                                      \
	{                                                                                          \
		ATTRIBUTE(name, kind, detail, fd, (version, fd, st));                              \
	}

#define SHAPE_FCHMOD(name, kind, type, detail)                                                     \
	EXPORT int name(int fd, mode_t mode)                                                       \
	{                                                                                          \
		ATTRIBUTE(name, kind, detail, fd, (fd, mode));                                     \
	}

#define SHAPE_FUTIMENS(name, kind, type, detail)                                                   \
	EXPORT int name(int fd, const struct timespec times[2])                                    \
	{                                                                                          \
		ATTRIBUTE(name, kind, detail, fd, (fd, times));                                    \
	}

/* ---- directories ---- */

static int directory(DIR *dir)
{
	int saved = errno, fd;

	/*
	 * NULL is for the function itself to refuse; but where its prototype says that none is
	 * given (nonnull), the compiler would leave out this check in our function of that name.
	 */
	__asm__("" : "+r"(dir));
	fd = dir ? dirfd(dir) : -1;
	errno = saved;
	return fd;
}

#define SHAPE_OPENDIR(name, kind, type, detail)                                                    \
	EXPORT DIR *name(const char *path)                                                         \
	{                                                                                          \
		struct op op;                                                                      \
		DIR *opened;                                                                       \
                                                                                                   \
		if (!DETAIL_##detail || !op_begin_open(&op, FN_##name, CALLER))                    \
			return REAL(name)(path);                                                   \
		opened = REAL(name)(path);                                                         \
		op_end_open(&op, opened ? directory(opened) : -1, AT_FDCWD, path,                  \
			    O_RDONLY | O_DIRECTORY);                                               \
		return opened;                                                                     \
	}

/* NULL is the end, or an error where errno was changed */
#define SHAPE_READDIR(name, kind, type, detail)                                                    \
	EXPORT struct type *name(DIR *dir)                                                         \
	{                                                                                          \
		int before = errno;                                                                \
		struct type *entry;                                                                \
		struct op op;                                                                      \
                                                                                                   \
		if (!DETAIL_##detail ||                                                            \
		    !op_begin(&op, FN_##name, directory(dir), 0, ETA_OFFSET_UNKNOWN, CALLER))      \
			return REAL(name)(dir);                                                    \
		errno = 0;                                                                         \
		entry = REAL(name)(dir);                                                           \
		op_end(&op, ETA_OP_##kind, entry ? 1 : -errno, ETA_OFFSET_UNKNOWN);                \
		if (!errno)                                                                        \
			errno = before;                                                            \
		return entry;                                                                      \
	}

/* its descriptor leaves the table, whatever is recorded */
#define SHAPE_CLOSEDIR(name, kind, type, detail)                                                   \
	EXPORT int name(DIR *dir)                                                                  \
	{                                                                                          \
		struct op op;                                                                      \
		int ret;                                                                           \
                                                                                                   \
		if (!op_begin_close(&op, FN_##name, directory(dir), CALLER))                       \
			return REAL(name)(dir);                                                    \
		ret = REAL(name)(dir);                                                             \
		op_end_close(&op, ret);                                                            \
		return ret;                                                                        \
	}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_METADATA_FUNCTIONS(X)
#undef X

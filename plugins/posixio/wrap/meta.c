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

/* names used by programs that were built with a glibc before 2.33 */
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

EXPORT int fstatat(int dir, const char *path, struct stat *st, int flags)
{
	NAMED(fstatat, OTHER, METADATA, int, path, (dir, path, st, flags));
}

EXPORT int fstatat64(int dir, const char *path, struct stat64 *st, int flags)
{
	NAMED(fstatat64, OTHER, METADATA, int, path, (dir, path, st, flags));
}

EXPORT int statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
	NAMED(statx, OTHER, METADATA, int, path, (dir, path, flags, mask, st));
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

EXPORT int unlinkat(int dir, const char *path, int mode)
{
	NAMED(unlinkat, META, METADATA, int, path, (dir, path, mode));
}

EXPORT int mkdirat(int dir, const char *path, mode_t mode)
{
	NAMED(mkdirat, META, METADATA, int, path, (dir, path, mode));
}

/* of two names, the file is the one that exists before the call */
EXPORT int rename(const char *path, const char *new_path)
{
	NAMED(rename, META, METADATA, int, path, (path, new_path));
}

EXPORT int link(const char *path, const char *new_path)
{
	NAMED(link, META, METADATA, int, path, (path, new_path));
}

EXPORT int renameat(int dir, const char *path, int new_dir, const char *new_path)
{
	NAMED(renameat, META, METADATA, int, path, (dir, path, new_dir, new_path));
}

EXPORT int renameat2(int dir, const char *path, int new_dir, const char *new_path, unsigned flags)
{
	NAMED(renameat2, META, METADATA, int, path, (dir, path, new_dir, new_path, flags));
}

EXPORT int linkat(int dir, const char *path, int new_dir, const char *new_path, int flags)
{
	NAMED(linkat, META, METADATA, int, path, (dir, path, new_dir, new_path, flags));
}

/* a target is a text and need not exist; if it is empty, the path was not read */
#define LINK(path) (ret == 0 || errno == EEXIST ? (path) : NULL)
EXPORT int symlink(const char *target, const char *path)
{
	NAMED(symlink, META, METADATA, int, LINK(path), (target, path));
}

EXPORT int symlinkat(const char *target, int dir, const char *path)
{
	NAMED(symlinkat, META, METADATA, int, LINK(path), (target, dir, path));
}

/* the result may have overwritten the path, and has no NUL */
#define UNTOUCHED(path, target)                                                                    \
	(ret < 0 || ((uintptr_t)(path) - (uintptr_t)(target) >= (uintptr_t)ret &&                  \
		     memchr(path, 0, (uintptr_t)(target) - (uintptr_t)(path)))                     \
		 ? (path)                                                                          \
		 : NULL)

EXPORT ssize_t readlink(const char *path, char *target, size_t size)
{
	NAMED(readlink, OTHER, METADATA, ssize_t, UNTOUCHED(path, target), (path, target, size));
}

EXPORT int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	NAMED(fchmodat, META, METADATA, int, path, (dir, path, mode, flags));
}

EXPORT int utime(const char *path, const struct utimbuf *times)
{
	NAMED(utime, META, METADATA, int, path, (path, times));
}

EXPORT int utimes(const char *path, const struct timeval times[2])
{
	NAMED(utimes, META, METADATA, int, path, (path, times));
}

EXPORT int utimensat(int dir, const char *path, const struct timespec times[2], int flags)
{
	NAMED(utimensat, META, METADATA, int, path, (dir, path, times, flags));
}

EXPORT int fstat(int fd, struct stat *st)
{
	ATTRIBUTE(fstat, OTHER, METADATA, fd, (fd, st));
}

EXPORT int fstat64(int fd, struct stat64 *st)
{
	ATTRIBUTE(fstat64, OTHER, METADATA, fd, (fd, st));
}

EXPORT int __fxstat(int version, int fd, struct stat *st)
{
	ATTRIBUTE(__fxstat, OTHER, METADATA, fd, (version, fd, st));
}

EXPORT int __fxstat64(int version, int fd, struct stat64 *st)
{
	ATTRIBUTE(__fxstat64, OTHER, METADATA, fd, (version, fd, st));
}

EXPORT int fchmod(int fd, mode_t mode)
{
	ATTRIBUTE(fchmod, META, METADATA, fd, (fd, mode));
}

EXPORT int futimens(int fd, const struct timespec times[2])
{
	ATTRIBUTE(futimens, META, METADATA, fd, (fd, times));
}

/* ---- directories ---- */

static int directory(DIR *dir)
{
	int saved = errno, fd;

	/*
	 * The function itself refuses NULL. If its prototype is declared nonnull, the compiler
	 * would remove this check from our function of that name.
	 */
	__asm__("" : "+r"(dir));
	fd = dir ? dirfd(dir) : -1;
	errno = saved;
	return fd;
}

EXPORT DIR *opendir(const char *path)
{
	struct op op;
	DIR *opened;

	if (!DETAIL_METADATA || !op_begin_open(&op, FN_opendir, CALLER))
		return REAL(opendir)(path);
	opened = REAL(opendir)(path);
	op_end_open(&op, opened ? directory(opened) : -1, AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	return opened;
}

/* NULL is the end, or an error if errno was changed */
static ALWAYS_INLINE void *next_entry(enum function fn, void *(*real)(DIR *), DIR *dir,
				      const void *caller)
{
	int before = errno;
	struct op op;
	void *entry;

	if (!DETAIL_METADATA || !op_begin(&op, fn, directory(dir), 0, ETA_OFFSET_UNKNOWN, caller))
		return real(dir);
	errno = 0;
	entry = real(dir);
	op_end(&op, ETA_OP_OTHER, entry ? 1 : -errno, ETA_OFFSET_UNKNOWN);
	if (!errno)
		errno = before;
	return entry;
}

EXPORT struct dirent *readdir(DIR *dir)
{
	return next_entry(FN_readdir, (void *(*)(DIR *))REAL(readdir), dir, CALLER);
}

EXPORT struct dirent64 *readdir64(DIR *dir)
{
	return next_entry(FN_readdir64, (void *(*)(DIR *))REAL(readdir64), dir, CALLER);
}

/* its descriptor is removed from the table, even if nothing is recorded */
EXPORT int closedir(DIR *dir)
{
	CLOSES(closedir, directory(dir), (dir));
}

#define X(name, kind, shape, variant, type, detail) SHAPE_##shape(name, kind, type, detail)
SCI_METADATA_FUNCTIONS(X)
#undef X

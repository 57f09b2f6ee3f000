/* Runs each input again and again, and lets one call fail each time: memory that is not there, a
 * file that cannot be opened or read, a disk that is full. What calls these is linked with them
 * under the names here (tests/fuzz/coverage.sh): fail FORMAT FILE... */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

enum { POINTS = 100 };

static unsigned long calls, fails_at;

void *fail_malloc(size_t bytes);
void *fail_calloc(size_t n, size_t bytes);
void *fail_realloc(void *old, size_t bytes);
void *fail_reallocarray(void *old, size_t n, size_t bytes);
char *fail_strdup(const char *text);
char *fail_strndup(const char *text, size_t bytes);
int fail_open(const char *path, int flags, ...);
ssize_t fail_read(int fd, void *data, size_t bytes);
ssize_t fail_pread(int fd, void *data, size_t bytes, off_t offset);
ssize_t fail_pwrite(int fd, const void *data, size_t bytes, off_t offset);
void *fail_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
__attribute__((noreturn)) void fail__exit(int status);
__attribute__((weak)) void __gcov_dump(void);

static bool fails(int error)
{
	if (++calls != fails_at)
		return false;
	errno = error;
	return true;
}

void *fail_malloc(size_t bytes)
{
	return fails(ENOMEM) ? NULL : malloc(bytes);
}

void *fail_calloc(size_t n, size_t bytes)
{
	return fails(ENOMEM) ? NULL : calloc(n, bytes);
}

void *fail_realloc(void *old, size_t bytes)
{
	return fails(ENOMEM) ? NULL : realloc(old, bytes);
}

void *fail_reallocarray(void *old, size_t n, size_t bytes)
{
	return fails(ENOMEM) ? NULL : reallocarray(old, n, bytes);
}

char *fail_strdup(const char *text)
{
	return fails(ENOMEM) ? NULL : strdup(text);
}

char *fail_strndup(const char *text, size_t bytes)
{
	return fails(ENOMEM) ? NULL : strndup(text, bytes);
}

int fail_open(const char *path, int flags, ...)
{
	mode_t mode;
	va_list rest;

	va_start(rest, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
	va_end(rest);
	return fails(EACCES) ? -1 : open(path, flags, mode);
}

ssize_t fail_read(int fd, void *data, size_t bytes)
{
	return fails(EIO) ? -1 : read(fd, data, bytes);
}

ssize_t fail_pread(int fd, void *data, size_t bytes, off_t offset)
{
	return fails(EIO) ? -1 : pread(fd, data, bytes, offset);
}

ssize_t fail_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
	return fails(ENOSPC) ? -1 : pwrite(fd, data, bytes, offset);
}

void *fail_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
	return fails(ENOMEM) ? MAP_FAILED : mmap(at, bytes, prot, flags, fd, offset);
}

/* What a child did counts, too. */
void fail__exit(int status)
{
	if (__gcov_dump)
		__gcov_dump();
	_exit(status);
}

/* No more than POINTS of them, spread over all. */
static void fail_each(const uint8_t *data, size_t bytes)
{
	unsigned long all, step;

	calls = fails_at = 0;
	fuzz_one(data, bytes);
	all = calls;
	step = all / POINTS + 1;
	for (unsigned long at = 1; at <= all; at += step) {
		calls = 0;
		fails_at = at;
		fuzz_one(data, bytes);
	}
}

int main(int argc, char **argv)
{
	fuzz_calls_fail = true;
	return fuzz_inputs(argc, argv, fail_each);
}

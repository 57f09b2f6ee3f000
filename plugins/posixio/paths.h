/* Names of open files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_PATHS_H
#define POSIXIO_PATHS_H

#include <stddef.h>
#include <stdint.h>

#define DIRECTORY_NAME_BYTES 512

/* A directory and its absolute path, one per thread. */
struct directory {
	uint64_t inode;
	int64_t born_s; /* a number that was given back is another directory's later */
	uint32_t born_ns;
	uint32_t dev_major, dev_minor;
	uint32_t length; /* of the name; 0: none is known */
	uint32_t folder; /* files_folder of its descriptor; 0: unknown */
	char name[DIRECTORY_NAME_BYTES];
};

/* The kernel's name of FD in OUT, without a NUL; its length, at most ROOM, 0 where it has none. */
size_t path_of(int fd, char *out, size_t room);

/*
 * The absolute path under which FD was just opened by the calling thread, in OUT, without a NUL:
 * PATH, relative to DIR, where that follows from the two, otherwise the kernel's name (PATH
 * NULL, or with ".." in it, say). FLAGS of the open, -1: unknown. Its length, at most ROOM; 0:
 * none.
 */
size_t path_opened(int fd, int dir, const char *path, int flags, char *out, size_t room);

#endif

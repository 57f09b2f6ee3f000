/* Cause: threads of one process map and unmap files: its address space has one lock. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <sys/mman.h>

#define FILE_BYTES (4 << 20)
/* few pages are touched: in a virtual machine that takes as long as the host needs to map them */
#define TOUCHED_EVERY (1 << 20)

/* Their pages are in the page cache: no mapping waits for the disk. */
static void warm(struct cause *c)
{
	char *path;
	int fd;

	for (unsigned i = 0; i < c->threads; i++) {
		path = cause_own_path(c, i);
		fd = cause_open(path, O_RDONLY);
		readahead(fd, 0, FILE_BYTES);
		for (off_t at = 0; at < FILE_BYTES; at += (off_t)c->bytes) {
			char byte;

			if (pread(fd, &byte, 1, at) != 1)
				err(1, "%s", path);
		}
		close(fd);
		free(path);
	}
}

static void mapper(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDONLY);
	volatile char sum = 0;
	char *map;

	for (unsigned i = 0; i < c->operations; i++) {
		map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
		if (map == MAP_FAILED)
			err(1, "%s", path);
		for (size_t at = 0; at < FILE_BYTES; at += c->bytes)
			sum += map[at];
		munmap(map, FILE_BYTES);
	}
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause mapping = {
		.name = "mapping",
		.what = "Each thread maps its file PATH.INDEX, which is cached, and unmaps it.",
		.threads = 8,
		.operations = 400,
		.bytes = TOUCHED_EVERY,
		.prepared_bytes = FILE_BYTES,
		.begin = warm,
		.thread = mapper,
	};

	return cause_run(&mapping, argc, argv);
}

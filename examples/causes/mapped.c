/* Cause: threads write to mapped files; the faults wait for writeback, and are paused. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <sys/mman.h>

#define FILE_BYTES (32 << 20)

static void toucher(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDWR);
	char *map;

	for (unsigned i = 0; i < c->operations; i++) {
		map = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (map == MAP_FAILED)
			err(1, "%s", path);
		for (size_t at = 0; at < FILE_BYTES; at += c->bytes)
			map[at] = (char)i;
		munmap(map, FILE_BYTES);
	}
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause mapped = {
		.name = "mapped",
		.what = "Each thread maps its file PATH.INDEX and writes to each page of it, again "
			"and again.",
		.threads = 1,
		.operations = 8,
		.bytes = 4096,
		.prepared_bytes = FILE_BYTES,
		.thread = toucher,
	};

	return cause_run(&mapped, argc, argv);
}

/* Cause: threads allocate and free blocks of one file system, which keeps them in shared maps. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

static void allocator(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDWR | O_CREAT | O_TRUNC);

	for (unsigned i = 0; i < c->operations; i++) {
		if (fallocate(fd, 0, 0, (off_t)c->bytes))
			err(1, "%s", path);
		if (ftruncate(fd, 0))
			err(1, "%s", path);
	}
	close(fd);
	unlink(path);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause allocation = {
		.name = "allocation",
		.what = "Each thread allocates the blocks of PATH.INDEX and frees them, again and "
			"again.",
		.threads = 8,
		.operations = 250,
		.bytes = 16 << 20,
		.thread = allocator,
	};

	return cause_run(&allocation, argc, argv);
}

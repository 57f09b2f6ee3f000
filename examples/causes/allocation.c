/* Cause: threads allocate blocks of one file system, which keeps them in maps that all share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

/* Made in advance: threads that make files wait for their folder's lock. */
static void make_files(struct cause *c)
{
	for (unsigned i = 0; i < c->threads; i++) {
		char *path = cause_own_path(c, i);

		close(cause_open(path, O_RDWR | O_CREAT | O_TRUNC));
		free(path);
	}
}

static void allocator(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDWR);

	/* gaps in between: each is an extent of its own, for which free blocks are looked for */
	for (unsigned i = 0; i < c->operations; i++)
		if (fallocate(fd, 0, (off_t)(2 * i * c->bytes), (off_t)c->bytes))
			err(1, "%s", path);
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause allocation = {
		.name = "allocation",
		.what = "Each thread allocates the blocks of PATH.INDEX, with gaps in between.",
		.threads = 8,
		.operations = 2000,
		.bytes = 4096,
		.begin = make_files,
		.thread = allocator,
	};

	return cause_run(&allocation, argc, argv);
}

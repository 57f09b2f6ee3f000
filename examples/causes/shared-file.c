/* Cause: threads write to one file, and each write holds the inode's lock. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define BLOCKS 16

static int fd;

static void begin(struct cause *c)
{
	fd = cause_open(c->path, O_RDWR | O_CREAT | O_TRUNC);
}

/* Each thread has a range of its own: what they share is the inode, not the data. */
static void writer(struct cause_thread *t)
{
	off_t bytes = (off_t)t->cause->bytes;
	off_t base = (off_t)t->index * bytes * BLOCKS;

	for (unsigned i = 0; i < t->cause->operations; i++)
		cause_pwrite(fd, t->block, (size_t)bytes, base + (off_t)(i % BLOCKS) * bytes,
			     t->cause->path);
}

int main(int argc, char **argv)
{
	struct cause shared_file = {
		.name = "shared-file",
		.what = "Each thread writes a range of its own of the one file PATH.",
		.threads = 8,
		.operations = 250,
		.bytes = 1 << 20,
		.begin = begin,
		.thread = writer,
	};

	return cause_run(&shared_file, argc, argv);
}

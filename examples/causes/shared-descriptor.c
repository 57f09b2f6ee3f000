/* Cause: threads write through one descriptor, and each write holds its file position's lock. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

static int fd;

static void begin(struct cause *c)
{
	fd = cause_open(c->path, O_WRONLY | O_CREAT | O_TRUNC);
}

static void writer(struct cause_thread *t)
{
	for (unsigned i = 0; i < t->cause->operations; i++)
		cause_write(fd, t->block, t->cause->bytes, t->cause->path);
}

int main(int argc, char **argv)
{
	struct cause shared_descriptor = {
		.name = "shared-descriptor",
		.what = "Each thread calls write on the one descriptor of PATH.",
		.threads = 8,
		.operations = 250,
		.bytes = 1 << 18,
		.begin = begin,
		.thread = writer,
	};

	return cause_run(&shared_descriptor, argc, argv);
}

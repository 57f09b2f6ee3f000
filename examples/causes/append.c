/* Cause: threads append to one file through descriptors of their own: the end of a file is one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

static void begin(struct cause *c)
{
	close(cause_open(c->path, O_WRONLY | O_CREAT));
}

static void writer(struct cause_thread *t)
{
	int fd = cause_open(t->cause->path, O_WRONLY | O_APPEND);

	for (unsigned i = 0; i < t->cause->operations; i++)
		cause_write(fd, t->block, t->cause->bytes, t->cause->path);
	close(fd);
}

int main(int argc, char **argv)
{
	struct cause append = {
		.name = "append",
		.what = "Each thread appends to PATH through a descriptor of its own (O_APPEND).",
		.threads = 8,
		.operations = 250,
		.bytes = 1 << 18,
		.begin = begin,
		.thread = writer,
	};

	return cause_run(&append, argc, argv);
}

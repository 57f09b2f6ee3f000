/* Cause: threads write more than their memory holds: each write frees pages first. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

static void writer(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_WRONLY | O_CREAT | O_TRUNC);

	for (unsigned i = 0; i < c->operations; i++)
		cause_pwrite(fd, t->block, c->bytes, (off_t)i * (off_t)c->bytes, path);
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause reclaim = {
		.name = "reclaim",
		.what = "Each thread writes a file PATH.INDEX; run it in a small memory cgroup.",
		.threads = 8,
		.operations = 400,
		.bytes = 1 << 16,
		.thread = writer,
	};

	return cause_run(&reclaim, argc, argv);
}

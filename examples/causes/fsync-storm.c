/* Cause: threads write and fsync files of their own: one journal commits for all of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

static void writer(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_WRONLY | O_CREAT | O_TRUNC);

	for (unsigned i = 0; i < c->operations; i++) {
		cause_pwrite(fd, t->block, c->bytes, (off_t)i * (off_t)c->bytes, path);
		if (fsync(fd))
			err(1, "%s", path);
	}
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause fsync_storm = {
		.name = "fsync-storm",
		.what = "Each thread appends to PATH.INDEX and calls fsync after each write.",
		.threads = 8,
		.operations = 50,
		.bytes = 4096,
		.thread = writer,
	};

	return cause_run(&fsync_storm, argc, argv);
}

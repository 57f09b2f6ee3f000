/* No cause at all: each thread overwrites 1 MiB of its own that stays in the page cache. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define FILE_BYTES (1 << 20)

static void overwrite(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDWR | O_CREAT | O_TRUNC);
	off_t blocks = FILE_BYTES / (off_t)c->bytes;

	for (unsigned i = 0; i < c->operations; i++)
		cause_pwrite(fd, t->block, c->bytes, i % blocks * (off_t)c->bytes, path);
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause quiet = {
		.name = "quiet",
		.what = "Each thread overwrites the first MiB of PATH.INDEX, in the page cache.",
		.threads = 1,
		.operations = 25600,
		.bytes = 4096,
		.thread = overwrite,
	};

	return cause_run(&quiet, argc, argv);
}

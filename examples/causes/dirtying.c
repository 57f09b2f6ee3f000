/* Cause: threads dirty pages faster than they are written back: the kernel pauses them. */
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
	unlink(path);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause dirtying = {
		.name = "dirtying",
		.what = "Each thread writes a new file PATH.INDEX; see vm.dirty_bytes.",
		.threads = 4,
		.operations = 64,
		.bytes = 1 << 20,
		.thread = writer,
	};

	return cause_run(&dirtying, argc, argv);
}

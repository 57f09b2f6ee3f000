/* Cause: threads read more than their memory holds: each read reclaims pages first. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define FILE_BYTES (128 << 20)

static void reader(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDONLY);

	for (unsigned i = 0; i < c->operations; i++)
		cause_pread(fd, t->block, c->bytes, (off_t)(i * c->bytes % FILE_BYTES), path);
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause reclaim = {
		.name = "reclaim",
		.what = "Each thread reads a large file PATH.INDEX; run it in a small memory "
			"cgroup.",
		.threads = 4,
		.operations = 128,
		.bytes = 1 << 20,
		.prepared_bytes = FILE_BYTES,
		.thread = reader,
	};

	return cause_run(&reclaim, argc, argv);
}

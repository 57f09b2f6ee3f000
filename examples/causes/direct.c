/* Cause: threads pass the page cache by, so that each block waits for the device. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define FILE_BYTES (16 << 20)

static void reader(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDONLY | O_DIRECT);

	for (unsigned i = 0; i < c->operations; i++)
		cause_pread(fd, t->block, c->bytes, (off_t)(i * c->bytes % FILE_BYTES), path);
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause direct = {
		.name = "direct",
		.what = "Each thread reads its own file PATH.INDEX with O_DIRECT.",
		.threads = 8,
		.operations = 500,
		.bytes = 65536,
		.prepared_bytes = FILE_BYTES,
		.thread = reader,
	};

	return cause_run(&direct, argc, argv);
}

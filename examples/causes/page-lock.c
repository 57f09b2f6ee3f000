/* Cause: threads read the same cold pages: one reads them in, the others wait for their locks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define FILE_BYTES (16 << 20)

static void reader(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	int fd = cause_open(c->path, O_RDONLY);

	/* no readahead: each block is one wait, for the same pages in every thread */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (unsigned i = 0; i < c->operations; i++)
		cause_pread(fd, t->block, c->bytes, (off_t)(i * c->bytes % FILE_BYTES), c->path);
	close(fd);
}

int main(int argc, char **argv)
{
	struct cause page_lock = {
		.name = "page-lock",
		.what = "Each thread reads the cold file PATH from its start, as all others do.",
		.threads = 8,
		.operations = 500,
		.bytes = 4096,
		.prepared_bytes = FILE_BYTES,
		.shares_file = 1,
		.thread = reader,
	};

	return cause_run(&page_lock, argc, argv);
}

/* Cause: threads read files that are not in the page cache, at places nobody can foresee. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define FILE_BYTES (64 << 20)

static void reader(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDONLY);
	size_t blocks = FILE_BYTES / c->bytes;
	unsigned short seed[3] = { (unsigned short)t->index, 1, 2 };

	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (unsigned i = 0; i < c->operations; i++) {
		off_t at = (off_t)((size_t)nrand48(seed) % blocks * c->bytes);

		cause_pread(fd, t->block, c->bytes, at, path);
	}
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause cold_reads = {
		.name = "cold-reads",
		.what = "Each thread reads random blocks of a cold file PATH.INDEX.",
		.threads = 8,
		.operations = 500,
		.bytes = 4096,
		.prepared_bytes = FILE_BYTES,
		.thread = reader,
	};

	return cause_run(&cold_reads, argc, argv);
}

/* Two causes in one: each thread waits for the device by turns with the journal's commits. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#define FILE_BYTES (16 << 20)
#define READS 32 /* to a sync, which takes longer */

static void worker(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index),
	     *synced = cause_own_path(c, t->index + c->threads);
	int from = cause_open(path, O_RDONLY | O_DIRECT);
	int to = cause_open(synced, O_WRONLY | O_CREAT | O_TRUNC);

	for (unsigned i = 0; i < c->operations; i++) {
		cause_pread(from, t->block, c->bytes, (off_t)(i * c->bytes % FILE_BYTES), path);
		if (i % READS)
			continue;
		cause_pwrite(to, t->block, 4096, (off_t)i * 4096, synced);
		if (fsync(to))
			err(1, "%s", synced);
	}
	close(from);
	close(to);
	free(path);
	free(synced);
}

int main(int argc, char **argv)
{
	struct cause mixed = {
		.name = "mixed",
		.what = "Each thread reads its own file PATH.INDEX with O_DIRECT, and writes and "
			"syncs another.",
		.threads = 8,
		.operations = 640,
		.bytes = 65536,
		.prepared_bytes = FILE_BYTES,
		.thread = worker,
	};

	return cause_run(&mixed, argc, argv);
}

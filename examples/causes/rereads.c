/* Cause: a file that is read again and again is pushed out of the page cache by others. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <unistd.h>

#define FILE_BYTES (44 << 20)
#define PAUSE_US 50000 /* what is read all the time nobody pushes out */

static void reader(struct cause_thread *t)
{
	const struct cause *c = t->cause;
	char *path = cause_own_path(c, t->index);
	int fd = cause_open(path, O_RDONLY);

	/* each miss waits for the disk, as a database's: a fast disk reads ahead at the speed of
	 * memory */
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (unsigned i = 0; i < c->operations; i++) {
		for (off_t at = 0; at < FILE_BYTES; at += (off_t)c->bytes)
			cause_pread(fd, t->block, c->bytes, at, path);
		usleep(PAUSE_US);
	}
	close(fd);
	free(path);
}

int main(int argc, char **argv)
{
	struct cause rereads = {
		.name = "rereads",
		.what = "Each thread reads its file PATH.INDEX OPERATIONS times from begin to end, "
			"every 50 ms, without readahead.",
		.threads = 1,
		.operations = 50,
		.bytes = 16384,
		.prepared_bytes = FILE_BYTES,
		.thread = reader,
	};

	return cause_run(&rereads, argc, argv);
}

/* One thread writes a file through two rings of io_uring at once that are polled; for the tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RINGS 2
#define BATCH 4
#define BYTES 4096

static void finish(struct io_uring *ring, const char *path)
{
	struct io_uring_cqe *done;

	for (int i = 0; i < BATCH; i++) {
		if (io_uring_wait_cqe(ring, &done) != 0 || done->res != BYTES)
			errx(1, "%s: a write has failed", path);
		io_uring_cqe_seen(ring, done);
	}
}

/* rings FILE ROUNDS: 77 where the kernel refuses the interface */
int main(int argc, char **argv)
{
	int fd, rounds = argc == 3 ? atoi(argv[2]) : 0;
	struct io_uring rings[RINGS];
	long long offset = 0;
	void *buffer;

	if (rounds < 1)
		errx(2, "usage: rings FILE ROUNDS");
	for (int r = 0; r < RINGS; r++) {
		struct io_uring_params polled = { .flags = IORING_SETUP_SQPOLL,
						  .sq_thread_idle = 2000 };

		if (io_uring_queue_init_params(2 * BATCH, &rings[r], &polled) != 0)
			exit(77);
	}
	fd = open(argv[1], O_CREAT | O_TRUNC | O_WRONLY | O_DIRECT, 0644);
	if (fd < 0 || posix_memalign(&buffer, BYTES, BYTES) != 0)
		err(1, "%s", argv[1]);
	memset(buffer, 'x', BYTES);
	for (int i = 0; i < rounds; i++) {
		for (int r = 0; r < RINGS; r++) {
			for (int n = 0; n < BATCH; n++, offset += BYTES)
				io_uring_prep_write(io_uring_get_sqe(&rings[r]), fd, buffer, BYTES,
						    (unsigned long long)offset);
			if (io_uring_submit(&rings[r]) < 0)
				errx(1, "io_uring");
		}
		for (int r = 0; r < RINGS; r++)
			finish(&rings[r], argv[1]);
	}
	close(fd);
	return 0;
}

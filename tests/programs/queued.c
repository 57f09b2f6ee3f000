/* Writes and reads a file through io_uring or libaio, one request at a time; for the tests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef WITH_URING
#include <liburing.h>

static struct io_uring ring;

static void start(void)
{
	if (io_uring_queue_init(8, &ring, 0) != 0)
		exit(77);
}

static int transfer(int writing, int fd, void *buffer, unsigned bytes, long long offset)
{
	struct io_uring_sqe *request = io_uring_get_sqe(&ring);
	struct io_uring_cqe *done;
	int result;

	if (writing)
		io_uring_prep_write(request, fd, buffer, bytes, offset);
	else
		io_uring_prep_read(request, fd, buffer, bytes, offset);
	if (io_uring_submit(&ring) != 1 || io_uring_wait_cqe(&ring, &done) != 0)
		errx(1, "io_uring");
	result = done->res;
	io_uring_cqe_seen(&ring, done);
	return result;
}
#else
#include <libaio.h>

static io_context_t context;

static void start(void)
{
	if (io_setup(8, &context) != 0)
		exit(77);
}

static int transfer(int writing, int fd, void *buffer, unsigned bytes, long long offset)
{
	struct iocb request, *list = &request;
	struct io_event done;

	if (writing)
		io_prep_pwrite(&request, fd, buffer, bytes, offset);
	else
		io_prep_pread(&request, fd, buffer, bytes, offset);
	if (io_submit(context, 1, &list) != 1 || io_getevents(context, 1, 1, &done, NULL) != 1)
		errx(1, "libaio");
	return (int)done.res;
}
#endif

#define BYTES 4096

/* queued FILE COUNT: 77 where the kernel refuses the interface */
int main(int argc, char **argv)
{
	int fd, count = argc == 3 ? atoi(argv[2]) : 0;
	void *buffer;

	if (count < 1)
		errx(2, "usage: queued FILE COUNT");
	start();
	fd = open(argv[1], O_CREAT | O_TRUNC | O_RDWR | O_DIRECT, 0644);
	if (fd < 0) /* a file system in memory */
		fd = open(argv[1], O_CREAT | O_TRUNC | O_RDWR, 0644);
	if (fd < 0 || posix_memalign(&buffer, BYTES, BYTES) != 0)
		err(1, "%s", argv[1]);
	memset(buffer, 'x', BYTES);
	for (int i = 0; i < count; i++)
		if (transfer(1, fd, buffer, BYTES, (long long)i * BYTES) != BYTES ||
		    transfer(0, fd, buffer, BYTES, (long long)i * BYTES) != BYTES)
			errx(1, "%s: a transfer has failed", argv[1]);
	close(fd);
	return 0;
}

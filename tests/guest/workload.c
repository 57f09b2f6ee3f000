/* The same I/O each time, in each folder given: what the guest's test compares backends over. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define BLOCK_BYTES 4096
#define DIRECT_BYTES 16384
#define READ_BYTES 65536
#define N_WRITES 32
#define N_DIRECT 8

static char *block;

static int open_in(const char *directory, const char *name, int flags)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, flags, 0644);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void expect(ssize_t got, ssize_t wanted, const char *what)
{
	if (got != wanted)
		err(1, "%s: %zd instead of %zd", what, got, wanted);
}

static void buffered(const char *directory)
{
	struct iovec parts[2] = { { block, 100 }, { block, 3000 } };
	int fd = open_in(directory, "buffered", O_RDWR | O_CREAT | O_TRUNC);

	for (int i = 0; i < N_WRITES; i++)
		expect(write(fd, block, BLOCK_BYTES), BLOCK_BYTES, "write");
	expect(writev(fd, parts, 2), 3100, "writev");
	expect(fsync(fd), 0, "fsync");
	expect(pwrite(fd, block, 10, 5000), 10, "pwrite");
	expect(fdatasync(fd), 0, "fdatasync");
	expect(ftruncate(fd, N_WRITES * BLOCK_BYTES), 0, "ftruncate");
	expect(fsync(fd), 0, "fsync");
	/* cold, then warm */
	for (int i = 0; i < 2; i++) {
		expect(lseek(fd, 0, SEEK_SET), 0, "lseek");
		if (i == 0)
			expect(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0, "fadvise");
		while (read(fd, block, READ_BYTES) > 0)
			;
	}
	close(fd);
}

static void direct(const char *directory)
{
	int fd = open_in(directory, "direct", O_RDWR | O_CREAT | O_TRUNC | O_DIRECT);

	for (int i = 0; i < N_DIRECT; i++)
		expect(pwrite(fd, block, DIRECT_BYTES, (off_t)i * DIRECT_BYTES), DIRECT_BYTES,
		       "direct write");
	for (int i = 0; i < N_DIRECT; i++)
		expect(pread(fd, block, DIRECT_BYTES, (off_t)i * DIRECT_BYTES), DIRECT_BYTES,
		       "direct read");
	close(fd);
}

static void *synchronous(void *directory)
{
	int fd = open_in(directory, "synchronous", O_WRONLY | O_CREAT | O_TRUNC | O_SYNC);

	for (int i = 0; i < 4; i++)
		expect(write(fd, block, BLOCK_BYTES), BLOCK_BYTES, "synchronous write");
	close(fd);
	fd = open_in(directory, "appended", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND);
	for (int i = 0; i < 4; i++)
		expect(write(fd, block, 1000), 1000, "append");
	expect(fsync(fd), 0, "fsync");
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	if (posix_memalign((void **)&block, BLOCK_BYTES, READ_BYTES))
		errx(1, "no memory");
	memset(block, 'x', READ_BYTES);
	for (int i = 1; i < argc; i++) {
		pthread_t thread;

		/* one after the other, so that descriptors and order are the same each time */
		buffered(argv[i]);
		direct(argv[i]);
		if (pthread_create(&thread, NULL, synchronous, argv[i]))
			errx(1, "no thread");
		pthread_join(thread, NULL);
	}
	return 0;
}

/* Cause: threads write to one file, and each write holds the inode's lock. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd;
static size_t size = 1 << 20;
static unsigned writes = 250;
static pthread_barrier_t start;

/* Each thread has a range of its own: what they share is the inode, not the data. */
static void *writer(void *arg)
{
	off_t base = (off_t)(size_t)arg * (off_t)size * 16;
	char *block = malloc(size);

	if (!block)
		err(1, "malloc");
	memset(block, 'x', size);
	pthread_barrier_wait(&start);
	for (unsigned i = 0; i < writes; i++)
		if (pwrite(fd, block, size, base + (off_t)(i % 16) * (off_t)size) != (ssize_t)size)
			err(1, "pwrite");
	free(block);
	return NULL;
}

static void usage(void)
{
	fprintf(stderr,
		"Usage: shared-file [-t THREADS] [-n WRITES] [-s BYTES] FILE\n"
		"Each of THREADS (8) threads writes WRITES (250) times BYTES (1048576) to FILE.\n");
	exit(2);
}

int main(int argc, char **argv)
{
	size_t threads = 8;
	pthread_t *tids;

	for (int c; (c = getopt(argc, argv, "t:n:s:")) != -1;)
		switch (c) {
		case 't':
			threads = strtoul(optarg, NULL, 10);
			break;
		case 'n':
			writes = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case 's':
			size = strtoul(optarg, NULL, 10);
			break;
		default:
			usage();
		}
	if (optind + 1 != argc || threads < 1 || size < 1)
		usage();
	fd = open(argv[optind], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		err(1, "%s", argv[optind]);
	tids = calloc(threads, sizeof(*tids));
	if (!tids || pthread_barrier_init(&start, NULL, (unsigned)threads))
		err(1, "threads");
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&tids[i], NULL, writer, (void *)i))
			err(1, "pthread_create");
	for (size_t i = 0; i < threads; i++)
		pthread_join(tids[i], NULL);
	free(tids);
	if (close(fd))
		err(1, "%s", argv[optind]);
	return 0;
}

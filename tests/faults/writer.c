/* Threads that write numbers, each to a file of its own, whose length then says how many writes
 * there were. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *prefix;
static uint64_t n_writes; /* 0: until killed */
static unsigned pause_us;

static void *work(void *arg)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s.%u", prefix, *(unsigned *)arg);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	for (uint64_t i = 0; n_writes == 0 || i < n_writes; i++) {
		if (pwrite(fd, &i, sizeof(i), (off_t)(i * sizeof(i))) != sizeof(i))
			break;
		if (pause_us)
			usleep(pause_us);
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	enum { MOST = 64 };
	pthread_t threads[MOST];
	unsigned numbers[MOST], n;

	if (argc != 5) {
		fputs("usage: writer PREFIX THREADS WRITES PAUSE_US\n", stderr);
		return 2;
	}
	prefix = argv[1];
	n = (unsigned)atoi(argv[2]);
	n_writes = strtoull(argv[3], NULL, 10);
	pause_us = (unsigned)atoi(argv[4]);
	for (unsigned i = 0; i < n && i < MOST; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, work, &numbers[i]))
			return 1;
	}
	for (unsigned i = 0; i < n && i < MOST; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* Threads that live for one file each, some at a time, as servers have them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MAX_AT_A_TIME 64
#define WRITES 4

static const char *dir;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *run(void *arg)
{
	static const char text[64];
	long i = (long)(intptr_t)arg;
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/short%ld", dir, i);
	fd = open(path, O_WRONLY | O_CREAT, 0644);
	/* as many bytes as its number says, so that each thread is known by its writes */
	for (int n = 0; n < WRITES; n++)
		if (write(fd, text, (size_t)(i % 63 + 1)) < 0)
			err(1, "%s", path);
	close(fd);
	unlink(path);
	return NULL;
}

/* short-threads DIR COUNT AT-A-TIME: prints microseconds per thread to descriptor 9, if it is open.
 */
int main(int argc, char **argv)
{
	long count = argc == 4 ? atol(argv[2]) : 0, at_a_time = argc == 4 ? atol(argv[3]) : 0;
	pthread_t threads[MAX_AT_A_TIME];
	uint64_t start_ns = now_ns();

	if (count < 1 || at_a_time < 1 || at_a_time > MAX_AT_A_TIME)
		errx(2, "usage: short-threads DIR COUNT AT-A-TIME");
	dir = argv[1];
	for (long i = 0; i < count; i += at_a_time) {
		long n = count - i < at_a_time ? count - i : at_a_time;

		for (long j = 0; j < n; j++)
			if (pthread_create(&threads[j], NULL, run, (void *)(intptr_t)(i + j)) != 0)
				errx(1, "cannot create threads");
		for (long j = 0; j < n; j++)
			pthread_join(threads[j], NULL);
	}
	dprintf(9, "%.1f\n", (double)(now_ns() - start_ns) / 1000 / (double)count);
	return 0;
}

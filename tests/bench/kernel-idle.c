/* What a call costs a process that nobody traces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 40
#define CALLS 5000 /* in a block: it mostly goes by without an interrupt */

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* ns of a call, the lower quartile of the blocks. Of a kind that is an OPERATION, or of another. */
static double call_ns(bool operation, int fd)
{
	uint64_t ns[BLOCKS];
	char byte;

	for (int block = 0; block < BLOCKS; block++) {
		uint64_t begin = cpu_ns();

		for (int i = 0; i < CALLS; i++) {
			if (!operation)
				syscall(SYS_getppid);
			else if (syscall(SYS_pread64, fd, &byte, 1, 0) != 1)
				err(1, "pread");
		}
		ns[block] = cpu_ns() - begin;
	}
	qsort(ns, BLOCKS, sizeof(*ns), compare);
	return (double)ns[BLOCKS / 4] / CALLS;
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 2)
		errx(2, "usage: kernel-idle FILE");
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", argv[1]);
	printf("%.1f %.1f\n", call_ns(false, fd), call_ns(true, fd));
	return 0;
}

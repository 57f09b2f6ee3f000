/* Threads that write to files of their own, for the cost of one traced call. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define FILE_BYTES 4096

static struct {
	const char *dir;
	size_t bytes;
	long n;
	int depth; /* frames between the thread's function and the calls */
	pthread_barrier_t start;
} job;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* KiB that the process has in memory. */
static long resident_kib(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];
	long kib = -1;

	while (status && kib < 0 && fgets(line, sizeof(line), status))
		sscanf(line, "VmRSS: %ld", &kib);
	if (status)
		fclose(status);
	return kib;
}

/* The compiler must not make a loop of it. */
static __attribute__((noinline)) int call(int fd, const char *buffer, const char *path, int depth)
{
	if (depth > 0) {
		int rc = call(fd, buffer, path, depth - 1);

		__asm__ volatile("" ::: "memory");
		return rc;
	}
	for (long i = 0; i < job.n; i++)
		if (pwrite(fd, buffer, job.bytes, 0) != (ssize_t)job.bytes)
			err(1, "%s", path);
	return 0;
}

/* Gives its CPU time in ns. */
static void *run(void *arg)
{
	static char buffer[FILE_BYTES];
	char path[4096];
	uint64_t cpu_ns;
	int fd;

	snprintf(path, sizeof(path), "%s/ops%ld", job.dir, (long)(intptr_t)arg);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || pwrite(fd, buffer, sizeof(buffer), 0) != sizeof(buffer))
		err(1, "%s", path);
	unlink(path);
	pthread_barrier_wait(&job.start);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	call(fd, buffer, path, job.depth);
	cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	pthread_barrier_wait(&job.start);
	pthread_barrier_wait(&job.start);
	close(fd);
	return (void *)(uintptr_t)cpu_ns;
}

/*
 * user-ops DIR THREADS BYTES N [DEPTH]: prints ns per call, elapsed (as if each thread had a CPU,
 * or its share of one) and CPU time, and the resident memory in KiB, to descriptor 9, which no
 * tracer of files has seen.
 */
int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	long n_threads = argc == 5 || argc == 6 ? atol(argv[2]) : 0,
	     cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t start_ns, elapsed_ns, cpu_ns = 0;
	long kib;

	if (n_threads < 1 || n_threads > MAX_THREADS)
		errx(2, "usage: user-ops DIR THREADS BYTES N [DEPTH]");
	job.dir = argv[1];
	job.bytes = (size_t)atol(argv[3]);
	job.n = atol(argv[4]);
	job.depth = argc == 6 ? atoi(argv[5]) : 0;
	if (job.bytes < 1 || job.bytes > FILE_BYTES || job.n < 1)
		errx(2, "BYTES from 1 to %d, N from 1", FILE_BYTES);
	pthread_barrier_init(&job.start, NULL, (unsigned)n_threads + 1);
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i) != 0)
			errx(1, "cannot create threads");
	pthread_barrier_wait(&job.start);
	start_ns = now_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&job.start);
	elapsed_ns = now_ns(CLOCK_MONOTONIC) - start_ns;
	kib = resident_kib(); /* while all of them live */
	pthread_barrier_wait(&job.start);
	for (long i = 0; i < n_threads; i++) {
		void *result;

		pthread_join(threads[i], &result);
		cpu_ns += (uint64_t)(uintptr_t)result;
	}
	dprintf(9, "%.1f %.1f %ld\n",
		(double)elapsed_ns * (double)(cpus < n_threads ? cpus : n_threads) /
			(double)n_threads / (double)job.n,
		(double)cpu_ns / (double)n_threads / (double)job.n, kib);
	return 0;
}

/*
 * A thread writes to a stream whose lock another one has, each time for as long as is asked for.
 * Prints for how many ns it was in the writes.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define WORK_MS 5

static unsigned long n, hold_ms;
static FILE *stream;
static sem_t wanted, held;

static void pause_ms(unsigned long ms)
{
	nanosleep(&(struct timespec){ (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 }, NULL);
}

static void await(sem_t *s)
{
	while (sem_wait(s) < 0)
		if (errno != EINTR)
			err(1, "sem_wait");
}

static unsigned long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long)t.tv_sec * 1000000000 + (unsigned long)t.tv_nsec;
}

static void *holder(void *arg)
{
	for (unsigned long i = 0; i < n; i++) {
		await(&wanted);
		flockfile(stream);
		sem_post(&held);
		pause_ms(hold_ms);
		funlockfile(stream);
	}
	return arg;
}

static void *writer(void *arg)
{
	static const char line[] = "a line that somebody waits for\n";

	unsigned long ns = 0, begin;

	for (unsigned long i = 0; i < n; i++) {
		pause_ms(WORK_MS);
		if (hold_ms) {
			sem_post(&wanted);
			await(&held);
		}
		begin = now_ns();
		if (fwrite(line, sizeof(line) - 1, 1, stream) != 1)
			err(1, "fwrite");
		ns += now_ns() - begin;
	}
	printf("%lu\n", ns);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 4) {
		fprintf(stderr, "Usage: held-stream PATH WRITES HOLD_MS (0: nobody holds it)\n");
		return 2;
	}
	n = strtoul(argv[2], NULL, 10);
	hold_ms = strtoul(argv[3], NULL, 10);
	stream = fopen(argv[1], "w");
	if (!stream)
		err(1, "%s", argv[1]);
	if (sem_init(&wanted, 0, 0) < 0 || sem_init(&held, 0, 0) < 0)
		err(1, "sem_init");
	if (hold_ms && (errno = pthread_create(&threads[1], NULL, holder, NULL)))
		err(1, "pthread_create");
	if ((errno = pthread_create(&threads[0], NULL, writer, NULL)) ||
	    (errno = pthread_join(threads[0], NULL)))
		err(1, "writer");
	if (hold_ms && (errno = pthread_join(threads[1], NULL)))
		err(1, "holder");
	if (fclose(stream) == EOF)
		err(1, "%s", argv[1]);
	return 0;
}

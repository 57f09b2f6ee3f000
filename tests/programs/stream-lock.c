/* A thread holds a stream's lock, as the pipe below it is full, and another one wants it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char block[1 << 18]; /* more than a pipe holds */
static FILE *stream;
static int ends[2];
static _Atomic int tids[2];

/* The state of thread TID of this process: S asleep. */
static char state_of(int tid)
{
	char path[64], state = '?';
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	stat = fopen(path, "r");
	if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
		err(1, "%s", path);
	fclose(stat);
	return state;
}

static void *writer(void *arg)
{
	const intptr_t index = (intptr_t)arg;

	tids[index] = (int)syscall(SYS_gettid);
	/* the second one writes little */
	if (fwrite(block, index ? 100 : sizeof(block), 1, stream) != 1)
		err(1, "fwrite");
	return NULL;
}

static pthread_t start(intptr_t index)
{
	pthread_t thread;

	errno = pthread_create(&thread, NULL, writer, (void *)index);
	if (errno)
		err(1, "pthread_create");
	/* until it sleeps: in write, then for the lock */
	while (!tids[index] || state_of(tids[index]) != 'S')
		usleep(1000);
	return thread;
}

/* As a reader of its own, so that nothing of the stream is in the way. */
static void drain(size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = read(ends[0], block, bytes < sizeof(block) ? bytes : sizeof(block));

		if (n <= 0)
			err(1, "read");
		bytes -= (size_t)n;
	}
}

int main(int argc, char **argv)
{
	const char *part = argc > 1 ? argv[1] : "";
	pthread_t holder, waiter;

	if (pipe(ends))
		err(1, "pipe");
	stream = fdopen(ends[1], "w");
	if (!stream)
		err(1, "fdopen");
	holder = start(0);
	if (strcmp(part, "cancel") == 0) {
		/* what has the lock goes without another call */
		if (pthread_cancel(holder) || pthread_join(holder, NULL))
			errx(1, "pthread_cancel");
		if (ftrylockfile(stream))
			errx(1, "the stream is locked by a thread that is no more");
		_exit(0); /* without writing what is left */
	}
	waiter = start(1);
	printf("%d %d\n", tids[0], tids[1]);
	drain(sizeof(block));
	pthread_join(holder, NULL);
	pthread_join(waiter, NULL);
	return 0;
}

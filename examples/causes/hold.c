/* Known delays: a thread holds a lock for as long as it writes much, and another one waits. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/*
 * Thread 0 writes BYTES through a descriptor, then through a stream, each of which is locked
 * meanwhile; thread 1 writes little through the same. It does so ALONE times by itself, so that
 * there is a reference. What is printed is measured here, by those who hold the lock: from the
 * beginning of a call of thread 1 to the end of the call of thread 0.
 */
#define LITTLE 512
#define ALONE 32

static pthread_barrier_t both;
static int64_t released_ns;

struct way {
	const char *lock;
	void (*write)(const char *block, size_t bytes, const char *path);
	int64_t held_ns;
};

static int descriptor;
static FILE *stream;

static void to_descriptor(const char *block, size_t bytes, const char *path)
{
	cause_write(descriptor, block, bytes, path);
}

static void to_stream(const char *block, size_t bytes, const char *path)
{
	if (fwrite(block, 1, bytes, stream) != bytes)
		err(1, "%s", path);
}

static struct way ways[] = {
	{ "file position lock", to_descriptor, 0 },
	{ "stream lock", to_stream, 0 },
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void pause_ns(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static void play(struct cause_thread *t)
{
	const struct cause *c = t->cause;

	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
		struct way *way = &ways[w];

		for (unsigned i = 0; t->index == 1 && i < ALONE; i++)
			way->write(t->block, LITTLE, c->path);
		for (unsigned i = 0; i < c->operations; i++) {
			int64_t begin_ns = 0;

			pthread_barrier_wait(&both);
			if (t->index == 0) {
				way->write(t->block, c->bytes, c->path);
				released_ns = now_ns();
			} else {
				pause_ns(2000000); /* until the lock is held */
				begin_ns = now_ns();
				way->write(t->block, LITTLE, c->path);
			}
			pthread_barrier_wait(&both);
			if (t->index == 1 && released_ns > begin_ns)
				way->held_ns += released_ns - begin_ns;
		}
	}
}

static void begin(struct cause *c)
{
	char *path = cause_own_path(c, 0);

	if (c->threads != 2)
		errx(2, "two threads, no more, no less");
	errno = pthread_barrier_init(&both, NULL, c->threads);
	if (errno)
		err(1, "a barrier");
	descriptor = cause_open(c->path, O_WRONLY | O_CREAT | O_TRUNC);
	stream = fopen(path, "w");
	if (!stream)
		err(1, "%s", path);
	setvbuf(stream, NULL, _IONBF, 0);
	free(path);
}

static void end(struct cause *c)
{
	(void)c;
	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++)
		printf("%lld %s\n", (long long)ways[w].held_ns, ways[w].lock);
}

int main(int argc, char **argv)
{
	struct cause hold = {
		.name = "hold",
		.what = "A thread writes BYTES under a lock, another one waits for that; prints "
			"for how long.",
		.threads = 2,
		.operations = 5,
		.bytes = 32 << 20,
		.begin = begin,
		.end = end,
		.thread = play,
	};

	return cause_run(&hold, argc, argv);
}

/* What the examples of causes share: their options, threads that start together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <errno.h>
#include <pthread.h>

#define PIECE_BYTES (1 << 20)

static pthread_barrier_t start;

static void usage(const struct cause *c)
{
	fprintf(stderr,
		"Usage: %s [-t THREADS] [-n OPERATIONS] [-s BYTES] PATH\n%s\n"
		"Defaults: %u threads, %u operations each, %zu bytes an operation.\n%s",
		c->name, c->what, c->threads, c->operations, c->bytes,
		c->prepared_bytes ? "First make the files it reads: the same command with -p.\n"
				  : "");
	exit(2);
}

static unsigned long number(const struct cause *c, const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (end == text || *end || n < 1 || n > 1UL << 30)
		usage(c);
	return n;
}

static void *thread_main(void *arg)
{
	struct cause_thread *t = arg;

	pthread_barrier_wait(&start);
	t->cause->thread(t);
	return NULL;
}

static void threads_run(struct cause *c)
{
	struct cause_thread *threads = calloc(c->threads, sizeof(*threads));
	pthread_t *tids = calloc(c->threads, sizeof(*tids));

	if (!threads || !tids || pthread_barrier_init(&start, NULL, c->threads))
		err(1, "%u threads", c->threads);
	for (unsigned i = 0; i < c->threads; i++) {
		threads[i].cause = c;
		threads[i].index = i;
		/* a page at least: what O_DIRECT wants */
		errno = posix_memalign((void **)&threads[i].block, 4096, c->bytes);
		if (errno)
			err(1, "%zu bytes", c->bytes);
		memset(threads[i].block, 'x', c->bytes);
	}
	for (unsigned i = 0; i < c->threads; i++) {
		errno = pthread_create(&tids[i], NULL, thread_main, &threads[i]);
		if (errno)
			err(1, "thread %u of %u", i + 1, c->threads);
	}
	for (unsigned i = 0; i < c->threads; i++) {
		pthread_join(tids[i], NULL);
		free(threads[i].block);
	}
	pthread_barrier_destroy(&start);
	free(tids);
	free(threads);
}

/* Makes the files that the threads read. */
static void prepare(const struct cause *c)
{
	unsigned files = c->shares_file ? 1 : c->threads;
	char *piece = malloc(PIECE_BYTES);

	if (!piece)
		err(1, "%d bytes", PIECE_BYTES);
	memset(piece, 'x', PIECE_BYTES);
	for (unsigned i = 0; i < files; i++) {
		char *path = c->shares_file ? strdup(c->path) : cause_own_path(c, i);
		int fd = cause_open(path, O_WRONLY | O_CREAT | O_TRUNC);

		for (off_t at = 0; at < c->prepared_bytes; at += PIECE_BYTES)
			cause_pwrite(fd, piece, PIECE_BYTES, at, path);
		if (fsync(fd))
			err(1, "%s", path);
		close(fd);
		free(path);
	}
	free(piece);
}

/* The page cache forgets the files that the threads read. */
static void make_cold(const struct cause *c)
{
	unsigned files = c->shares_file ? 1 : c->threads;

	for (unsigned i = 0; i < files; i++) {
		char *path = c->shares_file ? strdup(c->path) : cause_own_path(c, i);
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0)
			err(1, "%s (make it first: the same command with -p)", path);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		close(fd);
		free(path);
	}
}

int cause_run(struct cause *c, int argc, char **argv)
{
	int only_prepare = 0;

	for (int option; (option = getopt(argc, argv, "t:n:s:p")) != -1;)
		switch (option) {
		case 't':
			c->threads = (unsigned)number(c, optarg);
			break;
		case 'n':
			c->operations = (unsigned)number(c, optarg);
			break;
		case 's':
			c->bytes = number(c, optarg);
			break;
		case 'p':
			if (!c->prepared_bytes)
				usage(c);
			only_prepare = 1;
			break;
		default:
			usage(c);
		}
	if (optind + 1 != argc)
		usage(c);
	c->path = argv[optind];
	if (only_prepare) {
		prepare(c);
		return 0;
	}
	if (c->prepared_bytes)
		make_cold(c);
	if (c->begin)
		c->begin(c);
	threads_run(c);
	if (c->end)
		c->end(c);
	return 0;
}

int cause_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

char *cause_own_path(const struct cause *cause, unsigned index)
{
	char *path;

	if (asprintf(&path, "%s.%u", cause->path, index) < 0)
		err(1, "%s", cause->path);
	return path;
}

/* What came of a transfer of BYTES. */
static void check(ssize_t n, size_t bytes, const char *path)
{
	if (n < 0)
		err(1, "%s", path);
	if ((size_t)n != bytes)
		errx(1, "%s: %zd of %zu bytes", path, n, bytes);
}

void cause_write(int fd, const char *block, size_t bytes, const char *path)
{
	check(write(fd, block, bytes), bytes, path);
}

void cause_pwrite(int fd, const char *block, size_t bytes, off_t at, const char *path)
{
	check(pwrite(fd, block, bytes, at), bytes, path);
}

void cause_pread(int fd, char *block, size_t bytes, off_t at, const char *path)
{
	check(pread(fd, block, bytes, at), bytes, path);
}

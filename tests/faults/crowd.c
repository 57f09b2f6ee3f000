/* Crowds: many threads, each of which forks a child, or many short programs; each writes one byte
 * to the file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int fd;
static pthread_barrier_t all;

static void *work(void *arg)
{
	long failed = write(fd, "t", 1) != 1;
	int status;
	pid_t pid;

	(void)arg;
	/* all of them at once: each fork meets the others' calls */
	pthread_barrier_wait(&all);
	pid = fork();
	if (pid == 0)
		_exit(write(fd, "c", 1) != 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		failed = 1;
	return (void *)failed;
}

static int threads(unsigned n)
{
	pthread_t *started = calloc(n, sizeof(*started));
	pthread_attr_t small;
	int failed = 0;
	void *said;

	if (!started)
		return 1;
	pthread_barrier_init(&all, NULL, n);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&started[i], &small, work, NULL)) {
			perror("pthread_create");
			_exit(3); /* the others wait for it */
		}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(started[i], &said);
		failed |= said != NULL;
	}
	free(started);
	return failed;
}

/* One after the other, this program again. */
static int programs(const char *file, unsigned n)
{
	char self[] = "/proc/self/exe", path[4096], none[] = "0", kind[] = "program";
	char *argv[] = { self, path, none, kind, NULL };
	int failed = 0, status;
	pid_t pid;

	snprintf(path, sizeof(path), "%s", file);
	for (unsigned i = 0; i < n; i++)
		failed |= posix_spawn(&pid, self, NULL, NULL, argv, environ) ||
			  waitpid(pid, &status, 0) != pid || status;
	return failed;
}

int main(int argc, char **argv)
{
	unsigned n = argc == 4 ? (unsigned)atoi(argv[2]) : 0;

	fd = argc == 4 ? open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd < 0) {
		fputs("usage: crowd FILE NUMBER threads|programs\n", stderr);
		return 2;
	}
	if (n == 0)
		return write(fd, "p", 1) != 1;
	return strcmp(argv[3], "threads") == 0 ? threads(n) : programs(argv[1], n);
}

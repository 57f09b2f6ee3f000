/* Many threads, each of which forks a child; every thread and every child writes one byte to the
 * file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

int main(int argc, char **argv)
{
	unsigned n = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
	pthread_t *threads = calloc(n + 1, sizeof(*threads));
	pthread_attr_t small;
	int failed = 0;
	void *said;

	fd = n ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (fd < 0 || !threads) {
		fputs("usage: crowd FILE THREADS\n", stderr);
		free(threads);
		return 2;
	}
	pthread_barrier_init(&all, NULL, n);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 128 << 10);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], &small, work, NULL)) {
			perror("pthread_create");
			_exit(3); /* the others wait for it */
		}
	for (unsigned i = 0; i < n; i++) {
		pthread_join(threads[i], &said);
		failed |= said != NULL;
	}
	free(threads);
	return failed;
}

/* A process that ends while some of its threads write and others are only being started. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WRITERS 3
#define STARTERS 8

static _Atomic int writing;

static void *write_on(void *arg)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "ends%d", (int)(intptr_t)arg);
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
	for (int i = 0;; i++) {
		if (pwrite(fd, name, sizeof(name), 0) < 0)
			err(1, "%s", name);
		writing += i == 0;
	}
	return NULL;
}

static void *start_only(void *arg)
{
	pause();
	return arg;
}

/* ends-early return|_exit */
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 2)
		errx(2, "usage: ends-early return|_exit");
	for (intptr_t i = 0; i < WRITERS; i++)
		if (pthread_create(&thread, NULL, write_on, (void *)i) != 0)
			errx(1, "cannot create threads");
	while (writing < WRITERS)
		usleep(100);
	for (int i = 0; i < STARTERS; i++)
		if (pthread_create(&thread, NULL, start_only, NULL) != 0)
			errx(1, "cannot create threads");
	if (strcmp(argv[1], "_exit") == 0)
		_exit(0);
	return 0;
}

/* A library that does I/O when it comes, when it is called, and when it goes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int library_writes(const char *path);

int library_writes(const char *path)
{
	FILE *file = fopen(path, "a");
	int fd, n;

	n = file ? fprintf(file, "stream\n") : 0;
	if (file)
		fclose(file);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0644);
	n += (int)write(fd, "descriptor\n", 11);
	close(fd);
	return n;
}

static void *waited_for(void *arg)
{
	pid_t child = vfork();

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	return library_writes("of-constructor") ? arg : NULL;
}

/* While the loader holds its lock, a thread that this waits for makes a process, and does I/O. */
__attribute__((constructor)) static void comes(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, waited_for, NULL) == 0)
		pthread_join(thread, NULL);
}

__attribute__((destructor)) static void goes(void)
{
	library_writes("of-destructor");
}

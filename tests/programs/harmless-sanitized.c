/* One error, or none, of each kind that a compiler's sanitizer finds. Built by the test with each.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef OWN_OPTIONS
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "exitcode=9";
}
#endif

/* apart: what ThreadSanitizer remembers of eight bytes is few accesses, which the many to `ran`
 * would replace */
static _Alignas(64) int raced;
static _Alignas(64) int ran;
static void *volatile lost;

/* Leaves a stack that MemorySanitizer takes for not written. */
__attribute__((noinline)) static void dirty(void)
{
	volatile char room[16000];

	room[0] = 1;
}

static void *work(void *name)
{
	FILE *f;

	dirty();
	f = fopen(name, "w");
	for (int i = 0; i < 1000; i++)
		fprintf(f, "%d\n", i);
	dirty();
	fclose(f);
	return NULL;
}

static void *first(void *unused)
{
	raced++;
	__atomic_store_n(&ran, 1, __ATOMIC_RELAXED);
	return unused;
}

/* ThreadSanitizer does not always find two accesses at the very same time; a relaxed access orders
 * nothing for it. */
static void race(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, first, NULL);
	while (!__atomic_load_n(&ran, __ATOMIC_RELAXED))
		sched_yield();
	raced++;
	pthread_join(thread, NULL);
}

static void in_thread(void *(*run)(void *), void *arg, void *own)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, arg);
	run(own);
	pthread_join(thread, NULL);
}

/* Files, threads and a child, without an error. */
static void clean(void)
{
	char *words[] = { "true", NULL };
	int fd = open("z", O_RDWR | O_CREAT | O_TRUNC, 0600), status;
	char data[64] = "data";

	for (int i = 0; i < 8; i++)
		in_thread(work, "x", "y");
	dirty();
	printf("%zd ", write(fd, data, sizeof(data)));
	dirty();
	printf("%zd\n", pread(fd, data, sizeof(data), 32));
	close(fd);
	dirty();
	rename("z", "w");
	fflush(stdout);
	if (fork() == 0) {
		dirty();
		work("v");
		execvp(words[0], words);
		_exit(9);
	}
	wait(&status);
	printf("child %d\n", status);
}

int main(int argc, char **argv)
{
	const char *error = argc > 1 ? argv[1] : "";
	int fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *room = malloc(10);

	if (write(fd, "abcdefghijklmnopqrstuvwxyz", 26) != 26 || lseek(fd, 0, SEEK_SET) != 0)
		return 1;
	if (strcmp(error, "heap") == 0)
		room[argc + 8] = 1;
	else if (strcmp(error, "read") == 0)
		printf("%zd\n", read(fd, room, 20));
	else if (strcmp(error, "fread") == 0)
		printf("%zu\n", fread(room, 1, 20, fdopen(fd, "r")));
	else if (strcmp(error, "freed") == 0)
		free(room), printf("%zd\n", read(fd, room, 5));
	else if (strcmp(error, "unwritten") == 0)
		printf("%zd\n", write(fd, room, 5));
	else if (strcmp(error, "race") == 0)
		race();
	else if (strcmp(error, "leak") == 0)
		lost = malloc(33), lost = NULL;
	else if (strcmp(error, "overflow") == 0)
		printf("%d\n", 0x7fffffff + argc);
	else
		clean();
	if (strcmp(error, "freed") != 0)
		free(room);
	return 5;
}

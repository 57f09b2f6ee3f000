/* Works on the smallest stacks there are, and says how deep it went: small-stacks HOW FILE. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, PAINT = 0x5a };

static const char *path;
static int file;

/* A stack of BYTES with nothing below it. */
static char *stack_new(size_t bytes)
{
	char *at = mmap(NULL, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED || mprotect(at, PAGE, PROT_NONE) != 0)
		exit(9);
	memset(at + PAGE, PAINT, bytes);
	return at + PAGE;
}

/* How much of it was used. */
static size_t depth(const char *stack, size_t bytes)
{
	size_t free = 0;

	while (free < bytes && stack[free] == PAINT)
		free++;
	return bytes - free;
}

/* What a program may do in a handler, but for fork. */
static void calls(void)
{
	char text[16];
	int fd;

	for (int i = 0; i < 6000; i++) /* windows fill */
		if (pwrite(file, "x", 1, i) != 1)
			_exit(8);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text)) != sizeof(text) || lseek(fd, 0, SEEK_SET) != 0 ||
	    dup2(fd, 100) != 100 || close(100) != 0 || close(fd) != 0)
		_exit(8);
	if (open("no/such", O_RDONLY) >= 0 || fsync(file) != 0)
		_exit(8);
}

static void calls_and_fork(void)
{
	int status = 0;
	pid_t child;

	calls();
	child = fork();
	if (child == 0) {
		calls();
		_exit(3);
	}
	if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
		_exit(7);
}

static void (*work)(void);

static void on_signal(int sig)
{
	(void)sig;
	work();
}

/* In a handler on an alternate stack of BYTES. */
static size_t in_handler(size_t bytes)
{
	char *stack = stack_new(bytes);
	const stack_t alternate = { .ss_sp = stack, .ss_size = bytes };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };

	if (sigaltstack(&alternate, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0)
		exit(9);
	raise(SIGUSR1);
	return depth(stack, bytes);
}

static ucontext_t here, there;

static void on_context(void)
{
	work();
}

static size_t in_coroutine(size_t bytes)
{
	char *stack = stack_new(bytes);

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &here;
	makecontext(&there, on_context, 0);
	swapcontext(&here, &there);
	return depth(stack, bytes);
}

static size_t thread_depth;

static void *on_thread(void *arg)
{
	thread_depth = ((size_t(*)(size_t))arg)(PAGE);
	return NULL;
}

/* In a coroutine that is the first thing its thread does. */
static size_t in_new_thread(size_t bytes)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)bytes;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	if (pthread_create(&thread, &attr, on_thread, (void *)in_coroutine) != 0)
		exit(9);
	pthread_join(thread, NULL);
	return thread_depth;
}

static void *on_own_stack(void *arg)
{
	(void)arg;
	work();
	return NULL;
}

/* On the stack that the C library gives to a thread that asks for the least. */
static size_t in_thread(size_t bytes)
{
	pthread_attr_t attr;
	pthread_t thread;

	(void)bytes;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	if (pthread_create(&thread, &attr, on_own_stack, NULL) != 0)
		exit(9);
	pthread_join(thread, NULL);
	return 0;
}

static const struct {
	const char *name;
	size_t (*run)(size_t bytes);
	void (*work)(void);
	size_t bytes;
} ways[] = {
	{ "handler", in_handler, calls, 8192 },
	{ "handler-fork", in_handler, calls_and_fork, 8192 },
	{ "coroutine", in_coroutine, calls, PAGE },
	{ "coroutine-fork", in_coroutine, calls_and_fork, PAGE },
	{ "new-thread", in_new_thread, calls, PAGE },
	{ "new-thread-fork", in_new_thread, calls_and_fork, PAGE },
	{ "thread", in_thread, calls_and_fork, 0 },
};

int main(int argc, char **argv)
{
	path = argc > 2 ? argv[2] : "";
	/* before the tracer has seen any call of this thread */
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(argv[1], ways[i].name) == 0) {
			size_t used;

			file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
			if (file < 0)
				return 1;
			work = ways[i].work;
			used = ways[i].run(ways[i].bytes);
			if (getenv("DEPTH"))
				fprintf(stderr, "%zu\n", used);
			return 0;
		}
	return 2;
}

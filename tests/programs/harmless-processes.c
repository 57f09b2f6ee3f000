/* Processes of every making, and every way of going on as another program and of ending. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "harmless.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* words for exec are not written to */
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"

extern char **environ;

static atomic_int stop;

static void reap(const char *what, pid_t child)
{
	int status = 0;

	MUST(child > 0 && waitpid(child, &status, __WALL) == child);
	printf("%s: status 0x%x\n", what, (unsigned)status);
	fflush(stdout);
}

/* Appends a line to FILE, so that each process leaves one. */
static void note(const char *file, const char *line)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0644);

	MUST(fd >= 0 && dprintf(fd, "%s\n", line) > 0 && close(fd) == 0);
}

static void *busy(void *arg)
{
	while (!stop) {
		FILE *file = fopen(arg, "w");
		void *some = malloc(1000);

		fprintf(file, "%p\n", some);
		fclose(file);
		free(some);
	}
	return arg;
}

/* Threads hold whatever locks there are; the children do I/O all the same. */
static void threaded(void)
{
	pthread_t threads[3];
	char names[3][8];
	int wrong = 0;

	for (int i = 0; i < 3; i++) {
		sprintf(names[i], "busy%d", i);
		pthread_create(&threads[i], NULL, busy, names[i]);
	}
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			FILE *file = fopen("of-children", "a");

			alarm(20);
			fprintf(file, "%d\n", i);
			fclose(file);
			if (i % 2)
				exit(0);
			_exit(0);
		}
		waitpid(child, &status, 0);
		wrong += status != 0;
	}
	stop = 1;
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		unlink(names[i]);
	}
	printf("wrong %d\n", wrong);
}

static int in_clone(void *arg)
{
	note("of-clones", arg);
	return 3;
}

static void clones(void)
{
	static const struct {
		int flags;
		const char *name;
	} kinds[] = {
		{ SIGCHLD, "fork" },
		{ CLONE_FILES | SIGCHLD, "files" },
		{ CLONE_FS | CLONE_FILES | SIGCHLD, "fs, files" },
		{ CLONE_VFORK | CLONE_VM | SIGCHLD, "vfork" },
		{ CLONE_NEWUTS | SIGCHLD, "namespace" },
		{ CLONE_PARENT_SETTID | SIGUSR1, "other signal" },
		{ 0, "no signal" },
	};
	size_t size = 64 << 10;
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t tid = 0, child;

	signal(SIGUSR1, SIG_IGN);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		reap(kinds[i].name, clone(in_clone, stack + size, kinds[i].flags,
					  (void *)kinds[i].name, &tid, NULL, NULL));
#ifdef SYS_fork /* newer architectures have clone only */
	child = (pid_t)syscall(SYS_fork);
	if (child == 0) {
		note("of-clones", "raw fork");
		_exit(4);
	}
	reap("raw fork", child);
#endif
	child = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
	if (child == 0) {
		note("of-clones", "raw clone");
		_exit(4);
	}
	reap("raw clone", child);
	child = vfork();
	if (child == 0)
		_exit(6);
	reap("vfork", child);
	signal(SIGUSR1, SIG_DFL);
}

/* Each function of exec, with an environment of its own where it takes one. */
static void execs(void)
{
	static char *const words[] = { "sh", "-c",
				       "echo $0 $# ${A-no}; echo image >>of-images; exit 5", NULL };
	static char *const variables[] = { "A=b", NULL };
	static char *const nothing[] = { NULL };

	setenv("A", "a", 1);
	for (volatile int i = 0; i < 13; i++) {
		pid_t child = i % 2 ? fork() : vfork();

		if (child == 0) {
			switch (i) {
			case 0:
				execl("/bin/sh", "sh", "-c", words[2], NULL);
				break;
			case 1:
				execlp("sh", "sh", "-c", words[2], NULL);
				break;
			case 2:
				execle("/bin/sh", "sh", "-c", words[2], NULL, variables);
				break;
			case 3:
				execv("/bin/sh", words);
				break;
			case 4:
				execvp("sh", words);
				break;
			case 5:
				execve("/bin/sh", words, variables);
				break;
			case 6:
				execvpe("sh", words, variables);
				break;
			case 7:
				fexecve(open("/bin/sh", O_RDONLY), words, variables);
				break;
			case 8:
				execve("/bin/sh", words, nothing);
				break;
			case 9:
				execve("/bin/sh", words, NULL);
				break;
			case 10:
				syscall(SYS_execve, "/bin/sh", words, variables);
				break;
			case 11:
				execveat(AT_FDCWD, "/bin/sh", words, variables, 0);
				break;
			case 12:
				execve("absent", words, variables);
				break;
			}
			_exit(errno);
		}
		printf("exec %d ", i);
		reap("", child);
	}
	unsetenv("A");
}

static void spawns(void)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t set;
	pid_t child;
	char *words[] = { "sh", "-c", "cat; echo err >&2; ls /proc/self/fd | wc -l", NULL };

	note("given", "given text");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "given", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT | O_APPEND,
					 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	posix_spawnattr_init(&attr);
	sigfillset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	MUST(posix_spawn(&child, "/bin/sh", &actions, &attr, words, environ) == 0);
	reap("posix_spawn", child);
	MUST(posix_spawnp(&child, "sh", &actions, NULL, words, (char *[]){ "X=y", NULL }) == 0);
	reap("posix_spawnp", child);
	printf("absent: %s\n",
	       strerrorname_np(posix_spawn(&child, "/absent", NULL, NULL, words, environ)));
	printf("system %d\n", system("echo from system; exit 9"));
}

static void *exec_here(void *arg)
{
	execl("/bin/sh", "sh", "-c", "echo went on; exit 8", NULL);
	return arg;
}

static void *exit_here(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);
	note("of-ends", "last thread");
	printf("last thread\n");
	exit(2);
}

static void at_exit(void)
{
	FILE *file = fopen("of-ends", "a");

	fprintf(file, "atexit\n");
	printf("atexit\n");
	/* left open: flushed by exit */
}

static void again_at_exit(void)
{
	printf("quick\n");
	fflush(stdout);
	note("of-ends", "quick");
}

static void no_core(void)
{
	struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
}

/* How a process ends: each in a child, which leaves something in the buffer of a stream. */
static void end_by(int how)
{
	pthread_t thread, self = pthread_self();
	static FILE *file;

	file = fopen("of-ends", "a");
	fprintf(file, "end %d\n", how);
	atexit(at_exit);
	at_quick_exit(again_at_exit);
	switch (how) {
	case 0:
		exit(1);
	case 1:
		_exit(1);
	case 2:
		quick_exit(1);
	case 3:
		abort();
	case 4:
		_Exit(1);
	case 5:
		syscall(SYS_exit_group, 1L);
		break;
	case 6:
		pthread_create(&thread, NULL, exec_here, NULL);
		pause();
		break;
	case 7:
		pthread_create(&thread, NULL, exit_here, &self);
		pthread_exit(NULL);
	case 8:
		fclose(stdout);
		fcloseall();
		exit(1);
	case 9:
		*(volatile char *volatile)NULL = 0;
		break;
	case 10:
		MUST(fclose(file) == 0);
		pthread_exit(NULL);
	}
	_exit(99);
}

static void ends(void)
{
	char what[20];

	for (int how = 0; how < 11; how++) {
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0) {
			no_core();
			end_by(how);
		}
		sprintf(what, "end %d", how);
		reap(what, child);
	}
}

static void by_signals(void)
{
	char what[20];

	for (int sig = 1; sig < 32; sig++) {
		pid_t child = fork();

		if (child == 0) {
			no_core();
			alarm(10);
			if (sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU)
				_exit(0);
			note("of-signals", "before");
			raise(sig);
			_exit(0);
		}
		sprintf(what, "signal %d", sig);
		reap(what, child);
	}
}

/* Away from its parent, its terminal, its folder and its descriptors. */
static void daemons(void)
{
	int end[2];
	char text[10];
	pid_t child;

	MUST(pipe(end) == 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		MUST(daemon(1, 0) == 0);
		printf("into nothing\n");
		note("of-daemon", "daemon");
		MUST(write(end[1], "done", 4) == 4);
		_exit(0);
	}
	reap("its parent", child);
	TELL(read(end[0], text, 10));
}

/* A parent of 2 levels of forks in a row; each one's file offset is shared, as it is. */
static void generations(void)
{
	int fd = open("generations", O_RDWR | O_CREAT | O_TRUNC, 0644);
	pid_t child = fork();

	if (child == 0) {
		pid_t other = fork();

		if (other) {
			int status;

			waitpid(other, &status, 0);
		}
		MUST(write(fd, other ? "second\n" : "third\n", other ? 7 : 6) > 0);
		_exit(0);
	}
	reap("second", child);
	TELL(lseek(fd, 0, SEEK_CUR));
	close(fd);
}

static const struct part parts[] = {
	{ "threaded", threaded }, { "clones", clones },
	{ "execs", execs },	  { "spawns", spawns },
	{ "ends", ends },	  { "signals", by_signals },
	{ "daemons", daemons },	  { "generations", generations },
	{ NULL, NULL },
};

int main(int argc, char *argv[])
{
	(void)argc;
	return run_parts(parts, argv + 1);
}

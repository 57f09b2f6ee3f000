/* Locks itself in as its argument says, and goes on working: confined HOW FILE. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEFORE = 100, AFTER = 20000 };

static int file;

static void write_some(int n)
{
	for (int i = 0; i < n; i++)
		if (write(file, "x", 1) != 1)
			_exit(10);
}

static void expect(int ok, const char *what)
{
	if (ok)
		return;
	dprintf(2, "%s: %s\n", what, strerror(errno));
	_exit(9);
}

#define ALLOW(name)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FAILS(name, error)                                                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                                     \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define PROGRAM(code)                                                                              \
	{                                                                                          \
		sizeof(code) / sizeof(*(code)), code                                               \
	}

/* As little as a program that reads and writes what it has open can live on. */
static struct sock_filter little[] = {
	LOAD(nr),
	ALLOW(read),
	ALLOW(write),
	ALLOW(exit_group),
	ALLOW(exit),
	ALLOW(futex),
	ALLOW(rt_sigreturn),
	ALLOW(munmap),
	ALLOW(madvise),
	ALLOW(rt_sigprocmask),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
/* Files may be opened, and not written but by write. */
static struct sock_filter readers[] = {
	LOAD(nr),	   ALLOW(read),	  ALLOW(write),
	ALLOW(exit_group), ALLOW(openat), ALLOW(close),
	ALLOW(newfstatat), ALLOW(mmap),	  ALLOW(munmap),
	ALLOW(wait4),	   ALLOW(clone),  ALLOW(set_robust_list),
	ALLOW(gettid),	   ALLOW(getpid), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
/* All but opening files for writing, which is looked at in the flags. */
static struct sock_filter flags[] = {
	LOAD(nr),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
	LOAD(args[2]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
/* A trap for opens: the program brings its own answer. */
static struct sock_filter answers[] = {
	LOAD(nr),
	FAILS(openat, EACCES),
	FAILS(getpid, EPERM),
	FAILS(newfstatat, ENOSYS),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static void lock(struct sock_filter *code, unsigned n)
{
	struct sock_fprog program = { (unsigned short)n, code };

	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0, "filter");
}
#define LOCK(code) lock(code, sizeof(code) / sizeof(*(code)))

static void strict(void)
{
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0, "strict");
	write_some(AFTER);
	syscall(SYS_exit, 7);
}

static void by_little(void)
{
	LOCK(little);
	write_some(AFTER);
	_exit(7);
}

static void by_readers(void)
{
	int again, status = 0;
	char c;

	LOCK(readers);
	write_some(AFTER);
	again = openat(AT_FDCWD, "/dev/zero", O_RDONLY);
	expect(again >= 0 && read(again, &c, 1) == 1, "read");
	close(again);
	if (fork() == 0) {
		write_some(AFTER);
		_exit(3);
	}
	wait(&status);
	_exit(WEXITSTATUS(status));
}

static void by_flags(void)
{
	LOCK(flags);
	write_some(AFTER);
	_exit(open("/dev/null", O_RDONLY) >= 0 ? 7 : 1);
}

static void by_answers(void)
{
	LOCK(answers);
	write_some(AFTER);
	_exit(open("/dev/null", O_RDONLY) == -1 && errno == EACCES ? 7 : 1);
}

/* Twice, where each alone would let more through. */
static void by_two(void)
{
	LOCK(answers);
	LOCK(little);
	write_some(AFTER);
	_exit(7);
}

/* Filters that the kernel refuses change nothing. */
static void refused(void)
{
	struct sock_fprog program = PROGRAM(little), empty = { 0, little };

	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, -1L) == -1 && errno == EFAULT, "-1");
	expect(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &empty) == -1, "empty");
	expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ~0u, &program) == -1, "flags");
	program.filter = (void *)8;
	expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == -1, "code");
	write_some(AFTER);
	_exit(7);
}

static pthread_barrier_t barrier;

static void *work(void *arg)
{
	write_some(BEFORE);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	write_some(AFTER);
	return arg;
}

/* One thread locks all in, by the system call as libseccomp makes it. */
static void by_all(void)
{
	struct sock_fprog program = PROGRAM(little);
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, work, NULL);
	pthread_barrier_wait(&barrier);
	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	expect(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
		       0,
	       "all threads");
	pthread_barrier_wait(&barrier);
	write_some(AFTER);
	pthread_join(thread, NULL);
	_exit(7);
}

/* One of two locks itself in: the other goes on as ever. */
static void *locked(void *arg)
{
	LOCK(little);
	write_some(AFTER);
	return arg;
}

static void by_one(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, locked, NULL);
	pthread_join(thread, NULL);
	write_some(AFTER);
	_exit(open("/dev/null", O_WRONLY) >= 0 ? 7 : 1);
}

static void *child_of_locked(void *arg)
{
	write_some(AFTER);
	return arg;
}

/* A thread that a locked one makes is locked, too. */
static void thread_of_locked(void)
{
	static struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	pthread_t thread;

	LOCK(code);
	pthread_create(&thread, NULL, child_of_locked, NULL);
	pthread_join(thread, NULL);
	_exit(7);
}

static void clock_taken(void)
{
	/* the C library reads it, too, so that nothing of it may be asked for the time */
	expect(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0, "clock");
	write_some(AFTER);
	if (fork() == 0) {
		write_some(AFTER);
		_exit(3);
	}
	wait(NULL);
	_exit(7);
}

static void by_landlock(void)
{
	struct landlock_ruleset_attr rules = { .handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE |
								    LANDLOCK_ACCESS_FS_WRITE_FILE |
								    LANDLOCK_ACCESS_FS_MAKE_REG };
	int set = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules), 0);

	if (set < 0)
		_exit(77);
	expect(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges");
	expect(syscall(SYS_landlock_restrict_self, set, 0) == 0, "landlock");
	write_some(AFTER);
	if (fork() == 0) {
		write_some(AFTER);
		_exit(3);
	}
	wait(NULL);
	_exit(open("/dev/null", O_RDONLY) == -1 && errno == EACCES ? 7 : 1);
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{ "strict", strict },		{ "little", by_little },   { "readers", by_readers },
	{ "flags", by_flags },		{ "answers", by_answers }, { "two", by_two },
	{ "refused", refused },		{ "all", by_all },	   { "one", by_one },
	{ "thread", thread_of_locked }, { "clock", clock_taken },  { "landlock", by_landlock },
};

int main(int argc, char **argv)
{
	file = argc > 2 ? open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
	expect(file >= 0, "file");
	write_some(BEFORE);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(argv[1], ways[i].name) == 0)
			ways[i].run();
	return 2;
}

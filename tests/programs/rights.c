/* Children that drop their rights, or lose the way to where the tracer writes, and write files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WRITES 6000 /* more than a window of the tracer's holds */

static void must(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	_exit(3);
}

/* Different sizes, so that no call is like the one before. */
static void write_all(int fd)
{
	static const char bytes[8];

	for (int i = 0; i < WRITES; i++)
		must(pwrite(fd, bytes, 1 + (size_t)(i % 7), i) > 0, "pwrite");
}

static void drop(const char *unused)
{
	(void)unused;
	must(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0, "setuid");
}

/* DIR: an empty folder. */
static void change_root(const char *dir)
{
	must(chroot(dir) == 0 && chdir("/") == 0, "chroot");
}

static void change_root_and_drop(const char *dir)
{
	change_root(dir);
	drop(dir);
}

/* DIR: what is above the recording. */
static void cover(const char *dir)
{
	must(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		     mount("none", dir, "tmpfs", 0, NULL) == 0,
	     "mount");
}

static void lock_in(const char *unused)
{
	struct landlock_ruleset_attr all = { .handled_access_fs = (1u << 13) - 1 };
	int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);

	(void)unused;
	if (fd < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		_exit(77);
	must(fd >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
		     syscall(SYS_landlock_restrict_self, fd, 0) == 0,
	     "landlock");
	close(fd);
}

static void own_numbers(const char *dir)
{
	must(unshare(CLONE_NEWPID) == 0, "unshare");
	change_root(dir);
}

/* Without any way to the recorder. */
static void no_way(const char *dir)
{
	must(unshare(CLONE_NEWNET) == 0, "unshare");
	change_root(dir);
}

/* Has the thread with this file "stat" stopped? By calls that nobody records. */
static int has_stopped(const char *name)
{
	char text[512] = "";
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);
	const char *end;

	must(fd >= 0 && syscall(SYS_read, fd, text, sizeof(text) - 1) > 0, name);
	syscall(SYS_close, fd);
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'T';
}

/* The recorder does not answer. One of its threads takes the signal, and the others stop after it.
 */
static void stopped(const char *dir)
{
	const char *recorder = getenv("RECORDER");
	char tasks[64], name[512];
	_Alignas(struct dirent64) char list[4096];
	int running;

	must(kill(atoi(recorder), SIGSTOP) == 0, "kill");
	snprintf(tasks, sizeof(tasks), "/proc/%s/task", recorder);
	do {
		int fd = (int)syscall(SYS_openat, AT_FDCWD, tasks, O_RDONLY | O_DIRECTORY);
		long n = syscall(SYS_getdents64, fd, list, sizeof(list));

		must(fd >= 0 && n > 0, tasks);
		syscall(SYS_close, fd);
		running = 0;
		for (long at = 0; at < n && !running;) {
			const struct dirent64 *task = (const void *)(list + at);

			at += task->d_reclen;
			snprintf(name, sizeof(name), "%s/%s/stat", tasks, task->d_name);
			running = task->d_name[0] != '.' && !has_stopped(name);
		}
	} while (running && usleep(1000) == 0);
	change_root(dir);
}

static const struct {
	const char *name;
	void (*lose)(const char *dir);
} parts[] = {
	{ "setuid", drop },   { "chroot", change_root }, { "both", change_root_and_drop },
	{ "mounts", cover },  { "landlock", lock_in },	 { "numbers", own_numbers },
	{ "no-way", no_way }, { "stopped", stopped },
};

static int wait_for(pid_t child)
{
	int status = 0;

	must(child > 0 && waitpid(child, &status, 0) == child, "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/*
 * N children are killed within a millisecond of their birth, and N more that run a program. The
 * parent writes N times.
 */
static void births(int fd, int n)
{
	srand(1);
	for (int i = 0; i < 2 * n; i++) {
		struct timespec rest = { .tv_nsec = rand() % (i % 2 ? 4000 : 800) * 1000 };
		int status;
		pid_t child = fork();

		if (child == 0 && i % 2) {
			execl("/bin/cat", "cat", "/etc/passwd", "-", NULL);
			_exit(3);
		}
		while (child == 0)
			must(pwrite(fd, "y", 1, 0) == 1, "pwrite");
		nanosleep(&rest, NULL);
		must(child > 0 && kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child,
		     "kill");
		if (i % 2)
			must(write(fd, "x", 1) == 1, "write");
	}
}

/* births N FILE; or PART DIR FILE: a child does PART, writes, and so does one of its own; then the
 * parent. */
int main(int argc, char **argv)
{
	int fd = argc == 4 ? open(argv[3], O_RDWR | O_CREAT, 0600) : -1, status = 4;
	char recorder[16];
	pid_t child;

	must(fd >= 0, "open");
	if (strcmp(argv[1], "births") == 0) {
		births(fd, atoi(argv[2]));
		return 0;
	}
	snprintf(recorder, sizeof(recorder), "%d", (int)getppid());
	setenv("RECORDER", recorder, 1);
	child = fork();
	if (child == 0) {
		write_all(fd);
		for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
			if (strcmp(argv[1], parts[i].name) != 0)
				continue;
			parts[i].lose(argv[2]);
			status = 0;
		}
		if (status)
			_exit(status);
		child = fork();
		if (child == 0) {
			write_all(fd);
			_exit(0);
		}
		status = wait_for(child);
		write_all(fd);
		_exit(status);
	}
	status = wait_for(child);
	if (strcmp(argv[1], "stopped") == 0)
		kill(getppid(), SIGCONT);
	write_all(fd);
	return status;
}

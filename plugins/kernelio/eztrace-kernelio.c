/* The EZTrace module kernelio: runs sci-kernel on the program, its spool beside the archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <eztrace-instrumentation/pptrace.h>
#include <eztrace-lib/eztrace.h>
#include <eztrace-lib/eztrace_module.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * The collector is another process, and no child of the program's: it is neither traced nor waited
 * for. All that makes it are system calls, since the functions are the other modules' to intercept.
 */
#define SPOOL_NAME "kernel.spool"
#define STARTED "SCI_KERNELIO" /* in the environment of what is followed already */
#define START_MS 10000
#define END_MS 60000

static long (*raw)(long number, ...); /* the C library's own syscall(2) */
static int collector = -1;	      /* the socket to it */
static pid_t traced_pid;

static void warn(const char *what)
{
	fprintf(stderr, "eztrace-kernelio: %s: the kernel's levels are missing\n", what);
}

/* As EZTrace names it; false: the name is too long. */
static bool trace_folder(char folder[PATH_MAX])
{
	const char *given = getenv("EZTRACE_TRACE_DIR");
	int n = given && *given
			? snprintf(folder, PATH_MAX, "%s", given)
			: snprintf(folder, PATH_MAX, "%s_trace", program_invocation_short_name);

	return n > 0 && n < PATH_MAX;
}

/* What a run before this one has left: EZTrace replaces its archive, too. */
static void remove_old(const char *folder)
{
	char path[PATH_MAX + 16];
	struct dirent *entry;
	DIR *dir;
	int fd;

	snprintf(path, sizeof(path), "%s/" SPOOL_NAME, folder);
	/* through no link: what is removed is ours */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, "meta") == 0 || strncmp(entry->d_name, "cpu.", 4) == 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* sci-kernel: named by the environment, installed, or found as commands are. */
static bool find_command(char path[PATH_MAX])
{
	const char *given = getenv("SCI_KERNEL"), *at = getenv("PATH");

	if (snprintf(path, PATH_MAX, "%s", given && *given ? given : BIN_DIR "/sci-kernel") <
		    PATH_MAX &&
	    access(path, X_OK) == 0)
		return true;
	for (; !given && at && *at; at += strspn(at, ":")) {
		int length = (int)strcspn(at, ":");

		if (snprintf(path, PATH_MAX, "%.*s/sci-kernel", length, at) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
		at += length;
	}
	return false;
}

/* Neither EZTrace nor the tracers are for the collector. The caller frees the table alone. */
static char **clean_environment(void)
{
	static const char *const ours[] = { "LD_PRELOAD=", "EZTRACE_TRACE=", "SCI_SPOOL_DIR=" };
	size_t n = 0, kept = 0;
	char **table;

	while (environ && environ[n])
		n++;
	table = calloc(n + 1, sizeof(*table));
	for (size_t i = 0; table && i < n; i++) {
		bool leave = false;

		for (size_t k = 0; k < sizeof(ours) / sizeof(*ours); k++)
			leave |= strncmp(environ[i], ours[k], strlen(ours[k])) == 0;
		if (!leave)
			table[kept++] = environ[i];
	}
	return table;
}

__attribute__((noreturn)) static void collector_main(int fd, char *const argv[], char *const env[])
{
	long null = raw(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);

	raw(SYS_setsid);
	raw(SYS_dup3, null, 0, 0);
	if (null != 1)
		raw(SYS_dup3, 2, 1, 0);
	/* of the program's files none stays open; ours takes the first number behind the usual */
	if (fd != 3)
		raw(SYS_dup3, fd, 3, 0);
	else
		raw(SYS_fcntl, 3, F_SETFD, 0);
	raw(SYS_close_range, 4, ~0U, 0);
	raw(SYS_execve, argv[0], argv, env);
	for (;;)
		raw(SYS_exit_group, 127);
}

/* Starts it as a grandchild, whose parent then is init. */
static int spawn(int fd, char *const argv[], char *const env[])
{
	long child = raw(SYS_clone, 0, 0, 0, 0, 0);

	if (child == 0) {
		if (raw(SYS_clone, 0, 0, 0, 0, 0) == 0)
			collector_main(fd, argv, env);
		raw(SYS_exit_group, 0);
	}
	if (child < 0)
		return -errno;
	while (raw(SYS_wait4, child, NULL, __WALL, NULL) < 0 && errno == EINTR)
		;
	return 0;
}

/* A byte or the end of file from the collector within MS; true: a byte. */
static bool hear(int fd, int ms)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	/* not poll, which newer architectures lack; the kernel leaves the rest of the time in it */
	struct timespec left = { ms / 1000, ms % 1000 * 1000000L };
	char byte;

	while (raw(SYS_ppoll, &event, 1, &left, NULL, 0) < 0)
		if (errno != EINTR)
			return false;
	return event.revents && raw(SYS_read, fd, &byte, 1) == 1;
}

static void start(void)
{
	char folder[PATH_MAX], command[PATH_MAX], pid[16];
	const char *argv[] = { command, "-q", "-o", folder, "--pid", pid, "--caller=3", NULL };
	int pair[2] = { -1, -1 };
	char **env = NULL;

	void *libc;

	if (getenv(STARTED))
		return; /* a parent is followed, or the image before this one */
	libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	raw = libc ? (__typeof__(raw))dlsym(libc, "syscall") : NULL;
	if (!raw) {
		warn("the C library is not found");
		return;
	}
	if (!find_command(command)) {
		warn("sci-kernel is not found (SCI_KERNEL names it)");
		return;
	}
	if (!trace_folder(folder)) {
		warn("the name of the trace's folder is too long (EZTRACE_TRACE_DIR)");
		return;
	}
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	env = clean_environment();
	if (!env || (mkdir(folder, 0700) && errno != EEXIST) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) {
		warn(strerror(errno));
		goto out;
	}
	remove_old(folder);
	if (spawn(pair[1], (char *const *)argv, env)) {
		warn(strerror(errno));
		goto out;
	}
	raw(SYS_close, pair[1]);
	pair[1] = -1;
	if (hear(pair[0], START_MS)) {
		collector = pair[0];
		pair[0] = -1;
		traced_pid = getpid();
		setenv(STARTED, pid, 1);
	} else {
		warn("sci-kernel could not start");
	}
out:
	if (pair[0] >= 0)
		raw(SYS_close, pair[0]);
	if (pair[1] >= 0)
		raw(SYS_close, pair[1]);
	free(env);
}

static void module_init(void)
{
	start();
	if (eztrace_autostart_enabled())
		eztrace_start();
}

/* The spool is complete when the program has ended. */
static void module_finalize(void)
{
	if (collector < 0 || traced_pid != getpid())
		return;
	if (raw(SYS_sendto, collector, "e", 1, MSG_NOSIGNAL, NULL, 0) == 1)
		hear(collector, END_MS);
	raw(SYS_close, collector);
	collector = -1;
}

PPTRACE_START_INTERCEPT_FUNCTIONS(kernelio)
PPTRACE_END_INTERCEPT_FUNCTIONS(kernelio)

static void module_register(void) __attribute__((constructor));
static void module_register(void)
{
	EZT_REGISTER_MODULE(kernelio, "File I/O in the kernel, through sci-kernel", module_init,
			    module_finalize);
}

/* How a process under EZTrace ends without exit, and its archive does not get lost. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eztrace-end.h"

#include <alloca.h>
#include <dirent.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core.h"
#include "eta-ext/format/own-map.h"
#include "eztrace-next.h"
#include "eztrace-children.h"
#include "eztrace-tables.h"
#include "eztrace-threads.h"

/*
 * EZTrace writes its archive at exit. A signal handler cannot do that (locks, memory), and before
 * exec it would be too early: the call may fail. So a copy of the process does it, made by the
 * system call alone: what goes wrong there, goes wrong there. It sends no signal when it ends, and
 * the program's own wait does not see it.
 */
#define WAIT_STEP_NS 1000000
#define WAIT_STEPS 10000 /* 10 s, then the archive is given up */

#define SIGNAL(sig) (UINT64_C(1) << ((sig)-1))
/* These do not end a process, or nobody can be before them. Of all others it is the default. */
static const uint64_t not_fatal = SIGNAL(SIGKILL) | SIGNAL(SIGSTOP) | SIGNAL(SIGCHLD) |
				  SIGNAL(SIGCONT) | SIGNAL(SIGTSTP) | SIGNAL(SIGTTIN) |
				  SIGNAL(SIGTTOU) | SIGNAL(SIGURG) | SIGNAL(SIGWINCH);

static bool goes_on;
static _Atomic bool started;
static bool is_init; /* the first of a name space, which no signal ends by default */

bool end_goes_on(void)
{
	return goes_on;
}

static bool is_covered(int sig)
{
	return started && !is_init && sig > 0 && sig < NSIG && !(not_fatal & SIGNAL(sig));
}

static bool archive_is_open(void)
{
	return started && process_is_ours() && _ezt_trace.status == ezt_trace_status_running;
}

__attribute__((noreturn)) static void close_here(void)
{
	struct sigaction action = { .sa_handler = SIG_DFL };
	struct rlimit limit;
	sigset_t none;

	/* the end of a program at its limit is not ours */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_FSIZE, &limit);
	}
	for (int sig = 1; sig < NSIG; sig++)
		if (is_covered(sig))
			syscall(SYS_rt_sigaction, sig, &action, NULL, sizeof(long));
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	thread_leave();
	modules_stop();
	defs_lock_forget();
	sink_held = false;
	eztrace_stop();
	for (;;)
		syscall(SYS_exit_group, 0);
}

/*
 * Closes the archive in a copy of this process, and waits for it. From then on nobody writes here:
 * the files are the same, and the archive is complete.
 */
static void close_in_copy(void)
{
	static _Atomic bool closing;
	const struct timespec step = { 0, WAIT_STEP_NS };
	int status, saved = errno;
	pid_t copy;

	if (!archive_is_open() || atomic_exchange(&closing, true))
		return;
	/*
	 * The copy has what the others are writing as it is just then, and none of them to end it;
	 * and it writes to the same files as they.
	 */
	threads_wait_begun();
	sink_held = true;
	_ezt_trace.status = ezt_trace_status_paused;
	threads_wait_written();
	copy = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (copy == 0)
		close_here();
	for (int i = 0; copy > 0; i++) {
		long ended = syscall(SYS_wait4, copy, &status, __WALL | WNOHANG, NULL);

		if (ended == copy || (ended < 0 && errno != EINTR))
			break;
		if (i == WAIT_STEPS)
			syscall(SYS_kill, copy, SIGKILL);
		syscall(SYS_nanosleep, &step, NULL);
	}
	if (copy < 0 || !WIFEXITED(status))
		tracer_warn("the archive could not be written before the end of the process "
			    "(sci-record keeps what was traced)");
	closing = false;
	errno = saved;
}

/* ---- signals ---- */

static void on_fatal(int sig, siginfo_t *info, void *context);

static void cover(int sig)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK };

	action.sa_sigaction = on_fatal;
	sigfillset(&action.sa_mask);
	NEXT(sigaction)(sig, &action, NULL);
}

/* Files that are too large for the program's, are for the archive, too. */
static bool may_write(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_max == RLIM_INFINITY;
}

/* What it would have been without us comes after: by itself for a fault, which happens again. */
static void on_fatal(int sig, siginfo_t *info, void *context)
{
	const struct sigaction action = { .sa_handler = SIG_DFL };
	bool fault = sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL;

	(void)context;
	if (sig != SIGXFSZ || may_write())
		close_in_copy();
	NEXT(sigaction)(sig, &action, NULL);
	if (!fault || info->si_code <= 0)
		syscall(SYS_tgkill, syscall(SYS_getpid), syscall(SYS_gettid), sig);
}

void end_start(void)
{
	struct sigaction before;

	(void)NEXT(sigaction); /* not for the first time in a handler */
	is_init = getpid() == 1;
	started = true;
	for (int sig = 1; sig < NSIG; sig++)
		if (is_covered(sig) && NEXT(sigaction)(sig, NULL, &before) == 0 &&
		    !(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL)
			cover(sig);
}

/* The program sees its default where we stand, and gets us where it asks for the default. */
EXPORT int sigaction(int sig, const struct sigaction *action, struct sigaction *before)
{
	int rc = NEXT(sigaction)(sig, action, before);

	if (rc != 0 || !is_covered(sig))
		return rc;
	if (before && (before->sa_flags & SA_SIGINFO) && before->sa_sigaction == on_fatal)
		*before = (struct sigaction){ .sa_handler = SIG_DFL };
	if (action && !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL &&
	    archive_is_open())
		cover(sig);
	return rc;
}

/* All that set a handler and give the one before it. */
#define SIGNAL_FUNCTION(name)                                                                      \
	EXPORT sighandler_t name(int sig, sighandler_t handler);                                   \
	EXPORT sighandler_t name(int sig, sighandler_t handler)                                    \
	{                                                                                          \
		sighandler_t before = NEXT(name)(sig, handler);                                    \
                                                                                                   \
		if (before == SIG_ERR || !is_covered(sig))                                         \
			return before;                                                             \
		if (handler == SIG_DFL && archive_is_open())                                       \
			cover(sig);                                                                \
		return before == (sighandler_t)(void *)on_fatal ? SIG_DFL : before;                \
	}

SIGNAL_FUNCTION(signal)
SIGNAL_FUNCTION(ssignal)
SIGNAL_FUNCTION(bsd_signal)
SIGNAL_FUNCTION(sysv_signal)
SIGNAL_FUNCTION(__sysv_signal)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
SIGNAL_FUNCTION(sigset)
#pragma GCC diagnostic pop

/* ---- exit, _exit, quick_exit ---- */

static void stop(void)
{
	if (!archive_is_open())
		return;
	threads_wait_begun();
	eztrace_stop();
}

void end_locked(void)
{
	stop();
}

/* Destructors go before those of the libraries that theirs needs: EZTrace closes right after. */
__attribute__((destructor)) static void end_exit(void)
{
	if (archive_is_open())
		threads_wait_begun();
}

/* As every shell ends, and who calls quick_exit. */
EXPORT void _exit(int status)
{
	void (*next)(int) __attribute__((noreturn)) = (__typeof__(next))NEXT(_exit);

	stop();
	next(status);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

__attribute__((constructor)) static void end_load(void)
{
	at_quick_exit(stop);
}

/* ---- exec ---- */

#define MAX_OPEN 4096

/* Where the archive's open files are written on: a copy of the process moves that, too. */
static struct place {
	int fd;
	off_t at, bytes;
} * places; /* MAX_OPEN of them, from the first exec on */
static unsigned n_places;

static void places_save(void)
{
	const char *dir = children_archive();
	DIR *fds;
	struct dirent *entry;

	n_places = 0;
	if (!places)
		places = own_memory(MAX_OPEN * sizeof(*places));
	fds = *dir && places ? opendir("/proc/self/fd") : NULL;
	while (fds && n_places < MAX_OPEN && (entry = readdir(fds))) {
		struct place *place = &places[n_places];
		static char path[PATH_MAX]; /* the stack may be small */
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, path, sizeof(path) - 1);
		struct stat st;

		if (n <= (ssize_t)strlen(dir) || strncmp(path, dir, strlen(dir)) != 0 ||
		    path[strlen(dir)] != '/')
			continue;
		place->fd = atoi(entry->d_name);
		place->at = syscall(SYS_lseek, place->fd, 0, SEEK_CUR);
		if (place->at < 0 || fstat(place->fd, &st) != 0)
			continue;
		place->bytes = st.st_size;
		n_places++;
	}
	if (fds)
		closedir(fds);
}

static void places_restore(void)
{
	int saved = errno;

	for (unsigned i = 0; i < n_places; i++)
		if (syscall(SYS_ftruncate, places[i].fd, places[i].bytes) != 0 ||
		    syscall(SYS_lseek, places[i].fd, places[i].at, SEEK_SET) < 0)
			tracer_warn("a file of the archive cannot be written on after exec has "
				    "failed: %s (its thread's calls end here)",
				    strerror(errno));
	n_places = 0;
	errno = saved;
}

/*
 * When the call fails the process goes on, and writes the archive again when it ends. PATH: of the
 * program, NULL where it is to be searched for; a shell tries each folder of its own PATH.
 */
static void before_exec(const char *path)
{
	int saved = errno;
	bool there = !path || access(path, X_OK) == 0;

	errno = saved;
	if (!there || !archive_is_open())
		return;
	places_save();
	goes_on = true;
	close_in_copy();
	goes_on = false;
}

/* The process is still what it was. */
static int exec_failed(int rc)
{
	if (!sink_held)
		return rc;
	places_restore();
	_ezt_trace.status = ezt_trace_status_running;
	sink_held = false;
	sink_goes_on();
	return rc;
}

EXPORT int execve(const char *path, char *const argv[], char *const env[])
{
	before_exec(path);
	return exec_failed(NEXT(execve)(path, argv, env));
}

EXPORT int execv(const char *path, char *const argv[])
{
	before_exec(path);
	return exec_failed(NEXT(execv)(path, argv));
}

EXPORT int execvp(const char *name, char *const argv[])
{
	before_exec(NULL);
	return exec_failed(NEXT(execvp)(name, argv));
}

EXPORT int execvpe(const char *name, char *const argv[], char *const env[])
{
	before_exec(NULL);
	return exec_failed(NEXT(execvpe)(name, argv, env));
}

EXPORT int fexecve(int fd, char *const argv[], char *const env[])
{
	before_exec(NULL);
	return exec_failed(NEXT(fexecve)(fd, argv, env));
}

/* FIRST and the arguments behind it as ARGV, on the stack; REST stands behind their NULL. */
#define COLLECT(first, argv, rest)                                                                 \
	va_list rest;                                                                              \
	size_t n_ = 1;                                                                             \
	char **argv;                                                                               \
                                                                                                   \
	va_start(rest, first);                                                                     \
	while (va_arg(rest, char *))                                                               \
		n_++;                                                                              \
	va_end(rest);                                                                              \
	argv = alloca((n_ + 1) * sizeof(*argv));                                                   \
	argv[0] = (char *)first;                                                                   \
	va_start(rest, first);                                                                     \
	for (size_t i_ = 1; i_ <= n_; i_++)                                                        \
	argv[i_] = va_arg(rest, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT(first, argv, rest);

	va_end(rest);
	return execv(path, argv);
}

EXPORT int execlp(const char *name, const char *first, ...)
{
	COLLECT(first, argv, rest);

	va_end(rest);
	return execvp(name, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *env;
	COLLECT(first, argv, rest);

	env = va_arg(rest, char *const *);
	va_end(rest);
	return execve(path, argv, env);
}

/* Starting the traced program. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GO 'g'

/* ---- signals ---- */

static volatile sig_atomic_t forward_to;

static void forward(int sig)
{
	if (forward_to)
		kill((pid_t)forward_to, sig);
}

static const struct {
	int sig;
	bool forwarded;
} signals[] = {
	{ SIGINT, false },
	{ SIGQUIT, false },
	{ SIGTERM, true },
	{ SIGHUP, true },
};
#define N_SIGNALS (sizeof(signals) / sizeof(*signals))

/* What this process was started with, and the program gets. */
static struct {
	bool known;
	sigset_t mask;
	struct sigaction actions[N_SIGNALS], child;
	int of_death; /* the signal at the death of our parent */
} before;

static void fill_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < N_SIGNALS; i++)
		sigaddset(set, signals[i].sig);
}

static void block_signals(void)
{
	sigset_t set;

	fill_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

void launch_hold_signals(void)
{
	if (before.known)
		return;
	before.known = true;
	sigprocmask(SIG_SETMASK, NULL, &before.mask);
	block_signals();
	for (size_t i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i].sig, NULL, &before.actions[i]);
	/* who ignores it could not wait for the program */
	sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, &before.child);
	if (prctl(PR_GET_PDEATHSIG, &before.of_death) != 0)
		before.of_death = 0;
}

static bool would_end(size_t i)
{
	return before.actions[i].sa_handler != SIG_IGN &&
	       sigismember(&before.mask, signals[i].sig) == 0;
}

int launch_signal(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (before.known && would_end(i) && sigismember(&pending, signals[i].sig) == 1)
			return signals[i].sig;
	return 0;
}

/* While the program runs. */
static void signals_ours(void)
{
	for (size_t i = 0; i < N_SIGNALS; i++) {
		struct sigaction action = { .sa_flags = SA_RESTART };

		action.sa_handler = signals[i].forwarded ? forward : SIG_IGN;
		sigaction(signals[i].sig, &action, NULL);
	}
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

/* When it has ended. TAKEN, unless NULL, takes them over before one of them can come. */
static void signals_back(void (*taken)(void))
{
	for (size_t i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i].sig, &before.actions[i], NULL);
	if (taken)
		taken();
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
}

void launch_end_by(int sig)
{
	sigset_t only;

	signal(sig, SIG_DFL);
	raise(sig);
	sigemptyset(&only);
	sigaddset(&only, sig);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
}

/* ---- the child ---- */

/* Its signals are as they were before us. PARENT is alive, which no longer ends it. */
static bool leave(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, before.of_death, 0, 0, 0);
	if (getppid() != parent)
		return false;
	sigaction(SIGCHLD, &before.child, NULL);
	/* what has come meanwhile ends it here */
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
	return true;
}

__attribute__((noreturn)) static void child(int go, int outcome, char *const argv[],
					    char *const env[], const struct identity *identity,
					    pid_t parent)
{
	char byte = 0;
	int error = -identity_take(identity);
	ssize_t n;

	/* behind the change of user, which takes it back */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(127);
	/* end of file: whoever should say it is gone, or wants no program */
	do
		n = read(go, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1 || byte != GO)
		_exit(127);
	for (; env && *env; env++)
		putenv(*env);
	if (!leave(parent))
		_exit(127);
	if (error == 0) {
		execvp(argv[0], argv);
		error = errno;
	}
	if (write(outcome, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* ---- from outside ---- */

int launch_stopped(struct launch *launch, char *const argv[], char *const env[],
		   const struct identity *identity)
{
	const pid_t parent = getpid();
	int go[2], outcome[2], error;

	launch->pid = -1;
	launch_hold_signals();
	if (pipe2(go, O_CLOEXEC) != 0)
		return -errno;
	if (pipe2(outcome, O_CLOEXEC) != 0) {
		error = errno;
		close(go[0]);
		close(go[1]);
		return -error;
	}
	launch->pid = fork();
	error = errno;
	if (launch->pid == 0) {
		close(go[1]);
		close(outcome[0]);
		child(go[0], outcome[1], argv, env, identity, parent);
	}
	close(go[0]);
	close(outcome[1]);
	if (launch->pid < 0) {
		close(go[1]);
		close(outcome[0]);
		return -error;
	}
	launch->go = go[1];
	launch->outcome = outcome[0];
	return 0;
}

static void reap(struct launch *launch)
{
	while (waitpid(launch->pid, NULL, 0) < 0 && errno == EINTR)
		;
	launch->pid = -1;
}

/* The child may have died: SIGPIPE is not ours to get. */
static int send_go(int fd)
{
	const char go = GO;
	struct sigaction pipe_before;
	int rc = 0;

	sigaction(SIGPIPE, &(struct sigaction){ .sa_handler = SIG_IGN }, &pipe_before);
	if (write(fd, &go, 1) != 1)
		rc = -errno;
	sigaction(SIGPIPE, &pipe_before, NULL);
	return rc;
}

int launch_go(struct launch *launch)
{
	ssize_t n;
	int error;

	if (launch_signal()) {
		launch_cancel(launch);
		return -EINTR;
	}
	forward_to = launch->pid;
	/* a child that is gone already is reported by launch_wait */
	(void)send_go(launch->go);
	signals_ours();
	close(launch->go);
	do
		n = read(launch->outcome, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(launch->outcome);
	if (n == 0)
		return 0;
	forward_to = 0;
	signals_back(NULL);
	reap(launch);
	return n == sizeof(error) ? -error : -EIO;
}

void launch_cancel(struct launch *launch)
{
	close(launch->go);
	close(launch->outcome);
	reap(launch);
}

int launch_wait(struct launch *launch, void (*taken)(void), int *status)
{
	siginfo_t end;
	int wstatus, rc = 0;

	/* its number is its own until it is waited for: a signal that comes is still passed on */
	while (waitid(P_PID, (id_t)launch->pid, &end, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			break;
	block_signals();
	forward_to = 0;
	while (waitpid(launch->pid, &wstatus, 0) < 0)
		if (errno != EINTR) {
			rc = -errno;
			break;
		}
	launch->pid = -1;
	signals_back(taken);
	if (rc == 0)
		*status = WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
	return rc;
}

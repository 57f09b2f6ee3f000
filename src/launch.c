/* Starting the traced program. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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

static struct sigaction before[N_SIGNALS];

static void signals_ours(void)
{
	for (size_t i = 0; i < N_SIGNALS; i++) {
		struct sigaction action = { .sa_flags = SA_RESTART };

		action.sa_handler = signals[i].forwarded ? forward : SIG_IGN;
		sigaction(signals[i].sig, &action, &before[i]);
	}
}

static void signals_back(void)
{
	for (size_t i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i].sig, &before[i], NULL);
}

__attribute__((noreturn)) static void child(int go, int outcome, char *const argv[],
					    char *const env[], const struct identity *identity)
{
	char byte;
	int error = -identity_take(identity);

	/* end of file: the caller has closed its end, or is gone; 'x': it wants us to end */
	if (read(go, &byte, 1) != 0)
		_exit(127);
	for (; env && *env; env++)
		putenv(*env);
	if (error == 0) {
		execvp(argv[0], argv);
		error = errno;
	}
	if (write(outcome, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int launch_stopped(struct launch *launch, char *const argv[], char *const env[],
		   const struct identity *identity)
{
	int go[2], outcome[2], error;

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
		child(go[0], outcome[1], argv, env, identity);
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

int launch_go(struct launch *launch)
{
	ssize_t n;
	int error;

	forward_to = launch->pid;
	signals_ours();
	close(launch->go);
	do
		n = read(launch->outcome, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(launch->outcome);
	if (n == 0)
		return 0;
	signals_back();
	reap(launch);
	return n == sizeof(error) ? -error : -EIO;
}

void launch_cancel(struct launch *launch)
{
	/* a byte instead of end of file: see child() */
	if (write(launch->go, "x", 1) < 0)
		kill(launch->pid, SIGKILL);
	close(launch->go);
	close(launch->outcome);
	reap(launch);
}

int launch_wait(struct launch *launch, int *status)
{
	int wstatus, rc = 0;

	while (waitpid(launch->pid, &wstatus, 0) < 0)
		if (errno != EINTR) {
			rc = -errno;
			break;
		}
	forward_to = 0;
	signals_back();
	if (rc == 0)
		*status = WIFSIGNALED(wstatus) ? 128 + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
	return rc;
}

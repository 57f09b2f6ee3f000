/* Cause: a command is stopped (SIGSTOP) or frozen by somebody for a known time, again and again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* Ends with the command; what it was stopped for in all stands on stderr. */
int main(int argc, char **argv)
{
	struct timespec run = { .tv_nsec = 50000000 }, stop = { .tv_nsec = 100000000 };
	pid_t child;
	int status;

	if (argc < 2) {
		fprintf(stderr, "Usage: stops COMMAND [ARGUMENT...]\n"
				"COMMAND runs for 50 ms, is stopped for 100 ms, and so on.\n");
		return 2;
	}
	child = fork();
	if (child == 0) {
		execvp(argv[1], argv + 1);
		err(127, "%s", argv[1]);
	}
	if (child < 0)
		err(1, "fork");
	for (;;) {
		nanosleep(&run, NULL);
		if (waitpid(child, &status, WNOHANG) == child)
			break;
		kill(child, SIGSTOP);
		nanosleep(&stop, NULL);
		kill(child, SIGCONT);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

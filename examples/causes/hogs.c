/* Cause: other threads of the machine compute, and the writer waits for a CPU. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include <signal.h>

/* Runs until it is ended; one process for each hog, so that they show as somebody else. */
int main(int argc, char **argv)
{
	unsigned long n = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	volatile unsigned long counter = 0;

	if (n < 1 || n > 1024) {
		fprintf(stderr, "Usage: hogs NUMBER\n"
				"NUMBER processes compute until they are ended.\n");
		return 2;
	}
	signal(SIGTERM, SIG_DFL);
	for (unsigned long i = 1; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		/* anew, so that a trace meets each of them when it loads its libraries */
		if (pid == 0) {
			execl(argv[0], argv[0], "1", NULL);
			err(1, "%s", argv[0]);
		}
	}
	for (;;)
		counter++;
}

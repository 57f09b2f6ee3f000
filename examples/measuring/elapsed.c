/* Runs a command and writes its time to a file: what tracers add around it is not in it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long time_ns(struct timeval t)
{
	return t.tv_sec * 1000000000LL + t.tv_usec * 1000LL;
}

int main(int argc, char **argv)
{
	struct rusage used;
	long long begin;
	int status;
	FILE *out;
	pid_t child;

	if (argc < 3) {
		fprintf(stderr,
			"Usage: elapsed FILE COMMAND [ARGUMENT...]\n"
			"Writes to FILE: elapsed, user and system time of COMMAND, in ns.\n");
		return 2;
	}
	begin = now_ns();
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "elapsed: %s: %s\n", argv[2], strerror(errno));
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &used) != child) {
		fprintf(stderr, "elapsed: %s: %s\n", argv[2], strerror(errno));
		return 1;
	}
	begin = now_ns() - begin;
	out = fopen(argv[1], "w");
	if (!out ||
	    fprintf(out, "%lld %lld %lld\n", begin, time_ns(used.ru_utime),
		    time_ns(used.ru_stime)) < 0 ||
	    fclose(out) != 0) {
		fprintf(stderr, "elapsed: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

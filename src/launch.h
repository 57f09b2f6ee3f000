/* Starting the traced program so that a tracer can attach before its first instruction. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LAUNCH_H
#define SCI_LAUNCH_H

#include <sys/types.h>

#include "privileges.h"

struct launch {
	pid_t pid;
	int go;	     /* closing it lets the child exec */
	int outcome; /* errno of a failed exec comes out here */
};

/*
 * Forks a child that will exec ARGV (searched in PATH) as IDENTITY, with the variables of ENV
 * ("NAME=VALUE", NULL-terminated, may be NULL) set, but waits for launch_go first. 0 or -errno.
 */
int launch_stopped(struct launch *launch, char *const argv[], char *const env[],
		   const struct identity *identity);

/* Lets the child go on. 0 once the program runs; -errno of exec (the child is then reaped). */
int launch_go(struct launch *launch);

/* Ends a child that must not run after all. */
void launch_cancel(struct launch *launch);

/*
 * Waits for the program to end. SIGINT and SIGQUIT of the terminal reach the program itself and do
 * not end the caller; SIGTERM and SIGHUP are passed on. Gives its exit status as a shell would:
 * 128 + N for signal N.
 */
int launch_wait(struct launch *launch, int *status);

#endif

/* Starting the traced program so that a tracer can attach before its first instruction. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LAUNCH_H
#define SCI_LAUNCH_H

#include <sys/types.h>

#include "privileges.h"

struct launch {
	pid_t pid;   /* -1: none */
	int go;	     /* a byte lets the child exec; closed without one, it ends */
	int outcome; /* errno of a failed exec comes out here */
};

/*
 * From here on SIGINT, SIGQUIT, SIGTERM and SIGHUP wait until launch_go, or launch_signal reports
 * them. Before the first thread, and before anything is made that a signal should not leave behind.
 */
void launch_hold_signals(void);

/* The signal that has come meanwhile and would have ended this process, 0: none. */
int launch_signal(void);

/*
 * Forks a child that will exec ARGV (searched in PATH) as IDENTITY, with the variables of ENV
 * ("NAME=VALUE", NULL-terminated, may be NULL) set, but waits for launch_go first. It begins if it
 * gets that word and in no other case: where this process is killed, it ends. What it gets of
 * signals (blocked, ignored, that of its parent's death) is what this process was started with. 0
 * or -errno.
 */
int launch_stopped(struct launch *launch, char *const argv[], char *const env[],
		   const struct identity *identity);

/*
 * Lets the child go on. 0 once the program runs; -errno of exec, or -EINTR where a signal has come
 * before (launch_signal): the child is then gone.
 */
int launch_go(struct launch *launch);

/* Ends a child that must not run after all. */
void launch_cancel(struct launch *launch);

/*
 * Waits for the program to end. SIGINT and SIGQUIT of the terminal reach the program itself and do
 * not end the caller; SIGTERM and SIGHUP are passed on. Gives its exit status as a shell would:
 * 128 + N for signal N. From then on these signals are as before launch_hold_signals, but for what
 * TAKEN (may be NULL) does with them, which is called while none of them comes.
 */
int launch_wait(struct launch *launch, void (*taken)(void), int *status);

/* Ends this process by signal SIG, as it would have without launch_hold_signals. */
void launch_end_by(int sig);

#endif

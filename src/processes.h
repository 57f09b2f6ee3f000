/* Running processes to trace, as --pid names them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PROCESSES_H
#define SCI_PROCESSES_H

#include "options.h"

struct processes {
	pid_t *pids;
	int *pidfds; /* keep the numbers from becoming other processes' */
	size_t n;
};

/*
 * For the row of --pid, which may be given more than once, and with more than one number; its `at`
 * is that of the struct.
 */
void processes_add(const struct option_given *given);

/* One that is there already is not added again. 0 or -ENOMEM, not reported. */
int processes_add_one(struct processes *processes, pid_t pid);

/* Once all are known. 0 or -errno, reported. */
int processes_open(struct processes *processes);

/*
 * Refuses a process that there is not, a thread, and what the caller may not look into. 0 or
 * -errno, reported.
 */
int processes_check(const struct processes *processes);

void processes_free(struct processes *processes);

#endif

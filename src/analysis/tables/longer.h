/* How much longer than in the baseline threads were outside of their I/O calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LONGER_H
#define SCI_LONGER_H

#include "analysis.h"

/* Of all of A's threads. *OUT is the caller's, for baseline_times_free(). 0 or -ENOMEM. */
int baseline_times_new(const struct analysis *a, struct baseline_times *out);
void baseline_times_free(struct baseline_times *times);

/*
 * A thread that has less of a CPU, of a cache or of memory than alone waits in no call for it. Each
 * thread that did the I/O is compared with the one of the same name that made as many calls in the
 * baseline: how many faults it has depends on what is in memory.
 */
struct longer {
	uint64_t more_ns; /* 0: not longer by much, or the runs differ in what they do */
	uint64_t alone_ns, outside_ns; /* without sleep, but with futex */
	uint64_t ready_ns;	       /* of more_ns: ready without a CPU */
};

/* MORE_NS: of each of A's threads; may be NULL. 0 or -ENOMEM. */
int longer_than_alone(const struct analysis *a, struct longer *out, uint64_t *more_ns);

/*
 * The process with most of the I/O, whatever its threads did: it may have others that compute for
 * it, or be made of threads that share the work in another way each time.
 */
struct longer_process {
	char name[64];		   /* its program's */
	uint64_t now_ns, alone_ns; /* its longest lived thread */
	int64_t saved_ns;	   /* what its critical path lost */
};

/* False: no such process in both, or it took no longer by much than what it lost says. */
bool process_longer_than_alone(const struct analysis *a, struct longer_process *out);

#endif

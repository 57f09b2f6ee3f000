/* A program locks itself in (seccomp and its like): the tracer in it must know beforehand. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_CONFINE_H
#define POSIXIO_CONFINE_H

#include <stdbool.h>
#include <stdint.h>

/* One lock, from before the call that makes it until after. */
struct confine {
	uint64_t denied; /* to the calling thread, see own-call.h */
	bool all;	 /* to every thread of the process */
	bool silent;	 /* nothing more can be stamped: the thread's calls are counted */
	uint64_t before; /* as they were, should the lock fail */
	struct thread *self;
};

struct thread;

/* The calling thread is about to enter seccomp's strict mode. */
void confine_strict(struct confine *c);

/* It is about to get the filter at PROGRAM (struct sock_fprog), with ALL others of the process. */
void confine_filter(struct confine *c, const void *program, bool all);

/* Its TSC is about to be taken. */
void confine_clock(struct confine *c);

/* It is about to lose the way to the spool's files by their paths. */
void confine_paths(void);

/* What was announced has been DONE, or has failed. */
void confine_end(const struct confine *c, bool done);

#endif

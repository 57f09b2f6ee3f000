/* Waits for tasks the kernel named, and chains of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_WAITS_H
#define SCI_WAITS_H

#include <stdbool.h>
#include <stdint.h>

struct sweep;
struct sweep_thread;

/* The wait under way of a thread. */
struct kernel_wait {
	bool under_way;
	uint64_t culprit; /* whom it waits for */
	uint64_t charged_until_ns;
	uint32_t *waiters; /* threads that wait for this one */
	uint32_t n_waiters, room;
	uint32_t place; /* its index among the waiters of the thread */
	uint64_t mark;	/* last walk that was here */
};

/*
 * L begins to wait for thread TID at NOW, or ends its wait: the time since then is charged to the
 * end of the chain of waits (Zhou et al., wPerf, OSDI'18). Without memory: s->rc.
 */
void wait_begin(struct sweep *s, struct sweep_thread *l, uint32_t tid, uint64_t now);
void wait_end(struct sweep *s, struct sweep_thread *l, uint64_t now);

#endif

/* Waits for somebody the kernel named: the holder of a lock, the task that had the CPU. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>

#define CULPRIT_NONE UINT64_MAX

static struct sweep_thread *holder_of(struct sweep *s, uint64_t culprit)
{
	uint32_t thread = culprit < s->engine->defs->n_locations ? s->plan->thread_number[culprit]
								 : THREAD_NONE;

	return thread == THREAD_NONE ? NULL : &s->threads[thread];
}

/*
 * The end of the chain of waits that begins at L, or L if it does not wait: a waiting thread passes
 * the blame on (Zhou et al., wPerf, OSDI'18). CULPRIT_NONE: the chain is a circle.
 */
static uint64_t end_of_chain(struct sweep *s, struct sweep_thread *l)
{
	uint64_t mark = ++s->mark, culprit = l->location;

	while (l && l->wait.under_way) {
		if (l->wait.mark == mark)
			return CULPRIT_NONE;
		l->wait.mark = mark;
		culprit = l->wait.culprit;
		l = holder_of(s, culprit);
	}
	return culprit;
}

/* Charges L's wait up to NOW to END, the end of its chain, or else to the one it waits for. */
static void charge(struct sweep *s, struct sweep_thread *l, uint64_t end, uint64_t now)
{
	enum cell cell = l->op.stretches[l->next - 1].cell;

	if (l->lost_cells >> cell & 1)
		weight_name(s, l, cell, end == CULPRIT_NONE ? l->wait.culprit : end,
			    now - l->wait.charged_until_ns);
	l->wait.charged_until_ns = now;
}

/*
 * L is about to begin or end a wait: threads that wait for it, directly or through others, are
 * charged up to now. All have the same END. A chain may be as long as the trace has threads, so the
 * walk back uses whom each waits for and its place among the waiters, not recursion.
 */
static void charge_waiters(struct sweep *s, struct sweep_thread *l, uint64_t end, uint64_t now)
{
	struct sweep_thread *holder = l;
	uint32_t i = 0;

	for (;;) {
		if (i < holder->wait.n_waiters) {
			struct sweep_thread *waiter = &s->threads[holder->wait.waiters[i++]];

			if (waiter->wait.charged_until_ns == now)
				continue; /* go on with those that wait for it */
			charge(s, waiter, end, now);
			if (waiter == l)
				continue; /* a circle: the waiters of L are being charged */
			holder = waiter;
			i = 0;
		} else if (holder == l) {
			return;
		} else {
			i = holder->wait.place + 1;
			holder = holder_of(s, holder->wait.culprit);
		}
	}
}

static void waiter_add(struct sweep *s, struct sweep_thread *holder, struct sweep_thread *l)
{
	if (holder->wait.n_waiters == holder->wait.room) {
		uint32_t room = holder->wait.room ? 2 * holder->wait.room : 4;
		uint32_t *waiters = reallocarray(holder->wait.waiters, room, sizeof(*waiters));

		if (!waiters) {
			s->rc = -ENOMEM;
			return;
		}
		holder->wait.waiters = waiters;
		holder->wait.room = room;
	}
	l->wait.place = holder->wait.n_waiters;
	holder->wait.waiters[holder->wait.n_waiters++] = (uint32_t)(l - s->threads);
}

static void waiter_remove(struct sweep *s, struct sweep_thread *holder, struct sweep_thread *l)
{
	uint32_t last;

	if (s->rc)
		return;
	last = holder->wait.waiters[--holder->wait.n_waiters];
	holder->wait.waiters[l->wait.place] = last;
	s->threads[last].wait.place = l->wait.place;
}

void wait_begin(struct sweep *s, struct sweep_thread *l, uint32_t tid, uint64_t now)
{
	uint32_t location = sweep_location(s->plan, l->location, tid, now);
	struct sweep_thread *holder;

	if (l->wait.n_waiters)
		charge_waiters(s, l, l->location, now);
	l->wait.under_way = true;
	l->wait.culprit = location == ETA_NONE ? CULPRIT_FOREIGN | tid : location;
	l->wait.charged_until_ns = now;
	holder = holder_of(s, l->wait.culprit);
	if (holder)
		waiter_add(s, holder, l);
}

void wait_end(struct sweep *s, struct sweep_thread *l, uint64_t now)
{
	struct sweep_thread *holder = holder_of(s, l->wait.culprit);
	uint64_t end = end_of_chain(s, l);

	charge_waiters(s, l, end, now);
	charge(s, l, end, now);
	l->wait.under_way = false;
	if (holder)
		waiter_remove(s, holder, l);
}

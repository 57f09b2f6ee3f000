/* Waits for somebody the kernel named: the holder of a lock, the task that had the CPU. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>

static struct sweep_thread *holder_of(struct sweep *s, uint64_t culprit)
{
	uint32_t thread = culprit < s->engine->defs->n_locations ? s->plan->thread_number[culprit]
								 : THREAD_NONE;

	return thread == THREAD_NONE ? NULL : &s->threads[thread];
}

/*
 * Who is at the end of the chain: one that waits itself passes the blame on to whom it waits for
 * (Zhou et al., wPerf, OSDI'18). A chain that comes back is cut: the first one has it.
 */
static uint64_t end_of_chain(struct sweep *s, struct sweep_thread *l)
{
	uint64_t mark = ++s->mark, culprit = l->wait.culprit;
	struct sweep_thread *next;

	l->wait.mark = mark;
	while ((next = holder_of(s, culprit)) && next->wait.under_way) {
		if (next->wait.mark == mark)
			return l->wait.culprit;
		next->wait.mark = mark;
		culprit = next->wait.culprit;
	}
	return culprit;
}

/* Charges L's wait up to NOW to whom it has been for until then. */
static void charge(struct sweep *s, struct sweep_thread *l, uint64_t now)
{
	enum cell cell = l->op.stretches[l->next - 1].cell;

	if (l->lost_cells >> cell & 1)
		weight_name(s, l, cell, end_of_chain(s, l), now - l->wait.charged_until_ns);
	l->wait.charged_until_ns = now;
}

/*
 * L is about to begin or end a wait: those that wait for it, also through others, are charged for
 * the time that this had not changed yet. MARK keeps the walk from going around.
 */
static void charge_waiters(struct sweep *s, struct sweep_thread *l, uint64_t now)
{
	for (uint32_t i = 0; i < l->wait.n_waiters; i++) {
		struct sweep_thread *waiter = &s->threads[l->wait.waiters[i]];

		if (waiter->wait.charged_until_ns == now)
			continue; /* with all that wait for it */
		charge(s, waiter, now);
		charge_waiters(s, waiter, now);
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

	charge_waiters(s, l, now);
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

	charge_waiters(s, l, now);
	charge(s, l, now);
	l->wait.under_way = false;
	if (holder)
		waiter_remove(s, holder, l);
}

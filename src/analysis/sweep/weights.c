/* Weights: how long each of the others was in the way of an operation. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- those the kernel named: few, and they may be tasks that are not in the trace ---- */

void weight_name(struct sweep *s, struct sweep_thread *l, enum cell cell, uint64_t culprit,
		 uint64_t ns)
{
	if (ns && sums_add(&l->weights.named, (uint64_t)cell << CULPRIT_BITS | culprit, ns, ns) < 0)
		s->rc = -ENOMEM;
}

/* ---- those that were there: threads, and maybe all of them for each operation ---- */

static uint32_t *slot_of(struct sweep *s, const struct weight *w)
{
	return &s->slots[(size_t)(w->kind - N_CELLS) * s->plan->n_threads + w->thread];
}

/*
 * Weights are appended, and merged to one per kind and thread before use or when the list is full.
 * The list then gets twice the room, so that adding costs constant time.
 */
static void merge_equal(struct sweep *s, struct sweep_thread *l)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->weights.n; i++) {
		uint32_t *slot = slot_of(s, &l->weights.list[i]);

		if (*slot) {
			l->weights.list[*slot - 1].ns += l->weights.list[i].ns;
			continue;
		}
		l->weights.list[n++] = l->weights.list[i];
		*slot = n;
	}
	for (uint32_t i = 0; i < n; i++)
		*slot_of(s, &l->weights.list[i]) = 0;
	l->weights.n = n;
}

/* The number of threads above which its row cannot have all. */
static uint32_t crowd_of(const struct sweep *s)
{
	return s->engine->blame_bound.keep ? 2 * s->engine->blame_bound.keep : UINT32_MAX;
}

/* Whether a crowd is noticed early or late, the sums are the same. */
void weights_crowd(struct sweep *s, struct sweep_thread *l)
{
	uint32_t n = 0;

	if (l->weights.crowded)
		return;
	l->weights.crowded = true;
	for (uint32_t i = 0; i < l->weights.n; i++) {
		if (thread_is_kept(s, &s->threads[l->weights.list[i].thread]))
			l->weights.list[n++] = l->weights.list[i];
		else
			l->weights.others_ns[l->weights.list[i].kind - N_CELLS] +=
				l->weights.list[i].ns;
	}
	l->weights.n = n;
}

void weights_merge(struct sweep *s, struct sweep_thread *l)
{
	if (!l->weights.distinct)
		merge_equal(s, l);
	if (l->weights.n > crowd_of(s))
		weights_crowd(s, l);
}

int weights_reserve(struct sweep *s, struct sweep_thread *l, uint32_t n)
{
	uint32_t room = l->weights.room ? l->weights.room : 16;
	struct weight *weights;

	if (l->weights.n + n <= l->weights.room)
		return 0;
	if (!s->slots)
		s->slots = calloc((size_t)s->plan->n_threads * (N_WEIGHTS - N_CELLS),
				  sizeof(*s->slots));
	if (!s->slots)
		return -ENOMEM;
	weights_merge(s, l);
	while (room < 2 * (l->weights.n + n))
		room *= 2;
	if (room <= l->weights.room)
		return 0;
	weights = reallocarray(l->weights.list, room, sizeof(*weights));
	if (!weights)
		return -ENOMEM;
	l->weights.list = weights;
	l->weights.room = room;
	return 0;
}

void weight_add(struct sweep *s, struct sweep_thread *l, enum weight_kind kind, uint32_t other,
		uint64_t ns)
{
	if (ns == 0)
		return;
	if (weights_reserve(s, l, 1) < 0) {
		s->rc = -ENOMEM;
		return;
	}
	if (l->weights.crowded && !thread_is_kept(s, &s->threads[other])) {
		l->weights.others_ns[kind - N_CELLS] += ns;
		return;
	}
	l->weights.distinct = l->weights.n == 0;
	l->weights.list[l->weights.n++] =
		(struct weight){ .ns = ns, .thread = other, .kind = (uint32_t)kind };
}

/* Many threads overlap often and shortly on a file: a place for each takes less than a list. */
void weight_add_file(struct sweep *s, struct sweep_thread *l, const struct sweep_thread *other,
		     uint64_t ns)
{
	uint32_t n = s->plan->n_threads, number = (uint32_t)(other - s->threads);

	if (s->plan->n_all > FEW_THREADS) {
		weight_add(s, l, WEIGHT_FILE, number, ns);
		return;
	}
	if (!l->weights.file_ns) {
		l->weights.file_ns = calloc(n, sizeof(*l->weights.file_ns));
		l->weights.file_threads = calloc(n, sizeof(*l->weights.file_threads));
	}
	if (!l->weights.file_ns || !l->weights.file_threads) {
		s->rc = -ENOMEM;
		return;
	}
	if (ns && l->weights.file_ns[number] == 0)
		l->weights.file_threads[l->weights.n_file_threads++] = number;
	l->weights.file_ns[number] += ns;
}

void weight_add_company(struct sweep *s, struct sweep_thread *l, enum weight_kind kind,
			uint32_t location, uint64_t ns)
{
	if (location == ETA_NONE)
		l->weights.others_ns[kind - N_CELLS] += ns;
	l->weights.has_others |= location == ETA_NONE;
	if (location != ETA_NONE &&
	    sums_add(&l->weights.company, (uint64_t)kind << CULPRIT_BITS | location, ns, 0) < 0)
		s->rc = -ENOMEM;
}

void weights_clear(struct sweep_thread *l)
{
	sums_clear(&l->weights.named);
	sums_clear(&l->weights.company);
	l->weights.n = 0;
	if (l->weights.crowded || l->weights.has_others)
		memset(l->weights.others_ns, 0, sizeof(l->weights.others_ns));
	l->weights.crowded = l->weights.has_others = false;
	while (l->weights.n_file_threads > 0)
		l->weights.file_ns[l->weights.file_threads[--l->weights.n_file_threads]] = 0;
}

void weights_free(struct sweep_thread *l)
{
	sums_free(&l->weights.named);
	sums_free(&l->weights.company);
	free(l->weights.list);
	free(l->weights.file_ns);
	free(l->weights.file_threads);
}

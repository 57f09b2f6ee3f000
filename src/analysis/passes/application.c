/* The application: its threads in their order, the one that stands for it, the sums of all. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "src/analysis/tables/analysis.h"

static double ratio(int64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static bool by_time_lost(const struct analysis *a)
{
	return a->options.sci == SCI_DEFAULT && !a->options.version_1;
}

/* Threads without operations come last, then kernel threads, then descending score. */
static int by_score(const void *a, const void *b)
{
	const struct thread_score *x = a, *y = b;

	if (!x->operations != !y->operations)
		return x->operations ? -1 : 1;
	if (x->scored != y->scored)
		return x->scored ? -1 : 1;
	if (x->sci != y->sci)
		return x->sci > y->sci ? -1 : 1;
	return x->location < y->location ? -1 : 1;
}

/* By time lost: a large part of a short lifetime is less than a small part of a long one. */
static int by_counted(const void *a, const void *b)
{
	const struct thread_score *x = a, *y = b;
	int64_t x_ns = slowdown_counted(&x->slowdown, SCI_DEFAULT);
	int64_t y_ns = slowdown_counted(&y->slowdown, SCI_DEFAULT);

	if (!x->operations == !y->operations && x->scored == y->scored && x_ns != y_ns)
		return x_ns > y_ns ? -1 : 1;
	return by_score(a, b);
}

static uint32_t find_max(const struct analysis *a)
{
	uint32_t max = ETA_NONE;

	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];

		if (t->scored && t->operations && (max == ETA_NONE || t->sci > a->threads[max].sci))
			max = i;
	}
	return max;
}

/*
 * Of many that lost SUM_NS together, one with a small part of it stands for the program only if it
 * was slowed about as much: that a step of 40 ms of a build lost most of its life is no verdict on
 * the build.
 */
static bool stands_for_all(const struct analysis *a, const struct thread_score *t, int64_t sum_ns)
{
	return 10 * slowdown_counted(&t->slowdown, a->options.sci) >= sum_ns ||
	       t->sci <= 5 * ratio(sum_ns, a->duration_ns);
}

/*
 * The thread that lost most. If what it lost is a negligible part of its long lifetime, another one
 * stands for the program, unless that one lost little in comparison. If all threads together lost
 * little of the time, it is the thread that was longest in I/O: that a thread of 2 ms lost 1 ms of
 * a second is no verdict on the program.
 */
static uint32_t find_headline(const struct analysis *a)
{
	uint32_t most = ETA_NONE, first = ETA_NONE, busiest = ETA_NONE;
	int64_t sum = 0;

	if (!by_time_lost(a))
		return a->max_thread;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];

		if (!t->scored || !t->operations)
			continue;
		if (most == ETA_NONE)
			most = i;
		if (first == ETA_NONE && t->verdict.share > 0)
			first = i;
		if (busiest == ETA_NONE || t->io_ns > a->threads[busiest].io_ns)
			busiest = i;
		sum += slowdown_counted(&t->slowdown, a->options.sci);
	}
	if (ratio(sum, a->duration_ns) < VERDICT_NONE_BELOW)
		return busiest;
	if (most != ETA_NONE && !stands_for_all(a, &a->threads[most], sum))
		return busiest;
	if (first != ETA_NONE &&
	    slowdown_counted(&a->threads[first].slowdown, a->options.sci) >=
		    slowdown_counted(&a->threads[most].slowdown, a->options.sci) / 10)
		return first;
	return most;
}

void analysis_rank(struct analysis *a)
{
	const struct slowdown *s = &a->slowdown;
	int64_t cells[N_CELLS];
	double sci = 0, low = 0;

	if (a->n_threads)
		qsort(a->threads, a->n_threads, sizeof(*a->threads),
		      by_time_lost(a) ? by_counted : by_score);
	a->max_thread = find_max(a);
	a->headline = find_headline(a);
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];

		a->operations += t->operations;
		a->truncated += t->truncated;
		a->low_confidence += t->low_confidence;
		if (!t->scored)
			continue;
		a->io_ns += t->io_ns;
		a->lifetime_ns += t->lifetime_ns;
		a->alike_ns += t->alike_ns;
		a->undecided_ns += t->undecided_ns;
		slowdown_add(&a->slowdown, &t->slowdown);
		for (int c = 0; c < N_CELLS; c++)
			a->time_ns[c] += t->time_ns[c];
	}
	if (a->max_thread != ETA_NONE) {
		a->sci_max = a->threads[a->max_thread].sci;
		sci = a->threads[a->headline].sci;
		low = a->threads[a->headline].sure;
	}
	a->slowed_alike = 2 * ratio(a->alike_ns, a->io_ns) >= 1 &&
			  ratio(a->alike_ns, a->lifetime_ns) >= VERDICT_NONE_BELOW;
	a->sci_total = ratio(slowdown_counted(s, a->options.sci), a->lifetime_ns);
	slowdown_counted_cells(s, a->options.sci, cells);
	a->verdict = verdict_of(cells, sci, low, analysis_verdict_options(a));
}

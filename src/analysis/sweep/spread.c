/* What an operation lost, spread over the bins of time that it lies in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>

#include "loss.h"

/* The part of AMOUNT, spread evenly over NS, that lies before AT: whole, so that parts sum up. */
static int64_t part_before(int64_t amount, uint64_t at, uint64_t ns)
{
	/* the division takes long, and mostly there is nothing */
	return amount == 0 || at == 0 || ns == 0
		       ? 0
		       : (int64_t)((__int128)amount * (__int128)at / (__int128)ns);
}

static uint64_t bin_edge(const struct engine *e, uint32_t bin)
{
	return e->first_ns + analysis_bin_begin(e->last_ns - e->first_ns, bin, e->options.n_bins);
}

static uint32_t bin_at(const struct engine *e, uint64_t ns)
{
	uint64_t lifetime = e->last_ns - e->first_ns;
	uint32_t bin = lifetime ? (uint32_t)((unsigned __int128)(ns - e->first_ns) *
					     e->options.n_bins / lifetime)
				: 0;

	return bin < e->options.n_bins ? bin : e->options.n_bins - 1;
}

/* The part of AMOUNT from FROM to TO. */
static int64_t part_of(int64_t amount, uint64_t from, uint64_t to, uint64_t ns)
{
	return (to == ns ? amount : part_before(amount, to, ns)) - part_before(amount, from, ns);
}

/* SPLIT: the levels divide what others caused; else all that was lost. */
static void add_to_bin(struct bin *b, const struct bin *whole, uint64_t from, uint64_t to,
		       uint64_t ns, bool split)
{
	int64_t sum = 0;

	for (int level = 0; level < ETA_N_LEVELS; level++) {
		int64_t part = part_of(whole->level_ns[level], from, to, ns);

		b->level_ns[level] += part;
		sum += part;
	}
	b->io_ns += to - from;
	b->lost_ns += split ? part_of(whole->lost_ns, from, to, ns) : sum;
	b->interference_ns += split ? sum : 0;
	b->limit_ns += split ? part_of(whole->limit_ns, from, to, ns) : 0;
}

/* WHOLE, of an operation from BEGIN to END, bin by bin. */
static void divide(const struct engine *e, struct location_result *r, const struct bin *whole,
		   uint64_t begin, uint64_t end)
{
	uint32_t bin = bin_at(e, begin);

	r->last_bin = &r->bins[bin];
	r->last_bin_ns[0] = bin_edge(e, bin);
	r->last_bin_ns[1] = bin_edge(e, bin + 1);
	r->bins[bin].operations++;
	for (; bin < e->options.n_bins; bin++) {
		uint64_t from = bin_edge(e, bin), to = bin_edge(e, bin + 1);

		from = from > begin ? from : begin;
		to = to < end && bin + 1 < e->options.n_bins ? to : end;
		add_to_bin(&r->bins[bin], whole, from - begin, to - begin, end - begin, e->split);
		if (to == end)
			break;
	}
}

/* The loss of an operation that lies in B alone. */
static void add_whole(struct bin *b, const struct engine *e, const struct loss *loss, uint64_t ns)
{
	uint64_t cells = loss->cells;

	b->operations++;
	b->io_ns += ns;
	while (cells) {
		enum cell c = cell_next(&cells);

		b->lost_ns += loss->ns[c];
		b->level_ns[cell_table[c].level] +=
			e->split ? loss->interference_ns[c] : loss->ns[c];
		if (e->split) {
			b->interference_ns += loss->interference_ns[c];
			b->limit_ns += loss->limited >> c & 1 ? loss->ns[c] : 0;
		}
	}
}

int loss_spread(const struct engine *e, struct sweep_thread *l, const struct loss *loss)
{
	uint64_t begin = l->op.begin_ns, end = l->op.end_ns;
	struct bin whole = { 0 };

	if (!l->result->bins)
		l->result->bins = calloc(e->options.n_bins, sizeof(*l->result->bins));
	if (!l->result->bins)
		return -ENOMEM;
	if (l->result->last_bin && begin > l->result->last_bin_ns[0] &&
	    begin < l->result->last_bin_ns[1] && end <= l->result->last_bin_ns[1]) {
		add_whole(l->result->last_bin, e, loss, end - begin);
	} else {
		add_whole(&whole, e, loss, end - begin);
		divide(e, l->result, &whole, begin, end);
	}
	return 0;
}

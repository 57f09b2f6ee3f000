/* What operations lost against their references, and sums of that. All are whole nanoseconds and
 * exact. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "slowdown.h"

#include "classes.h"

/* What n operations with time CELL_NS lost against the reference, the cell C alone. */
static int64_t lost_in(uint64_t cell_ns, uint64_t n, const struct reference *r, int c)
{
	return (int64_t)(cell_ns - n * r->cell_ns[c]);
}

/* K: which reference it is. */
static int64_t contended_in(const struct tally *t, const struct reference *r, int k, int c)
{
	const struct contended_cell *in =
		t->contended ? contended_at(t->contended, (enum cell)c) : NULL;

	if (cell_table[c].group == GROUP_NATURE)
		return lost_in(t->cell_ns[c], t->n, r, c) - (in ? (int64_t)in->ns : 0);
	return in ? lost_in(in->ns, in->n, r, c) - (int64_t)in->left[k] : 0;
}

/* What limits set on it took: waits at them, and the work beside. */
static int64_t limit_in(const struct tally *t, const struct reference *r, int c)
{
	const struct contended_cell *in =
		t->contended ? contended_at(t->contended, (enum cell)c) : NULL;

	if (cell_table[c].group == GROUP_LIMIT)
		return lost_in(t->cell_ns[c], t->n, r, c);
	return in ? lost_in(in->limited_ns, in->n_limited, r, c) : 0;
}

int64_t tally_counted(const struct tally *t, const struct class_references *refs, int k)
{
	const struct reference *r = refs->by[k];
	uint64_t cells = r->known ? t->cells | r->cells : 0;
	int64_t sum = 0;

	while (cells) {
		enum cell c = cell_next(&cells);

		sum += contended_in(t, r, k, c) + limit_in(t, r, c);
	}
	return sum;
}

int64_t tally_alike(const struct tally *t, const struct reference *r)
{
	uint64_t cells = t->contended && r->known ? cells_of_work_waits() : 0;
	int64_t sum = 0;

	cells &= t->cells | r->cells;
	while (cells) {
		enum cell c = cell_next(&cells);
		const struct contended_cell *in = contended_at(t->contended, c);

		sum += (in ? (int64_t)in->ns : 0) - contended_in(t, r, BY_HEADLINE, c);
	}
	return sum;
}

void slowdown_add_tally(struct slowdown *s, const struct tally *t,
			const struct class_references *refs)
{
	const struct reference *r = refs->by[BY_HEADLINE];

	uint64_t cells = t->cells | r->cells;

	if (!r->known)
		return;
	while (cells) {
		enum cell c = cell_next(&cells);
		int64_t lost = lost_in(t->cell_ns[c], t->n, r, c);
		int64_t contended = contended_in(t, r, BY_HEADLINE, c);
		int64_t limit = limit_in(t, r, c);

		s->cell_ns[c] += lost;
		s->lost_ns += lost;
		s->interference_cell_ns[c] += contended;
		s->interference_ns += contended;
		s->limit_cell_ns[c] += limit;
		s->limit_ns += limit;
	}
	s->path_ns += (int64_t)t->n * refs->path_ns;
}

void slowdown_add(struct slowdown *sum, const struct slowdown *more)
{
	sum->lost_ns += more->lost_ns;
	sum->interference_ns += more->interference_ns;
	sum->limit_ns += more->limit_ns;
	sum->path_ns += more->path_ns;
	for (int c = 0; c < N_CELLS; c++) {
		sum->cell_ns[c] += more->cell_ns[c];
		sum->interference_cell_ns[c] += more->interference_cell_ns[c];
		sum->limit_cell_ns[c] += more->limit_cell_ns[c];
	}
}

int slowdown_order(const struct slowdown *x, const struct slowdown *y)
{
	if (x->interference_ns != y->interference_ns)
		return x->interference_ns > y->interference_ns ? -1 : 1;
	return (x->lost_ns < y->lost_ns) - (x->lost_ns > y->lost_ns);
}

int64_t slowdown_counted(const struct slowdown *s, enum sci_kind sci)
{
	return sci == SCI_PAPER ? s->lost_ns : s->interference_ns + s->limit_ns;
}

void slowdown_counted_cells(const struct slowdown *s, enum sci_kind sci, int64_t ns[N_CELLS])
{
	for (int c = 0; c < N_CELLS; c++)
		ns[c] = sci == SCI_PAPER ? s->cell_ns[c] : slowdown_taken(s, (enum cell)c);
}

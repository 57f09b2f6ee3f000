/* An operation of the sweep is over: its slowdown goes where it belongs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share.h"

/* What an operation lost against the reference, by cell. */
struct loss {
	uint64_t cells; /* set of those below */
	int64_t ns[N_CELLS];
	int64_t contended_ns[N_CELLS]; /* of it, what others caused */
};

static const struct class_references *references_of(const struct sweep *s, const struct lane *l)
{
	return &s->engine->references[l->result->tallies[l->op.tally].class];
}

static uint64_t time_in(const struct operation_record *op, enum cell c)
{
	return op->cells >> c & 1 ? op->ns[c] : 0;
}

static void loss_of(const struct operation_record *op, const struct reference *r, struct loss *loss)
{
	uint64_t cells = op->cells | r->cells;

	loss->cells = cells;
	while (cells) {
		enum cell c = cell_next(&cells);

		loss->ns[c] = (int64_t)(time_in(op, c) - r->cell_ns[c]);
		/* waiting for others is contended by nature; the rest is found out below */
		loss->contended_ns[c] = cell_table[c].group == GROUP_NATURE ? loss->ns[c] : 0;
	}
}

uint64_t settle_lost_cells(const struct sweep *s, const struct lane *l)
{
	const struct reference *r;
	uint64_t cells = l->op.cells, lost = 0;

	if (s->plan->solo || !s->engine->split)
		return 0;
	r = references_of(s, l)->by[BY_HEADLINE];
	while (r->known && cells) {
		enum cell c = cell_next(&cells);

		lost |= (uint64_t)(l->op.ns[c] > r->cell_ns[c]) << c;
	}
	return lost;
}

/* ---- what others caused ---- */

/* Contended time by cell, from the stretches; the set of cells that have any. */
static uint64_t contended_time(const struct lane *l, uint64_t ns[N_CELLS])
{
	uint64_t cells = 0;

	for (uint32_t i = 0; i < l->op.n_stretches; i++) {
		unsigned c = l->op.stretches[i].cell;

		if (!l->contended[i])
			continue;
		if (!(cells >> c & 1))
			ns[c] = 0;
		ns[c] += l->op.stretches[i].ns;
		cells |= 1ull << c;
	}
	return cells;
}

/* What a reference's time has left after so much time without anybody else. */
static uint64_t left_of(uint64_t reference_ns, uint64_t alone_ns)
{
	return reference_ns > alone_ns ? reference_ns - alone_ns : 0;
}

static int note_contended(const struct sweep *s, struct lane *l, struct loss *loss)
{
	const struct class_references *refs = references_of(s, l);
	struct tally *t = &l->result->tallies[l->op.tally];
	uint64_t ns[N_CELLS], cells = contended_time(l, ns);

	if (cells && !t->contended)
		t->contended = calloc(1, sizeof(*t->contended));
	if (cells && !t->contended)
		return -ENOMEM;
	while (cells) {
		enum cell c = cell_next(&cells);

		t->contended->cell_ns[c] += ns[c];
		loss->contended_ns[c] = loss->ns[c];
		if (ns[c] == l->op.ns[c]) {
			t->contended->n[c]++;
			continue;
		}
		if (!t->contended->left)
			t->contended->left = calloc(N_REFERENCES, sizeof(*t->contended->left));
		if (!t->contended->left)
			return -ENOMEM;
		for (int k = 0; k < N_REFERENCES; k++)
			t->contended->left[k][c] +=
				left_of(refs->by[k]->cell_ns[c], l->op.ns[c] - ns[c]);
		loss->contended_ns[c] = (int64_t)(ns[c] - left_of(refs->by[BY_HEADLINE]->cell_ns[c],
								  l->op.ns[c] - ns[c]));
	}
	return 0;
}

/* ---- who they were ---- */

struct order {
	const struct eta_defs *defs;
};

/* Culprits by thread id, so that the order of locations does not matter. */
static uint64_t rank_of(const struct eta_defs *defs, uint64_t culprit)
{
	if (culprit < defs->n_locations)
		return (uint64_t)defs->locations[culprit].tid << 32 | culprit;
	return culprit << 32;
}

static int by_kind_and_rank(const void *a, const void *b, void *arg)
{
	const struct sum *x = a, *y = b;
	const struct order *order = arg;
	uint64_t mask = (1ull << CULPRIT_BITS) - 1, left, right;

	if (x->key >> CULPRIT_BITS != y->key >> CULPRIT_BITS)
		return x->key >> CULPRIT_BITS < y->key >> CULPRIT_BITS ? -1 : 1;
	left = rank_of(order->defs, x->key & mask);
	right = rank_of(order->defs, y->key & mask);
	return (left > right) - (left < right);
}

static int sort_weights(struct sweep *s, const struct lane *l)
{
	struct order order = { s->engine->defs };
	size_t n = l->weights.n;

	if (n > s->n_scratch) {
		free(s->sorted);
		free(s->shares);
		free(s->parts);
		s->n_scratch = 2 * n;
		s->sorted = calloc(s->n_scratch, sizeof(*s->sorted));
		s->shares = calloc(s->n_scratch, sizeof(*s->shares));
		s->parts = calloc(s->n_scratch, sizeof(*s->parts));
		if (!s->sorted || !s->shares || !s->parts) {
			s->n_scratch = 0;
			return -ENOMEM;
		}
	}
	if (n)
		memcpy(s->sorted, l->weights.list, n * sizeof(*s->sorted));
	if (n > 1)
		qsort_r(s->sorted, n, sizeof(*s->sorted), by_kind_and_rank, &order);
	return 0;
}

/* The culprits of KIND: where they begin, how many, and their weights' sum. */
static size_t culprits(const struct sweep *s, const struct lane *l, unsigned kind, size_t *first,
		       uint64_t *sum)
{
	size_t n = 0;

	*sum = 0;
	for (*first = 0; *first < l->weights.n; ++*first)
		if (s->sorted[*first].key >> CULPRIT_BITS == kind)
			break;
	while (*first + n < l->weights.n && s->sorted[*first + n].key >> CULPRIT_BITS == kind)
		*sum += s->sorted[*first + n++].ns;
	return n;
}

/* AMOUNT to the culprits of KIND; false: there are none. */
static bool blame_kind(struct sweep *s, struct lane *l, unsigned kind, int64_t amount)
{
	uint64_t sum, mask = (1ull << CULPRIT_BITS) - 1;
	size_t first, n = culprits(s, l, kind, &first, &sum);
	bool named = kind < N_CELLS || kind == WEIGHT_AHEAD;

	if (sum == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		s->shares[i] = s->sorted[first + i].ns;
	share_exactly(amount, s->shares, s->parts, n);
	for (size_t i = 0; i < n; i++)
		if (s->parts[i] &&
		    sums_add(&l->result->blame, s->sorted[first + i].key & mask,
			     (uint64_t)s->parts[i], named ? (uint64_t)s->parts[i] : 0) < 0)
			s->rc = -ENOMEM;
	return true;
}

/* By overlap: others on what the cell is about. */
static bool blame_overlap(struct sweep *s, struct lane *l, enum cell c, int64_t amount)
{
	switch (cell_table[c].group) {
	case GROUP_FS:
		return blame_kind(s, l, WEIGHT_FS, amount);
	case GROUP_DIRTY:
		return blame_kind(s, l, WEIGHT_DIRTY, amount);
	case GROUP_DEVICE:
		return blame_kind(s, l, WEIGHT_AHEAD, amount) ||
		       blame_kind(s, l, WEIGHT_DEVICE, amount);
	default:
		return s->plan->file_cells >> c & 1 && blame_kind(s, l, WEIGHT_FILE, amount);
	}
}

static void blame_cell(struct sweep *s, struct lane *l, enum cell c, int64_t amount)
{
	uint64_t weights[2];
	int64_t parts[2];
	size_t first;

	/* what the kernel named, and the rest of the cell's time */
	culprits(s, l, c, &first, &weights[0]);
	weights[1] = time_in(&l->op, c) - weights[0];
	share_exactly(amount, weights, parts, 2);
	if (parts[0])
		blame_kind(s, l, c, parts[0]);
	if (parts[1] && !blame_overlap(s, l, c, parts[1]))
		l->unknown_ns += (uint64_t)parts[1];
}

/* What a level lost goes to those of its cells that lost something. */
static void blame_level(struct sweep *s, struct lane *l, const struct loss *loss, int level,
			int64_t amount)
{
	uint64_t weights[N_CELLS], cells = loss->cells;
	int64_t parts[N_CELLS];
	enum cell list[N_CELLS];
	size_t n = 0;

	while (cells) {
		enum cell c = cell_next(&cells);

		if ((int)cell_table[c].level != level || loss->ns[c] <= 0)
			continue;
		weights[n] = (uint64_t)loss->ns[c];
		list[n++] = c;
	}
	share_exactly(amount, weights, parts, n);
	for (size_t i = 0; i < n; i++)
		if (parts[i])
			blame_cell(s, l, list[i], parts[i]);
}

static int blame(struct sweep *s, struct lane *l, const struct loss *loss)
{
	int64_t level_ns[ETA_N_LEVELS] = { 0 };
	uint64_t cells = loss->cells;

	while (cells) {
		enum cell c = cell_next(&cells);

		level_ns[cell_table[c].level] += loss->ns[c];
	}
	if (l->weights.n && sort_weights(s, l) < 0)
		return -ENOMEM;
	for (int level = 0; level < ETA_N_LEVELS; level++) {
		if (level_ns[level] <= 0)
			continue;
		if (l->weights.n)
			blame_level(s, l, loss, level, level_ns[level]);
		else
			l->unknown_ns += (uint64_t)level_ns[level];
	}
	return s->rc;
}

/* ---- when and in which file ---- */

/* The part of AMOUNT, spread evenly over NS, that lies before AT; whole, so that the parts sum up.
 */
static int64_t part_before(int64_t amount, uint64_t at, uint64_t ns)
{
	__int128 product = (__int128)amount * (__int128)at;

	return ns == 0 ? 0 : (int64_t)(product / (__int128)ns);
}

static uint64_t bin_edge(const struct engine *e, uint32_t bin)
{
	uint64_t life = e->last_ns - e->first_ns;

	return e->first_ns + (uint64_t)((unsigned __int128)life * bin / e->options.n_bins);
}

static uint32_t bin_at(const struct engine *e, uint64_t ns)
{
	uint64_t life = e->last_ns - e->first_ns;
	uint32_t bin =
		life ? (uint32_t)((unsigned __int128)(ns - e->first_ns) * e->options.n_bins / life)
		     : 0;

	return bin < e->options.n_bins ? bin : e->options.n_bins - 1;
}

static void add_to_bin(struct bin *b, const struct bin *whole, uint64_t from, uint64_t to,
		       uint64_t ns)
{
#define PART(field)                                                                                \
	(to == ns ? whole->field - part_before(whole->field, from, ns)                             \
		  : part_before(whole->field, to, ns) - part_before(whole->field, from, ns))
	b->io_ns += to - from;
	b->lost_ns += PART(lost_ns);
	b->contended_ns += PART(contended_ns);
	for (int level = 0; level < ETA_N_LEVELS; level++)
		b->level_ns[level] += PART(level_ns[level]);
#undef PART
}

static int spread(const struct sweep *s, struct lane *l, const struct loss *loss)
{
	const struct engine *e = s->engine;
	uint64_t begin = l->op.begin_ns, end = l->op.end_ns, cells = loss->cells;
	struct bin whole = { 0 };

	if (!l->result->bins)
		l->result->bins = calloc(e->options.n_bins, sizeof(*l->result->bins));
	if (!l->result->bins)
		return -ENOMEM;
	while (cells) {
		enum cell c = cell_next(&cells);

		whole.lost_ns += loss->ns[c];
		whole.contended_ns += loss->contended_ns[c];
		whole.level_ns[cell_table[c].level] +=
			e->split ? loss->contended_ns[c] : loss->ns[c];
	}
	l->result->bins[bin_at(e, begin)].operations++;
	for (uint32_t bin = bin_at(e, begin); bin < e->options.n_bins; bin++) {
		uint64_t from = bin_edge(e, bin), to = bin_edge(e, bin + 1);

		from = from > begin ? from : begin;
		to = to < end && bin + 1 < e->options.n_bins ? to : end;
		add_to_bin(&l->result->bins[bin], &whole, from - begin, to - begin, end - begin);
		if (to == end)
			break;
	}
	return 0;
}

static void add_to_file(const struct sweep *s, const struct lane *l, const struct loss *loss)
{
	struct engine *e = s->engine;
	const struct class_references *refs = references_of(s, l);
	pthread_mutex_t *lock = &e->file_locks[l->op.file % ENGINE_LOCKS];
	struct file_sum *f = &e->file_sums[l->op.file];
	uint64_t cells = loss->cells;

	pthread_mutex_lock(lock);
	f->operations++;
	f->io_ns += l->op.end_ns - l->op.begin_ns;
	if (l->op.mode == MODE_READ)
		f->bytes_read += l->op.bytes;
	else if (l->op.mode == MODE_WRITE)
		f->bytes_written += l->op.bytes;
	while (cells) {
		enum cell c = cell_next(&cells);

		f->slowdown.lost_ns += loss->ns[c];
		f->slowdown.cell_ns[c] += loss->ns[c];
		f->slowdown.contended_ns += loss->contended_ns[c];
		f->slowdown.contended_cell_ns[c] += loss->contended_ns[c];
	}
	if (refs->by[BY_HEADLINE]->known)
		f->slowdown.path_ns += refs->path_ns;
	pthread_mutex_unlock(lock);
}

int settle(struct sweep *s, struct lane *l)
{
	const struct engine *e = s->engine;
	const struct reference *r = references_of(s, l)->by[BY_HEADLINE];
	pthread_mutex_t *lock = &s->engine->location_locks[l->location % ENGINE_LOCKS];
	struct loss loss = { 0 };
	int rc = 0;

	if (r->known)
		loss_of(&l->op, r, &loss);
	pthread_mutex_lock(lock);
	if (r->known && e->split) {
		rc = note_contended(s, l, &loss);
		if (!rc)
			rc = blame(s, l, &loss);
	}
	if (!rc && e->options.n_bins)
		rc = spread(s, l, &loss);
	pthread_mutex_unlock(lock);
	if (!rc && e->options.files)
		add_to_file(s, l, &loss);
	return rc;
}

/* An operation of the sweep is over: its slowdown goes where it belongs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loss.h"
#include "src/common/share.h"

static void loss_of(const struct operation_record *op, const struct reference *r, struct loss *loss)
{
	uint64_t cells = op->cells | r->cells;

	loss->cells = cells;
	loss->contended = cells & cells_of_group(GROUP_NATURE);
	loss->limited = cells & cells_of_group(GROUP_LIMIT);
	while (cells) {
		enum cell c = cell_next(&cells);

		loss->ns[c] = (int64_t)(operation_time(op, c) - r->cell_ns[c]);
		/* waiting for others is always contended; the rest follows below */
		loss->interference_ns[c] = loss->contended >> c & 1 ? loss->ns[c] : 0;
	}
}

/* ---- what others caused ---- */

/* Sums contended time by cell over the stretches; returns the set of cells with any. */
static uint64_t contended_time(const struct sweep_thread *l, uint64_t ns[N_CELLS])
{
	uint64_t whole = 0, left, cells;
	enum cell cause = work_cause(&l->op);

	if (l->file.unchanged && l->file.overlaps)
		whole = l->op.cells & cells_of_group(GROUP_FILE);
	cells = left = whole;
	while (left) {
		enum cell c = cell_next(&left);

		ns[c] = l->op.ns[c];
	}
	for (uint32_t i = 0; i < l->contended_end; i++) {
		unsigned c = l->op.stretches[i].cell;

		if (!l->contended[i] || whole >> c & 1)
			continue;
		if (!(cells >> c & 1))
			ns[c] = 0;
		ns[c] += l->op.stretches[i].ns;
		cells |= 1ull << c;
	}
	if (work_misses(cause) || (cause < N_CELLS && cells >> cause & 1)) {
		uint64_t work = l->op.cells & work_cells(cause);

		cells |= work;
		while (work) {
			enum cell c = cell_next(&work);

			ns[c] = l->op.ns[c];
		}
	}
	return cells;
}

#define BESIDE_OTHERS 2	      /* 1 / this part of a wait */
#define BESIDE_OTHERS_LONG 10 /* the same of a wait that is longer than any call alone */

/*
 * Against a run alone the usual length of the wait is known. An operation that waits longer here,
 * with others present for half of the wait or more, does so because of them: the device or the
 * journal is busy with their work for a while after their last request. If it waits longer than
 * any operation took alone, or none waited there alone, a tenth is enough. Returns the set of such
 * cells.
 */
static uint64_t complete_contended(const struct sweep_thread *l, uint64_t cells,
				   uint64_t ns[N_CELLS])
{
	const struct reference *r = l->references->by[BY_HEADLINE];
	uint64_t completed = 0;

	cells &= cells_of_group(GROUP_DEVICE) | cells_of_group(GROUP_FS) |
		 cells_of_group(GROUP_SERVER);
	while (cells) {
		enum cell c = cell_next(&cells);
		bool is_longer =
			r->cell_ns[c] == 0 || (r->longest_ns && l->op.ns[c] > r->longest_ns);

		if (ns[c] * (is_longer ? BESIDE_OTHERS_LONG : BESIDE_OTHERS) < l->op.ns[c])
			continue;
		ns[c] = l->op.ns[c];
		completed |= 1ull << c;
	}
	return completed & ~cells_of_group(GROUP_SERVER); /* see outside_of() */
}

/* Whoever it is that makes a server slower than in a run alone, it is somebody else. */
static uint64_t contend_servers(const struct sweep_thread *l, uint64_t ns[N_CELLS])
{
	ns[CELL_NET_SERVER] = operation_time(&l->op, CELL_NET_SERVER);
	return l->op.cells & 1ull << CELL_NET_SERVER;
}

/* What is left of a reference's time after ALONE_NS without anybody else. */
static uint64_t left_of(uint64_t reference_ns, uint64_t alone_ns)
{
	return reference_ns > alone_ns ? reference_ns - alone_ns : 0;
}

/*
 * How much of the mean operation's time in the cell NS of an operation with WHOLE_NS there may use:
 * where most operations do not wait, a few wait long, in both traces.
 */
static uint64_t part_of_mean(const struct class_references *refs, int k, enum cell c, uint64_t ns,
			     uint64_t whole_ns)
{
	uint64_t level_ns = refs->time->level_ns[k][c];

	if (level_ns)
		return level_ns < whole_ns ? (uint64_t)((unsigned __int128)level_ns * ns / whole_ns)
					   : ns;
	return (uint64_t)((unsigned __int128)refs->by[k]->cell_ns[c] * refs->time->n * ns /
			  refs->time->cell_ns[c]);
}

static int note_contended(struct sweep_thread *l, struct loss *loss, uint64_t cells,
			  const uint64_t ns[N_CELLS])
{
	const struct class_references *refs = l->references;
	struct tally *t = l->tally;

	if (!loss_contended(t))
		return -ENOMEM;
	while (cells) {
		enum cell c = cell_next(&cells);
		struct contended_cell *in = &t->contended->cell[c];

		in->ns += ns[c];
		if (refs->time) {
			for (int k = 0; k < N_REFERENCES; k++)
				in->left[k] += part_of_mean(refs, k, c, ns[c], l->op.ns[c]);
			loss->interference_ns[c] =
				(int64_t)(ns[c] -
					  part_of_mean(refs, BY_HEADLINE, c, ns[c], l->op.ns[c]));
			continue;
		}
		loss->interference_ns[c] = loss->ns[c];
		if (ns[c] == l->op.ns[c]) {
			in->n++;
			continue;
		}
		for (int k = 0; k < N_REFERENCES; k++)
			in->left[k] += left_of(refs->by[k]->cell_ns[c], l->op.ns[c] - ns[c]);
		loss->interference_ns[c] =
			(int64_t)(ns[c] -
				  left_of(refs->by[BY_HEADLINE]->cell_ns[c], l->op.ns[c] - ns[c]));
	}
	return 0;
}

/* ---- who they were ---- */

#define RANK_OTHERS UINT64_MAX /* ranks last */

static uint64_t culprit_of(uint64_t rank)
{
	if (rank == RANK_OTHERS)
		return CULPRIT_OTHERS;
	return (uint32_t)rank == UINT32_MAX ? rank >> 32 | CULPRIT_FOREIGN : (uint32_t)rank;
}

/* Adds claims for those the kernel named in the cell; returns how many. */
static size_t claims_of_named(struct sweep *s, const struct sweep_thread *l, enum cell cell)
{
	size_t n = 0;

	for (uint32_t i = 0; i < l->weights.named.n; i++) {
		const struct sum *sum = &l->weights.named.list[i];

		if (sum->key >> CULPRIT_BITS == cell && sum->ns)
			s->claims[n++] = (struct claim){
				.weight = sum->ns,
				.rank = rank_of(s->engine->defs, sum->key & CULPRIT_MASK),
			};
	}
	return n;
}

static size_t claims_of(struct sweep *s, const struct sweep_thread *l, unsigned kind)
{
	size_t n = 0;

	if (kind < N_CELLS)
		return claims_of_named(s, l, (enum cell)kind);
	if (kind == N_WEIGHTS) /* nobody */
		return 0;
	for (uint32_t i = 0; i < l->weights.n; i++)
		if (l->weights.list[i].kind == kind && l->weights.list[i].ns)
			s->claims[n++] =
				(struct claim){ .weight = l->weights.list[i].ns,
						.rank = s->plan->ranks[l->weights.list[i].thread] };
	for (uint32_t i = 0; kind == WEIGHT_FILE && i < l->weights.n_file_threads; i++)
		s->claims[n++] =
			(struct claim){ .weight = l->weights.file_ns[l->weights.file_threads[i]],
					.rank = s->plan->ranks[l->weights.file_threads[i]] };
	for (uint32_t i = 0; i < l->weights.company.n; i++) {
		const struct sum *sum = &l->weights.company.list[i];

		if (sum->key >> CULPRIT_BITS == kind)
			s->claims[n++] = (struct claim){
				.weight = sum->ns,
				.rank = rank_of(s->engine->defs, sum->key & CULPRIT_MASK),
			};
	}
	if (l->weights.others_ns[kind - N_CELLS])
		s->claims[n++] = (struct claim){ .weight = l->weights.others_ns[kind - N_CELLS],
						 .rank = RANK_OTHERS };
	return n;
}

static int claims_room(struct sweep *s, const struct sweep_thread *l)
{
	size_t n = (size_t)l->weights.named.n + l->weights.company.n + l->weights.n +
		   l->weights.n_file_threads + 1;

	if (n <= s->claims_room)
		return 0;
	free(s->claims);
	s->claims_room = 2 * n;
	s->claims = calloc(s->claims_room, sizeof(*s->claims));
	if (!s->claims)
		s->claims_room = 0;
	return s->claims ? 0 : -ENOMEM;
}

/* Divides AMOUNT among the culprits of KIND; false: there are none. NAMED: by the kernel. */
static bool blame_kind(struct sweep *s, struct sweep_thread *l, unsigned kind, int64_t amount,
		       bool named)
{
	size_t n = claims_of(s, l, kind);
	uint32_t n_locations = s->engine->defs->n_locations;
	struct blame_row *row = &l->result->blame;
	uint64_t *places = blame_row_places(row, named);

	if (n == 0)
		return false;
	/* prefetch a cache line per culprit while the shares are computed */
	for (size_t i = 0; places && i < n; i++)
		__builtin_prefetch(&places[(uint32_t)s->claims[i].rank], 1);
	share_out(amount, s->claims, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t part = (uint64_t)s->claims[i].part;
		uint64_t culprit = culprit_of(s->claims[i].rank);

		if (places && culprit < n_locations)
			places[culprit] += part;
		else if (part && blame_row_add(row, &s->engine->blame_bound, culprit, part,
					       named ? part : 0) < 0)
			s->rc = -ENOMEM;
	}
	return true;
}

/* Who is blamed for time in the cell that the kernel named nobody for; N_WEIGHTS: nobody. */
static unsigned overlap_kind(const struct sweep_thread *l, enum cell c)
{
	switch (cell_table[c].group) {
	case GROUP_FILE:
		return l->fs_wide ? WEIGHT_FS : WEIGHT_FILE;
	case GROUP_FS:
		return WEIGHT_FS;
	case GROUP_DIRTY:
		return WEIGHT_DIRTY;
	case GROUP_DEVICE:
		return WEIGHT_AHEAD;
	case GROUP_SERVER:
		return WEIGHT_SERVER;
	case GROUP_SELF:
	case GROUP_LIMIT:
		return N_WEIGHTS;
	default:
		return cells_of_file() >> c & 1 ? WEIGHT_FILE : N_WEIGHTS;
	}
}

/* Of AMOUNT, lost at a server against a run alone, what is due to nobody in the trace. */
static int64_t outside_of(const struct sweep_thread *l, int64_t amount)
{
	uint64_t whole = l->op.ns[CELL_NET_SERVER];
	uint64_t weights[2] = { l->seen_ns, whole - l->seen_ns };
	int64_t parts[2];

	/* as in complete_contended() */
	if (!l->references->time || 2 * l->seen_ns >= whole)
		return 0;
	share_exactly(amount, weights, parts, 2);
	return parts[1];
}

/* Divides AMOUNT, which others took while none of them was seen, among those named in the cell. */
static bool blame_before(struct sweep *s, struct sweep_thread *l, enum cell c, int64_t amount)
{
	unsigned kind = overlap_kind(l, c);

	for (uint32_t i = 0; i < l->weights.n; i++)
		if (l->weights.list[i].kind == kind ||
		    (kind == WEIGHT_AHEAD && l->weights.list[i].kind == WEIGHT_DEVICE))
			return false;
	return !l->weights.crowded && blame_kind(s, l, c, amount, false);
}

/* The time of the operation in the cell that what culprits share was lost in. */
static uint64_t blamed_time(const struct sweep_thread *l, const struct loss *loss, enum cell c)
{
	if (loss->blamed_ns != loss->ns && loss->parted >> c & 1)
		return loss->parted_ns[c];
	return operation_time(&l->op, c) - (loss->own >> c & 1 ? loss->own_ns[c] : 0);
}

/*
 * Divides AMOUNT, lost in the cell: to those the kernel named, the rest to those of OVERLAP's kind.
 */
static void blame_cell(struct sweep *s, struct sweep_thread *l, const struct loss *loss,
		       enum cell c, int64_t amount, int64_t overlap[N_WEIGHTS + 1])
{
	int64_t outside = c == CELL_NET_SERVER ? outside_of(l, amount) : 0;
	enum cell cause = work_cause(&l->op);
	uint64_t weights[2] = { 0 };
	int64_t parts[2];

	if (outside && blame_row_add(&l->result->blame, &s->engine->blame_bound, CULPRIT_OUTSIDE,
				     (uint64_t)outside, 0) < 0)
		s->rc = -ENOMEM;
	amount -= outside;
	if (work_cells(cause) >> c & 1)
		c = cause; /* the work has the culprits of the wait */
	for (uint32_t i = 0; i < l->weights.named.n; i++)
		if (l->weights.named.list[i].key >> CULPRIT_BITS == c)
			weights[0] += l->weights.named.list[i].ns;
	weights[1] = left_of(blamed_time(l, loss, c), weights[0]);
	share_exactly(amount, weights, parts, 2);
	if (parts[0])
		blame_kind(s, l, c, parts[0], true);
	if (parts[1] && (!(loss->completed >> c & 1) || !blame_before(s, l, c, parts[1])))
		overlap[overlap_kind(l, c)] += parts[1];
}

/* Divides what a level lost to others among its contended cells. */
static void blame_level(struct sweep *s, struct sweep_thread *l, const struct loss *loss, int level,
			int64_t amount, int64_t overlap[N_WEIGHTS + 1])
{
	uint64_t weights[N_CELLS], cells = loss->blamed;
	int64_t parts[N_CELLS];
	enum cell list[N_CELLS];
	size_t n = 0;

	while (cells) {
		enum cell c = cell_next(&cells);

		if ((int)cell_table[c].level != level || loss->blamed_ns[c] <= 0)
			continue;
		weights[n] = (uint64_t)loss->blamed_ns[c];
		list[n++] = c;
	}
	share_exactly(amount, weights, parts, n);
	for (size_t i = 0; i < n; i++)
		if (parts[i])
			blame_cell(s, l, loss, list[i], parts[i], overlap);
}

static void by_level(const struct loss *loss, int64_t level_ns[ETA_N_LEVELS])
{
	uint64_t cells = loss->blamed;

	memset(level_ns, 0, ETA_N_LEVELS * sizeof(*level_ns));
	while (cells) {
		enum cell c = cell_next(&cells);

		level_ns[cell_table[c].level] += loss->blamed_ns[c];
	}
}

static bool overlapped_anybody(const struct sweep_thread *l, uint64_t contended)
{
	return contended >> CELL_NET_SERVER & 1 || l->weights.named.n || l->weights.company.n ||
	       l->weights.n || l->weights.n_file_threads || l->weights.crowded ||
	       l->weights.has_others;
}

static void blame_nobody(struct sweep_thread *l, const struct loss *loss)
{
	int64_t level_ns[ETA_N_LEVELS];

	if (!loss->blamed)
		return;
	by_level(loss, level_ns);
	for (int level = 0; level < ETA_N_LEVELS; level++)
		if (level_ns[level] > 0)
			l->unknown_ns += (uint64_t)level_ns[level];
}

static int blame(struct sweep *s, struct sweep_thread *l, const struct loss *loss)
{
	int64_t level_ns[ETA_N_LEVELS], overlap[N_WEIGHTS + 1] = { 0 };

	by_level(loss, level_ns);
	weights_merge(s, l);
	if (l->weights.crowded)
		blame_row_crowd(&l->result->blame, &s->engine->blame_bound);
	if (claims_room(s, l) < 0)
		return -ENOMEM;
	for (int level = 0; level < ETA_N_LEVELS; level++) {
		if (level_ns[level] > 0)
			blame_level(s, l, loss, level, level_ns[level], overlap);
	}
	for (unsigned kind = N_CELLS; kind <= N_WEIGHTS; kind++)
		if (overlap[kind] && !blame_kind(s, l, kind, overlap[kind], kind == WEIGHT_AHEAD) &&
		    (kind != WEIGHT_AHEAD ||
		     !blame_kind(s, l, WEIGHT_DEVICE, overlap[kind], false)))
			l->unknown_ns += (uint64_t)overlap[kind];
	return s->rc;
}

/* ---- in which file ---- */

static void add_to_file(const struct sweep *s, const struct sweep_thread *l,
			const struct loss *loss)
{
	struct engine *e = s->engine;
	const struct class_references *refs = l->references;
	pthread_mutex_t *lock = &e->file_locks[l->op.file % ENGINE_LOCKS];
	struct file_sum *f = &e->file_sums[l->op.file];
	uint64_t ns = l->op.end_ns - l->op.begin_ns;
	uint64_t cells = loss->cells, contended = loss->contended, limited = loss->limited;

	pthread_mutex_lock(lock);
	f->operations++;
	f->io_ns += ns;
	f->square += (unsigned __int128)ns * ns;
	if (l->op.mode == MODE_READ)
		f->bytes_read += l->op.bytes;
	else if (l->op.mode == MODE_WRITE)
		f->bytes_written += l->op.bytes;
	while (cells) {
		enum cell c = cell_next(&cells);

		f->slowdown.lost_ns += loss->ns[c];
		f->slowdown.cell_ns[c] += loss->ns[c];
	}
	while (contended) {
		enum cell c = cell_next(&contended);

		f->slowdown.interference_ns += loss->interference_ns[c];
		f->slowdown.interference_cell_ns[c] += loss->interference_ns[c];
	}
	while (limited) {
		enum cell c = cell_next(&limited);

		f->slowdown.limit_ns += loss->ns[c];
		f->slowdown.limit_cell_ns[c] += loss->ns[c];
	}
	if (refs->by[BY_HEADLINE]->known)
		f->slowdown.path_ns += refs->path_ns;
	pthread_mutex_unlock(lock);
}

/* What others, and limits, took. */
static int64_t taken_of(const struct loss *loss)
{
	uint64_t cells = loss->contended | loss->limited;
	int64_t sum = 0;

	while (cells) {
		enum cell c = cell_next(&cells);

		sum += loss->limited >> c & 1 ? loss->ns[c] : loss->interference_ns[c];
	}
	return sum;
}

static int note_slowed(const struct sweep *s, struct sweep_thread *l, int64_t taken_ns)
{
	const struct slowed slowed = { l->op.begin_ns, l->op.end_ns, taken_ns, l->location };

	return taken_ns > 0 ? slowed_add(&l->result->slowed, &slowed, s->engine->options.n_slowed)
			    : 0;
}

/* Adds to the sums that all windows share. */
static int attribute_shared(struct sweep *s, struct sweep_thread *l, struct loss *loss,
			    uint64_t contended, const uint64_t interference_ns[N_CELLS],
			    bool blames)
{
	pthread_mutex_t *lock = &s->engine->location_locks[l->location % ENGINE_LOCKS];
	int rc = 0;

	pthread_mutex_lock(lock);
	if (contended)
		rc = note_contended(l, loss, contended, interference_ns);
	if (!rc && loss->own)
		rc = loss_note_own(l, loss);
	if (!rc && loss->limit_work)
		rc = loss_note_limit_work(l, loss);
	if (!rc && blames)
		rc = blame(s, l, loss);
	if (!rc && s->engine->options.n_bins)
		rc = loss_spread(s->engine, l, loss);
	if (!rc && s->engine->options.n_slowed)
		rc = note_slowed(s, l, taken_of(loss));
	pthread_mutex_unlock(lock);
	return rc;
}

/* Marks the slices of the operation. Windows share the words; mostly the bit is set already. */
static void busy_note(const struct sweep *s, struct sweep_thread *l)
{
	uint64_t *busy = l->result->busy;
	unsigned last = engine_slice(s->engine, l->op.end_ns);

	for (unsigned i = engine_slice(s->engine, l->op.begin_ns); busy && i <= last; i++)
		if (!(__atomic_load_n(&busy[i / 64], __ATOMIC_RELAXED) >> i % 64 & 1))
			__atomic_fetch_or(&busy[i / 64], 1ull << i % 64, __ATOMIC_RELAXED);
}

int attribute(struct sweep *s, struct sweep_thread *l)
{
	const struct engine *e = s->engine;
	const struct reference *r = l->references->by[BY_HEADLINE];
	uint64_t interference_ns[N_CELLS], contended = 0;
	bool blames = false;
	struct loss loss;
	int64_t taken_ns;
	int rc = 0;

	loss.cells = loss.contended = loss.completed = loss.parted = loss.own = 0;
	loss.limited = loss.limit_work = 0;
	loss.parted_ns = interference_ns;
	loss.blamed_ns = e->options.version_1 ? loss.ns : loss.interference_ns;
	if (r->known)
		loss_of(&l->op, r, &loss);
	if (r->known && e->split) {
		company_apply(s, l);
		contended =
			loss_leave_left(s, l, contended_time(l, interference_ns), interference_ns);
		if (l->references->time) {
			contended |= contend_servers(l, interference_ns);
			loss.completed = complete_contended(l, contended, interference_ns);
		}
		loss.parted = contended;
		loss.contended |= contended;
		/* no level has lost unless a cell has */
		blames = l->lost_cells && overlapped_anybody(l, contended);
		if (l->lost_cells)
			loss_leave_own(s, l, &loss);
		loss_limit_work(e, l, &loss);
	}
	loss.blamed =
		(e->options.version_1 ? loss.cells : loss.contended) & ~cells_of_group(GROUP_LIMIT);
	if (contended || blames || loss.own || loss.limit_work || e->options.n_bins)
		rc = attribute_shared(s, l, &loss, contended, interference_ns, blames);
	taken_ns = e->split ? taken_of(&loss) : 0;
	if (e->split && r->known)
		l->undecided_ns += undecided_of(l, &loss);
	if (taken_ns)
		pieces_add(l, taken_ns);
	if (l->lost_cells && !blames)
		blame_nobody(l, &loss);
	if (!rc && e->options.files)
		add_to_file(s, l, &loss);
	busy_note(s, l);
	return rc;
}

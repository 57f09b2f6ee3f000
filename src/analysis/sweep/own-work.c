/* What was in the way of a thread, but worked for it: that is its own time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "loss.h"

/* How much of NS, in which CULPRIT was in L's way, it worked for L's thread: by bytes. */
static uint64_t own_part(const struct engine *e, const struct sweep_thread *l, uint64_t culprit,
			 uint64_t ns)
{
	const struct location_result *k;
	uint64_t bytes;

	if (culprit >= e->defs->n_locations || !e->locations[culprit].worked_bytes)
		return 0;
	k = &e->locations[culprit];
	bytes = sums_of(&k->worked_for, e->thread_of[l->location]);
	return (uint64_t)((unsigned __int128)ns * bytes / k->worked_bytes);
}

static void add_own(struct loss *loss, enum cell c, uint64_t own_ns)
{
	if (!(loss->own >> c & 1))
		loss->own_ns[c] = 0;
	loss->own |= 1ull << c;
	loss->own_ns[c] += own_ns;
}

/* What it takes to read, apart from waits for others and limits: the device, decompression, copies.
 */
static uint64_t reading(const uint64_t ns[N_CELLS], uint64_t cells)
{
	uint64_t sum = 0;

	cells &= cells_of_group(GROUP_DEVICE) | cells_of_group(GROUP_FILE) |
		 cells_of_group(GROUP_SELF);
	while (cells)
		sum += ns[cell_next(&cells)];
	return sum;
}

/*
 * L waits for a page that another one reads. Without the others it would have read it itself: what
 * the reference takes for that, and L does not.
 */
static void leave_shared_read(const struct engine *e, const struct sweep_thread *l,
			      struct loss *loss)
{
	/* the record of an operation has its mode only where files are summed */
	enum operation_mode mode = e->classes.list[l->tally->class]->key.mode;
	const struct reference *r = l->references->by[BY_HEADLINE];
	uint64_t alone_ns = reading(r->cell_ns, r->cells), own_ns;

	if (mode != MODE_READ || loss->interference_ns[CELL_PAGECACHE_PAGE_LOCK] <= 0)
		return;
	own_ns = reading(l->op.ns, l->op.cells);
	if (alone_ns > own_ns)
		add_own(loss, CELL_PAGECACHE_PAGE_LOCK, alone_ns - own_ns);
}

/* Was THREAD, or one of its tracks, in an operation while L's lasted, which ends now? */
static bool was_at_work(const struct sweep *s, uint32_t thread, const struct sweep_thread *l)
{
	for (; thread != THREAD_NONE; thread = s->plan->next_own[thread])
		if (s->threads[thread].under_way || s->threads[thread].ended_ns > l->op.begin_ns)
			return true;
	return false;
}

static bool is_parent(const struct eta_defs *defs, uint32_t location, uint32_t of)
{
	uint32_t ppid = defs->processes[defs->locations[of].process].ppid;

	return ppid && defs->processes[defs->locations[location].process].pid == ppid;
}

/* Had THREAD and its tracks done all that they do when L's operation began? */
static bool has_ended(const struct sweep *s, uint32_t thread, const struct sweep_thread *l)
{
	for (; thread != THREAD_NONE; thread = s->plan->next_own[thread])
		if (s->threads[thread].result->counts.last_operation_ns > l->op.begin_ns)
			return false;
	return true;
}

/* Was THREAD of a command before L's, or does it wait for L's, as a script's shell does? */
static bool has_left(const struct sweep *s, uint32_t thread, const struct sweep_thread *l)
{
	return has_ended(s, thread, l) ||
	       (is_parent(s->engine->defs, s->threads[thread].location, l->location) &&
		!was_at_work(s, thread, l));
}

/* How much of what was in the way there is, and of that how much L's call is there for. */
struct left {
	uint64_t all, own;
};

/* Adds NS of THREAD to LEFT; returns what of it is not own. */
static uint64_t leave_left(const struct sweep *s, uint32_t thread, const struct sweep_thread *l,
			   uint64_t ns, struct left *left)
{
	left->all += ns;
	if (!has_left(s, thread, l))
		return ns;
	left->own += ns;
	return 0;
}

/* The same of those that the kernel named in cell C. */
static void leave_named(const struct sweep *s, struct sweep_thread *l, enum cell c,
			struct left *left)
{
	for (uint32_t i = 0; i < l->weights.named.n; i++) {
		struct sum *named = &l->weights.named.list[i];
		uint64_t culprit = named->key & CULPRIT_MASK;

		if (named->key >> CULPRIT_BITS != c)
			continue;
		if (culprit < s->engine->defs->n_locations &&
		    s->plan->thread_number[culprit] != THREAD_NONE)
			named->ns =
				leave_left(s, s->plan->thread_number[culprit], l, named->ns, left);
		else
			left->all += named->ns;
	}
}

/* Is L's call there to write out what others may have left: anything, or of a file they used, too?
 */
static bool syncs_left(const struct engine *e, const struct sweep_thread *l)
{
	const struct resource_file *file = &e->resources.files[l->op.file];

	switch (e->regions.info[e->classes.list[l->tally->class]->key.region].syncs) {
	case SYNCS_ALL:
		return true;
	case SYNCS_FILE:
		return file->shared && (file->inode || (uint32_t)file->dev);
	default:
		return false;
	}
}

uint64_t loss_leave_left(const struct sweep *s, struct sweep_thread *l, uint64_t contended,
			 uint64_t ns[N_CELLS])
{
	const struct engine *e = s->engine;
	uint64_t cells = contended & cells_of_group(GROUP_DEVICE);
	struct left present = { 0 };

	if (e->options.version_1 || !syncs_left(e, l))
		return contended;
	for (uint32_t i = 0; i < l->weights.n; i++)
		if (l->weights.list[i].kind == WEIGHT_AHEAD ||
		    l->weights.list[i].kind == WEIGHT_DEVICE)
			l->weights.list[i].ns = leave_left(s, l->weights.list[i].thread, l,
							   l->weights.list[i].ns, &present);
	while (cells) {
		enum cell c = cell_next(&cells);
		struct left left = present;

		leave_named(s, l, c, &left);
		if (left.own)
			ns[c] -= (uint64_t)((unsigned __int128)ns[c] * left.own / left.all);
		if (!ns[c])
			contended &= ~(1ull << c);
	}
	return contended;
}

void loss_leave_own(struct sweep *s, struct sweep_thread *l, struct loss *loss)
{
	uint64_t cells;

	if (s->engine->options.version_1)
		return;
	for (uint32_t i = 0; i < l->weights.named.n; i++) {
		struct sum *named = &l->weights.named.list[i];
		enum cell c = (enum cell)(named->key >> CULPRIT_BITS);
		uint64_t own_ns;

		if (cell_table[c].group != GROUP_NATURE || loss->interference_ns[c] <= 0)
			continue;
		own_ns = own_part(s->engine, l, named->key & CULPRIT_MASK, named->ns);
		if (!own_ns)
			continue;
		add_own(loss, c, own_ns);
		named->ns -= own_ns;
	}
	if (loss->cells >> CELL_PAGECACHE_PAGE_LOCK & 1)
		leave_shared_read(s->engine, l, loss);
	cells = loss->own;
	while (cells) {
		enum cell c = cell_next(&cells);
		int64_t lost_ns = loss->interference_ns[c], own_ns = (int64_t)loss->own_ns[c];

		loss->own_lost_ns[c] = (uint64_t)(own_ns < lost_ns ? own_ns : lost_ns);
		loss->interference_ns[c] -= (int64_t)loss->own_lost_ns[c];
	}
}

struct contended *loss_contended(struct tally *t)
{
	if (!t->contended)
		__atomic_store_n(&t->contended, contended_new(ALL_CELLS), __ATOMIC_RELAXED);
	return t->contended;
}

int loss_note_own(struct sweep_thread *l, const struct loss *loss)
{
	struct tally *t = l->tally;
	uint64_t cells = loss->own;

	if (!loss_contended(t))
		return -ENOMEM;
	while (cells) {
		enum cell c = cell_next(&cells);

		t->contended->cell[c].ns += loss->own_lost_ns[c];
	}
	return 0;
}

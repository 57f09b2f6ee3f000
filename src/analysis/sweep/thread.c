/* One location on its way through the sweep. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the next operation ---- */

static bool is_shared(const struct sweep *s, const struct sweep_thread *l)
{
	return s->engine->resources.files[l->op.file].shared;
}

/* Operations on unknown files share one entry here, for which nobody is blamed. */
static bool is_known(const struct sweep *s, const struct sweep_thread *l)
{
	const struct resource_file *f = &s->engine->resources.files[l->op.file];

	return f->inode || (uint32_t)f->dev;
}

/* Operations of which only the file system is known are compared by that. */
static bool is_fs_wide(const struct sweep *s, const struct sweep_thread *l)
{
	const struct resource_file *f = &s->engine->resources.files[l->op.file];

	return (uint32_t)f->dev && !f->inode;
}

/* Does the stretch need boundaries, because somebody may come or go inside it? */
static bool has_boundaries(const struct sweep *s, const struct sweep_thread *l,
			   const struct stretch *st)
{
	if (cell_table[st->cell].group == GROUP_FILE)
		return l->fs_wide;
	if (s->plan->solo)
		return false;
	switch (cell_table[st->cell].group) {
	case GROUP_NATURE:
		return st->what != 0;
	case GROUP_SELF:
	case GROUP_LIMIT:
		return false;
	default:
		return true;
	}
}

/* A boundary of L. */
static struct boundary boundary_of(const struct sweep *s, const struct sweep_thread *l,
				   enum boundary_kind kind, uint64_t time_ns)
{
	return (struct boundary){ .time_ns = time_ns,
				  .order = (uint64_t)kind << BOUNDARY_KIND_SHIFT |
					   (uint64_t)(l - s->threads) << BOUNDARY_THREAD_SHIFT };
}

/* Operations that cannot overlap another thread's are left out of the sweep. */
static bool is_alone(const struct sweep *s, const struct sweep_thread *l)
{
	if (!s->engine->split)
		return true;
	if (is_shared(s, l))
		return false;
	if (s->plan->needs_fs || (s->plan->needs_dirty && l->op.dirties))
		return false;
	if (s->plan->solo)
		return true;
	for (uint32_t i = 0; i < l->op.n_stretches; i++)
		if (has_boundaries(s, l, &l->op.stretches[i]))
			return false;
	return true;
}

static int solo_put(struct sweep_thread *l)
{
	l->solo.bits |= (uint64_t)!l->file.overlapped << l->solo.n % 64;
	if (++l->solo.n % 64 == 0) {
		spill_record(l->solo.writer, 0, 0);
		spill_put(l->solo.writer, l->solo.bits);
		l->solo.bits = 0;
	}
	return l->solo.writer->rc;
}

static int finish(struct sweep *s, struct sweep_thread *l)
{
	struct engine *e = s->engine;
	int rc;

	if (!s->plan->solo)
		return attribute(s, l);
	l->file.overlapped |= company_is_possible(s, l);
	rc = solo_put(l);
	if (!rc && !l->file.overlapped && !l->op.truncated)
		rc = class_add_solo(e->classes.list[l->tally->class], &l->op, l->location);
	return rc;
}

static int no_contention_yet(struct sweep_thread *l)
{
	uint32_t n = l->op.n_stretches;

	if (n > l->contended_room) {
		free(l->contended);
		l->contended = calloc(2 * (size_t)n, sizeof(*l->contended));
		l->contended_room = l->contended ? 2 * n : 0;
		if (!l->contended)
			return -ENOMEM;
	} else if (l->contended_end) {
		memset(l->contended, 0, l->contended_end * sizeof(*l->contended));
	}
	l->contended_end = 0;
	l->file.overlaps = l->file.unchanged = l->file.overlapped = false;
	weights_clear(l);
	return 0;
}

/* Prefetches what its end adds to; another thread may be about to make that, and nothing of it is
 * read. */
static void prefetch_sums(const struct tally *t)
{
	const struct contended *contended = __atomic_load_n(&t->contended, __ATOMIC_RELAXED);

	if (!contended)
		return;
	__builtin_prefetch(&contended->cell[0], 1);
}

/* The set of cells in which its operation lost time. */
static uint64_t lost_cells_of(const struct sweep *s, const struct sweep_thread *l)
{
	const struct reference *r;
	uint64_t cells = l->op.cells, lost = 0;

	if (s->plan->solo || !s->engine->split)
		return 0;
	r = l->references->by[BY_HEADLINE];
	while (r->known && cells) {
		enum cell c = cell_next(&cells);

		lost |= (uint64_t)(l->op.ns[c] > r->cell_ns[c]) << c;
	}
	return lost;
}

static int next_operation(struct sweep *s, struct sweep_thread *l)
{
	int rc = 0;

	while (!rc && l->operations->left) {
		rc = operation_unspill(l->operations, s->engine->options.files, &l->op);
		if (rc < 0)
			break;
		if (l->op.begin_ns < s->from_ns && l->op.end_ns <= s->from_ns) {
			operation_skip_stretches(l->operations, &l->op);
			continue;
		}
		rc = operation_unspill_stretches(l->operations, &l->op);
		if (rc < 0)
			break;
		l->owned = l->op.begin_ns >= s->from_ns && l->op.begin_ns < s->to_ns;
		rc = no_contention_yet(l);
		if (rc < 0)
			break;
		l->tally = &l->result->tallies[l->op.tally];
		if (!s->plan->solo)
			l->references = &s->engine->references[l->tally->class];
		l->lost_cells = l->owned ? lost_cells_of(s, l) : 0;
		l->fs_wide = is_fs_wide(s, l);
		l->file.watched = l->lost_cells & cells_of_file() && is_known(s, l);
		/* operations after the window are looked at only if the sweep gets there */
		if (l->op.begin_ns >= s->to_ns || !is_alone(s, l)) {
			l->state = THREAD_OPERATION;
			spill_prefetch(l->operations);
			prefetch_sums(l->tally);
			return sweep_push(s, boundary_of(s, l, THREAD_BEGINS, l->op.begin_ns));
		}
		if (l->owned)
			rc = finish(s, l);
	}
	return rc;
}

/* ---- the operation under way ---- */

static int next_boundary(struct sweep *s, struct sweep_thread *l)
{
	const struct operation_record *op = &l->op;

	while (l->next < op->n_stretches && !has_boundaries(s, l, &op->stretches[l->next]))
		l->next_ns += op->stretches[l->next++].ns;
	if (l->next == op->n_stretches) {
		l->state = THREAD_END;
		return sweep_push(s, boundary_of(s, l, THREAD_ENDS, op->end_ns));
	}
	l->state = THREAD_STRETCH;
	return sweep_push(s, boundary_of(s, l, THREAD_BEGINS, l->next_ns));
}

/*
 * The asynchronous tracks of a thread overlap each other, so outside of devices their overlaps are
 * not looked at. Nor are those of who waits for such operations, as a database's own thread does
 * while nothing is asked for: who submits to the same ring is not in its way.
 */
static bool may_overlap(const struct sweep *s, const struct sweep_thread *l)
{
	const struct engine *e = s->engine;

	if (e->defs->locations[l->location].track)
		return false;
	return e->options.version_1 ||
	       !e->regions.info[e->classes.list[l->tally->class]->key.region].reaps;
}

static int operation_begins(struct sweep *s, struct sweep_thread *l)
{
	s->n_owned += l->owned;
	l->under_way = true;
	l->next = 0;
	l->next_ns = l->op.begin_ns;
	if (!may_overlap(s, l))
		return next_boundary(s, l);
	file_enter(s, l);
	if (s->plan->needs_fs)
		user_enter(s, &s->fs[l->op.dev], l);
	if (s->plan->needs_fs && l->op.changes)
		user_enter(s, &s->changes[l->op.dev], l);
	if (s->plan->needs_dirty && l->op.dirties)
		user_enter(s, page_cache_of(s, l), l);
	return next_boundary(s, l);
}

static int operation_ends(struct sweep *s, struct sweep_thread *l)
{
	int rc = 0;

	l->under_way = false;
	l->ended_ns = l->op.end_ns;
	if (may_overlap(s, l))
		file_leave(s, l);
	if (s->plan->needs_fs && may_overlap(s, l))
		user_leave(s, &s->fs[l->op.dev], l, l->op.end_ns);
	if (s->plan->needs_fs && l->op.changes && may_overlap(s, l))
		user_leave(s, &s->changes[l->op.dev], l, l->op.end_ns);
	if (s->plan->needs_dirty && l->op.dirties && may_overlap(s, l))
		user_leave(s, page_cache_of(s, l), l, l->op.end_ns);
	s->n_owned -= l->owned;
	s->n_swept += l->owned;
	if (l->owned)
		rc = finish(s, l);
	return rc < 0 ? rc : next_operation(s, l);
}

/*
 * The device on which a stretch delays others as a request does: one throttled before the queue, a
 * call at a server; false: on none.
 */
static bool is_request(const struct sweep *s, const struct sweep_thread *l,
		       const struct stretch *st, uint32_t *dev)
{
	if (st->cell == CELL_BLOCK_THROTTLED)
		*dev = st->what;
	else if (st->cell == CELL_NET_SERVER)
		*dev = server_of(s, l);
	else
		return false;
	return true;
}

static int stretch_begins(struct sweep *s, struct sweep_thread *l)
{
	const struct stretch *st = &l->op.stretches[l->next++];
	uint64_t now = l->next_ns;
	uint32_t dev;

	if (cell_table[st->cell].group == GROUP_NATURE) {
		wait_begin(s, l, st->what, now);
	} else {
		if (is_request(s, l, st, &dev))
			request_begins(s, l, sweep_thread_of(s, l), dev, now);
		watch_begin(s, l, st, now);
	}
	l->state = THREAD_IN_STRETCH;
	l->next_ns += st->ns;
	return sweep_push(s, boundary_of(s, l, THREAD_ENDS, l->next_ns));
}

/*
 * The culprit WHO, which is LOCATION or not in the trace. The kernel names a thread of its own for
 * a request that is for nobody in the trace: for those that it worked for there, it was not. See
 * engine_pass_on().
 */
static uint64_t culprit_ahead(const struct engine *e, uint32_t location, uint32_t who)
{
	return location == ETA_NONE || e->locations[location].worked_bytes ? CULPRIT_FOREIGN | who
									   : location;
}

/*
 * The kernel named a task with a request on the device. If that task's requests are in the trace,
 * they count as such. Otherwise it gets a weight here: is there one?
 */
static bool name_ahead(struct sweep *s, struct sweep_thread *l, const struct stretch *st,
		       bool others, uint64_t now)
{
	bool is_share = st->cell == CELL_BLOCK_QUEUE || st->cell == CELL_BLOCK_DEVICE;
	uint64_t others_ns = 0;
	uint32_t location;

	if (!st->who)
		return false;
	location = sweep_location(s->plan, l->location, st->who, now);
	if (others && location != ETA_NONE && s->plan->thread_number[location] != THREAD_NONE &&
	    !s->engine->locations[location].worked_bytes)
		return true;
	/*
	 * Of a request the stretch is its share already. Else it gets half of the weight while
	 * there are others in the trace: how much it had to do there is not known.
	 */
	if (others && !is_share)
		others_ns = l->watch.listed && l->watch.present_ns < st->ns ? l->watch.present_ns
									    : st->ns;
	if (l->lost_cells >> st->cell & 1)
		weight_name(s, l, (enum cell)st->cell, culprit_ahead(s->engine, location, st->who),
			    st->ns - (others_ns - others_ns / 2));
	return true;
}

static int stretch_ends(struct sweep *s, struct sweep_thread *l)
{
	const struct stretch *st = &l->op.stretches[l->next - 1];
	uint64_t now = l->next_ns;
	uint32_t dev;

	if (cell_table[st->cell].group == GROUP_NATURE) {
		wait_end(s, l, now);
	} else {
		bool others = watch_end(s, l, now);

		if (name_ahead(s, l, st, others, now) || others)
			stretch_is_contended(l, l->next - 1);
		l->file.overlapped |= l->fs_wide && l->contended[l->next - 1];
		if (is_request(s, l, st, &dev))
			request_ends(s, l, sweep_thread_of(s, l), dev, now);
	}
	return next_boundary(s, l);
}

int sweep_thread_step(struct sweep *s, struct sweep_thread *l)
{
	switch (l->state) {
	case THREAD_OPERATION:
		return operation_begins(s, l);
	case THREAD_STRETCH:
		return stretch_begins(s, l);
	case THREAD_IN_STRETCH:
		return stretch_ends(s, l);
	case THREAD_END:
		return operation_ends(s, l);
	}
	return -EINVAL;
}

/* ---- requests ---- */

static int next_bio(struct sweep *s, struct sweep_thread *l)
{
	while (l->bios && l->bios->left) {
		int rc = bio_unspill(l->bios, &l->bio);

		if (rc < 0)
			return rc;
		if (l->bio.begin_ns >= s->from_ns || l->bio.end_ns > s->from_ns)
			return sweep_push(s, boundary_of(s, l, BIO_BEGIN, l->bio.begin_ns));
	}
	return 0;
}

/* The thread whose pages a kernel thread writes. */
static struct sweep_thread *owner_of(struct sweep *s, struct sweep_thread *l)
{
	uint32_t location, thread;

	if (l->bio.owner == 0 || l->bio.owner == s->engine->defs->locations[l->location].tid)
		return sweep_thread_of(s, l);
	location = sweep_location(s->plan, l->location, l->bio.owner, l->bio.begin_ns);
	thread = location == ETA_NONE ? THREAD_NONE : s->plan->thread_number[location];
	return sweep_thread_of(s, thread == THREAD_NONE ? l : &s->threads[thread]);
}

static int request_place(struct sweep *s, uint32_t *place)
{
	if (s->free_request) {
		*place = s->free_request - 1;
		s->free_request = s->requests[*place].next_free;
		return 0;
	}
	if (s->n_requests == s->requests_room) {
		uint32_t room = s->requests_room ? 2 * s->requests_room : 64;
		struct request *requests = reallocarray(s->requests, room, sizeof(*requests));

		if (!requests)
			return -ENOMEM;
		s->requests = requests;
		s->requests_room = room;
	}
	*place = s->n_requests++;
	return 0;
}

int sweep_thread_bio_begins(struct sweep *s, struct sweep_thread *l)
{
	struct sweep_thread *owner = owner_of(s, l);
	struct boundary end = boundary_of(s, l, BIO_END, l->bio.end_ns);
	uint32_t place;
	int rc = request_place(s, &place);

	if (rc < 0)
		return rc;
	s->requests[place] =
		(struct request){ .owner = (uint32_t)(owner - s->threads), .dev = l->bio.dev };
	end.order |= place;
	request_begins(s, l, owner, l->bio.dev, l->bio.begin_ns);
	rc = sweep_push(s, end);
	return rc < 0 ? rc : next_bio(s, l);
}

void sweep_thread_bio_ends(struct sweep *s, struct sweep_thread *l, uint32_t place, uint64_t now)
{
	struct request *r = &s->requests[place];

	request_ends(s, l, &s->threads[r->owner], r->dev, now);
	r->next_free = s->free_request;
	s->free_request = place + 1;
}

/* ---- begin and end ---- */

static int reader_new(struct sweep *s, const struct spill_stream *stream, struct spill_reader **out)
{
	*out = malloc(sizeof(**out));
	if (!*out)
		return -ENOMEM;
	spill_reader_begin(*out, &s->engine->spill, stream);
	if (s->from_ns)
		spill_reader_seek(*out, s->from_ns - 1);
	return 0;
}

int sweep_thread_open(struct sweep *s, struct sweep_thread *l, uint32_t location)
{
	struct engine *e = s->engine;
	int rc;

	l->location = location;
	l->result = &e->locations[location];
	l->own = calloc(s->plan->n_places ? s->plan->n_places : 1, sizeof(*l->own));
	if (!l->own)
		return -ENOMEM;
	if (s->plan->solo) {
		l->solo.writer = malloc(sizeof(*l->solo.writer));
		if (!l->solo.writer)
			return -ENOMEM;
		spill_writer_begin(l->solo.writer, &e->spill, &l->result->solo_stream);
	}
	rc = reader_new(s, &l->result->operations_stream, &l->operations);
	if (!rc && s->plan->needs_device && l->result->bios_stream.words)
		rc = reader_new(s, &l->result->bios_stream, &l->bios);
	if (!rc)
		rc = next_operation(s, l);
	if (!rc)
		rc = next_bio(s, l);
	return rc;
}

int sweep_thread_close(struct sweep *s, struct sweep_thread *l)
{
	pthread_mutex_t *lock;
	int rc = 0;

	if (l->result && (l->unknown_ns || l->undecided_ns || l->has_pieces)) {
		lock = &s->engine->location_locks[l->location % ENGINE_LOCKS];
		pthread_mutex_lock(lock);
		rc = pieces_end(l);
		l->result->undecided_ns += l->undecided_ns;
		if (!rc && l->unknown_ns)
			rc = blame_row_add(&l->result->blame, &s->engine->blame_bound,
					   CULPRIT_NOBODY, l->unknown_ns, 0);
		pthread_mutex_unlock(lock);
	}
	if (l->solo.writer && l->solo.n % 64) {
		spill_record(l->solo.writer, 0, 0);
		spill_put(l->solo.writer, l->solo.bits);
	}
	if (l->solo.writer && spill_writer_end(l->solo.writer) < 0)
		rc = l->solo.writer->rc;
	free(l->solo.writer);
	free(l->operations);
	free(l->bios);
	free(l->own);
	free(l->contended);
	free(l->wait.waiters);
	free(l->crowd_watch);
	weights_free(l);
	operation_record_free(&l->op);
	return rc;
}

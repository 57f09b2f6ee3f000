/* The sweep across threads: was anyone else there? Also meets the reference operations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "split.h"

/*
 * All operations and requests are walked together in time order. A resource counts who is there
 * now and who ever came; an operation compares the counts at its begin and end, so that each
 * boundary costs O(1) plus its place in the heap. A thread has one operation at a time, so "other"
 * is what is left after its own.
 */
struct presence {
	uint32_t active;
	uint64_t arrivals;
};

struct watch {
	bool others;	   /* someone was there when it began */
	uint64_t arrivals; /* of others, at the begin */
};

enum lane_state { LANE_OPERATION, LANE_PIECE, LANE_IN_PIECE, LANE_END };

/* The operations of one location on their way through the sweep. */
struct lane {
	struct location_result *result;
	uint32_t location;
	uint32_t tid;
	struct spill_reader *operations; /* NULL: all read */
	struct spill_reader *bios;
	struct presence *own; /* per device: requests that are its own */
	enum lane_state state;
	/* the operation under way */
	uint64_t begin_ns, end_ns;
	uint32_t tally, file, dev;
	bool dirties;
	unsigned n_cells;
	uint64_t cells[N_CELLS];
	uint32_t pieces_left;
	uint64_t piece_end_ns;
	uint32_t piece_dev;
	bool piece_held_back;
	bool contended[N_GROUPS];
	struct watch watch_file, watch_fs, watch_dirty, watch_device;
	/* the request under way */
	uint64_t bio_begin_ns, bio_end_ns;
	uint32_t bio_dev, bio_owner;
};

/* At equal times ends go first: touching is not overlapping. */
enum boundary_kind { BIO_END, LANE_ENDS, LANE_BEGINS, BIO_BEGIN };

struct boundary {
	uint64_t time_ns;
	uint32_t kind; /* enum boundary_kind */
	uint32_t lane;
	uint32_t owner; /* BIO_END: lane of the owner */
	uint32_t dev;	/* BIO_END */
};

struct sweep {
	struct engine *engine;
	struct lane *lanes;
	uint32_t n_lanes;
	struct presence *files;	 /* per resource number */
	struct presence *fs;	 /* per device: operations on its file system */
	struct presence *device; /* per device: requests */
	struct presence dirty;
	bool needs_fs, needs_device;
	struct boundary *heap;
	size_t n, room;
	bool root_is_free; /* was taken, and nothing has come into its place */
};

/* ---- heap ---- */

static bool before(const struct boundary *a, const struct boundary *b)
{
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns;
	if (a->kind != b->kind)
		return a->kind < b->kind;
	return a->lane < b->lane;
}

/* B into the place of the root. */
static void sift_down(struct sweep *s, struct boundary b)
{
	size_t i = 0, child;

	for (; (child = 2 * i + 1) < s->n; i = child) {
		if (child + 1 < s->n && before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (!before(&s->heap[child], &b))
			break;
		s->heap[i] = s->heap[child];
	}
	s->heap[i] = b;
}

static int push(struct sweep *s, struct boundary b)
{
	size_t i;

	/* Most boundaries are followed by the next one of the same lane, not far below the root. */
	if (s->root_is_free) {
		s->root_is_free = false;
		sift_down(s, b);
		return 0;
	}
	if (s->n == s->room) {
		size_t room = s->room ? 2 * s->room : 256;
		struct boundary *heap = reallocarray(s->heap, room, sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		s->heap = heap;
		s->room = room;
	}
	for (i = s->n++; i && before(&b, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = b;
	return 0;
}

/* The next boundary; false at the end. */
static bool pop(struct sweep *s, struct boundary *b)
{
	if (s->root_is_free && --s->n)
		sift_down(s, s->heap[s->n]);
	s->root_is_free = s->n > 0;
	if (s->n)
		*b = s->heap[0];
	return s->n;
}

/* ---- presence ---- */

static struct watch arrive(struct presence *p)
{
	struct watch w = { p->active > 0, ++p->arrivals };

	p->active++;
	return w;
}

static bool depart(struct presence *p, struct watch w)
{
	p->active--;
	return w.others || p->arrivals != w.arrivals;
}

static struct watch device_watch(const struct sweep *s, const struct lane *l, uint32_t dev)
{
	const struct presence *all = &s->device[dev], *own = &l->own[dev];

	return (struct watch){ all->active > own->active, all->arrivals - own->arrivals };
}

static void request_begins(struct sweep *s, struct lane *l, struct lane *owner, uint32_t dev)
{
	arrive(&s->device[dev]);
	arrive(&l->own[dev]);
	if (owner != l)
		arrive(&owner->own[dev]);
}

static void request_ends(struct sweep *s, struct lane *l, struct lane *owner, uint32_t dev)
{
	s->device[dev].active--;
	l->own[dev].active--;
	if (owner != l)
		owner->own[dev].active--;
}

/* ---- operations ---- */

static void meet(struct lane *l, struct reference *r)
{
	uint64_t ns = l->end_ns - l->begin_ns;

	if (!r->known || !reference_wants(r, ns, l->begin_ns, l->location))
		return;
	r->met = true;
	r->ns = ns;
	r->begin_ns = l->begin_ns;
	r->location = l->location;
	memset(r->cell_ns, 0, sizeof(r->cell_ns));
	for (unsigned i = 0; i < l->n_cells; i++)
		r->cell_ns[l->cells[i] >> SPILL_NS_BITS] = l->cells[i] & SPILL_NS_MASK;
}

static int read_operation(struct sweep *s, struct lane *l)
{
	const struct class_references *r;
	uint64_t where, fields;

	l->begin_ns = spill_get(l->operations);
	l->end_ns = spill_get(l->operations);
	where = spill_get(l->operations);
	fields = spill_get(l->operations);
	l->tally = (uint32_t)where;
	l->file = (uint32_t)(where >> 32);
	l->dev = SPILL_DEV(fields);
	l->dirties = SPILL_DIRTIES(fields);
	l->pieces_left = SPILL_PIECES(fields);
	l->n_cells = SPILL_CELLS(fields);
	for (unsigned i = 0; i < l->n_cells; i++)
		l->cells[i] = spill_get(l->operations);
	if (l->operations->rc || SPILL_TRUNCATED(fields))
		return l->operations->rc;
	r = &s->engine->references[l->result->tallies[l->tally].class];
	meet(l, r->headline);
	meet(l, r->low);
	meet(l, r->min);
	return 0;
}

/* Operations that cannot meet another thread's need no place in the sweep. */
static bool is_alone(const struct sweep *s, const struct lane *l)
{
	return !s->needs_fs && l->pieces_left == 0 && !s->engine->resources.files[l->file].shared;
}

static int next_operation(struct sweep *s, struct lane *l)
{
	do {
		int rc;

		if (l->operations->left == 0)
			return 0;
		rc = read_operation(s, l);
		if (rc < 0)
			return rc;
	} while (is_alone(s, l));
	l->state = LANE_OPERATION;
	return push(s,
		    (struct boundary){ l->begin_ns, LANE_BEGINS, (uint32_t)(l - s->lanes), 0, 0 });
}

static int next_boundary_inside(struct sweep *s, struct lane *l)
{
	uint32_t self = (uint32_t)(l - s->lanes);
	uint64_t begin, dev;

	if (l->pieces_left == 0) {
		l->state = LANE_END;
		return push(s, (struct boundary){ l->end_ns, LANE_ENDS, self, 0, 0 });
	}
	l->pieces_left--;
	begin = spill_get(l->operations);
	l->piece_end_ns = spill_get(l->operations);
	dev = spill_get(l->operations);
	if (l->operations->rc)
		return l->operations->rc;
	l->piece_dev = (uint32_t)dev;
	l->piece_held_back = dev >> 32;
	l->state = LANE_PIECE;
	return push(s, (struct boundary){ begin, LANE_BEGINS, self, 0, 0 });
}

static int note_contended(struct lane *l)
{
	struct tally *t = &l->result->tallies[l->tally];
	bool any = false;

	for (int g = 0; g < N_GROUPS; g++)
		any |= l->contended[g];
	if (!any)
		return 0;
	if (!t->contended)
		t->contended = calloc(1, sizeof(*t->contended));
	if (!t->contended)
		return -ENOMEM;
	for (int g = 0; g < N_GROUPS; g++)
		t->contended->n[g] += l->contended[g];
	for (unsigned i = 0; i < l->n_cells; i++) {
		unsigned c = (unsigned)(l->cells[i] >> SPILL_NS_BITS);

		if (l->contended[cell_table[c].group])
			t->contended->cell_ns[c] += l->cells[i] & SPILL_NS_MASK;
	}
	return 0;
}

static void operation_begins(struct sweep *s, struct lane *l)
{
	memset(l->contended, 0, sizeof(l->contended));
	l->watch_file = arrive(&s->files[l->file]);
	l->watch_fs = arrive(&s->fs[l->dev]);
	l->watch_dirty = (struct watch){ s->dirty.active > 0, s->dirty.arrivals };
	if (l->dirties)
		l->watch_dirty = arrive(&s->dirty);
}

static int operation_ends(struct sweep *s, struct lane *l)
{
	int rc;

	l->contended[GROUP_FILE] = depart(&s->files[l->file], l->watch_file);
	l->contended[GROUP_FS] = depart(&s->fs[l->dev], l->watch_fs);
	l->contended[GROUP_DIRTY] =
		l->watch_dirty.others || s->dirty.arrivals != l->watch_dirty.arrivals;
	s->dirty.active -= l->dirties;
	rc = note_contended(l);
	return rc < 0 ? rc : next_operation(s, l);
}

static void piece_begins(struct sweep *s, struct lane *l)
{
	if (l->piece_held_back)
		request_begins(s, l, l, l->piece_dev);
	l->watch_device = device_watch(s, l, l->piece_dev);
	l->state = LANE_IN_PIECE;
}

static void piece_ends(struct sweep *s, struct lane *l)
{
	struct watch now = device_watch(s, l, l->piece_dev);

	if (l->watch_device.others || now.arrivals != l->watch_device.arrivals)
		l->contended[GROUP_DEVICE] = true;
	if (l->piece_held_back)
		request_ends(s, l, l, l->piece_dev);
}

static int lane_step(struct sweep *s, struct lane *l)
{
	switch (l->state) {
	case LANE_OPERATION:
		operation_begins(s, l);
		return next_boundary_inside(s, l);
	case LANE_PIECE:
		piece_begins(s, l);
		return push(s, (struct boundary){ l->piece_end_ns, LANE_ENDS,
						  (uint32_t)(l - s->lanes), 0, 0 });
	case LANE_IN_PIECE:
		piece_ends(s, l);
		return next_boundary_inside(s, l);
	case LANE_END:
		return operation_ends(s, l);
	}
	return -EINVAL;
}

/* ---- requests ---- */

static int next_bio(struct sweep *s, struct lane *l)
{
	uint64_t what;

	if (!l->bios || l->bios->left == 0)
		return 0;
	l->bio_begin_ns = spill_get(l->bios);
	l->bio_end_ns = spill_get(l->bios);
	what = spill_get(l->bios);
	if (l->bios->rc)
		return l->bios->rc;
	l->bio_dev = (uint32_t)what;
	l->bio_owner = (uint32_t)(what >> 32);
	return push(
		s, (struct boundary){ l->bio_begin_ns, BIO_BEGIN, (uint32_t)(l - s->lanes), 0, 0 });
}

/* The thread whose pages a kworker writes; a reused tid goes to the one alive at that time. */
static struct lane *owner_of(struct sweep *s, struct lane *l)
{
	if (l->bio_owner == 0 || l->bio_owner == l->tid)
		return l;
	for (uint32_t i = 0; i < s->n_lanes; i++)
		if (s->lanes[i].tid == l->bio_owner &&
		    s->lanes[i].result->counts.first_ns <= l->bio_begin_ns &&
		    (s->lanes[i].result->counts.last_ns >= l->bio_begin_ns || i + 1 == s->n_lanes ||
		     s->lanes[i + 1].tid != l->bio_owner))
			return &s->lanes[i];
	return l;
}

static int bio_step(struct sweep *s, struct lane *l)
{
	struct lane *owner = owner_of(s, l);
	int rc;

	request_begins(s, l, owner, l->bio_dev);
	rc = push(s, (struct boundary){ l->bio_end_ns, BIO_END, (uint32_t)(l - s->lanes),
					(uint32_t)(owner - s->lanes), l->bio_dev });
	return rc < 0 ? rc : next_bio(s, l);
}

/* ---- all ---- */

static int lane_open(struct sweep *s, struct lane *l)
{
	struct engine *e = s->engine;
	size_t n_devs = e->resources.n_devs ? e->resources.n_devs : 1;

	l->tid = e->defs->locations[l->location].tid;
	l->operations = malloc(sizeof(*l->operations));
	l->own = calloc(n_devs, sizeof(*l->own));
	if (!l->operations || !l->own)
		return -ENOMEM;
	spill_reader_begin(l->operations, &e->spill, &l->result->operations_stream);
	if (s->needs_device && l->result->bios_stream.words) {
		l->bios = malloc(sizeof(*l->bios));
		if (!l->bios)
			return -ENOMEM;
		spill_reader_begin(l->bios, &e->spill, &l->result->bios_stream);
	}
	return 0;
}

static int sweep_open(struct sweep *s, struct engine *e)
{
	size_t n_devs = e->resources.n_devs ? e->resources.n_devs : 1;
	size_t n_files = e->resources.n_files ? e->resources.n_files : 1;
	int rc = 0;

	s->engine = e;
	s->needs_fs = e->has_cells[GROUP_FS] || e->has_cells[GROUP_DIRTY];
	s->needs_device = e->has_cells[GROUP_DEVICE];
	s->lanes = calloc(e->defs->n_locations ? e->defs->n_locations : 1, sizeof(*s->lanes));
	s->files = calloc(n_files, sizeof(*s->files));
	s->fs = calloc(n_devs, sizeof(*s->fs));
	s->device = calloc(n_devs, sizeof(*s->device));
	if (!s->lanes || !s->files || !s->fs || !s->device)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->defs->n_locations; i++) {
		struct location_result *r = &e->locations[i];

		if (r->operations_stream.words == 0 && r->bios_stream.words == 0)
			continue;
		s->lanes[s->n_lanes].result = r;
		s->lanes[s->n_lanes++].location = i;
	}
	for (uint32_t i = 0; i < s->n_lanes && !rc; i++)
		rc = lane_open(s, &s->lanes[i]);
	for (uint32_t i = 0; i < s->n_lanes && !rc; i++) {
		rc = next_operation(s, &s->lanes[i]);
		if (!rc)
			rc = next_bio(s, &s->lanes[i]);
	}
	return rc;
}

static void sweep_close(struct sweep *s)
{
	for (uint32_t i = 0; i < s->n_lanes; i++) {
		free(s->lanes[i].operations);
		free(s->lanes[i].bios);
		free(s->lanes[i].own);
	}
	free(s->lanes);
	free(s->files);
	free(s->fs);
	free(s->device);
	free(s->heap);
}

int engine_split(struct engine *e)
{
	struct sweep s = { 0 };
	struct boundary b;
	int rc = sweep_open(&s, e);

	while (!rc && pop(&s, &b)) {
		struct lane *l = &s.lanes[b.lane];

		if (b.kind == BIO_END)
			request_ends(&s, l, &s.lanes[b.owner], b.dev);
		else if (b.kind == BIO_BEGIN)
			rc = bio_step(&s, l);
		else
			rc = lane_step(&s, l);
	}
	sweep_close(&s);
	return rc;
}

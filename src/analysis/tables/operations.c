/* The walk over one location's events that builds its operations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "src/common/hash.h"
#include "walk.h"

/* ---- time ---- */

/* The device or task that NS in a cell of others are about, and the task that the kernel named. */
struct about {
	uint32_t what, who;
	bool elsewhere;
};

static int stretch_add(struct walk *w, uint64_t ns, enum cell cell, const struct about *about)
{
	if (w->op.n_stretches) {
		struct stretch *last = w->op.stretches + w->op.n_stretches - 1;

		if (last->cell == cell && last->what == about->what && last->who == about->who &&
		    last->elsewhere == about->elsewhere) {
			last->ns += ns;
			return 0;
		}
	}
	if (!ARRAY_FITS(w->op.stretches, w->op.n_stretches + 1, w->stretch_room))
		return -ENOMEM;
	w->op.stretches[w->op.n_stretches++] =
		(struct stretch){ ns, about->what, about->who, (uint8_t)cell, about->elsewhere };
	return 0;
}

static struct about account_others(struct walk *w, uint64_t begin, uint64_t ns, enum cell cell,
				   const struct frame *frame)
{
	uint32_t who = frame ? frame->who : 0;
	struct about about = { 0 };

	if (who == w->sink.tid)
		who = 0;
	if (w->sink.others &&
	    (cell_is_for_others(cell, who) || (w->op.only_waits && cell_is_of_some(cell)) ||
	     (w->op.syncs_others && cell_is_left_by(cell, who)))) {
		w->op.others_cell_ns[cell] += ns;
		w->op.others_ns += ns;
	}
	if (cell_table[cell].group == GROUP_NATURE)
		about.what = who;
	else if (cell_table[cell].group == GROUP_DEVICE && frame && frame->device)
		about = (struct about){ .what = frame->device, .elsewhere = true };
	else if (cell_table[cell].group == GROUP_DEVICE && w->in_flight_end_ns > begin)
		about.what = w->bio_dev;
	if (cell_names_others(cell))
		about.who = who;
	return about;
}

/* FRAME: the region that it is in; NULL: waits for requests in it. */
static int account_to(struct walk *w, uint64_t begin, uint64_t end, enum cell cell,
		      const struct frame *frame)
{
	uint64_t ns = end - begin, bit = 1ull << cell;
	struct about about = { 0 };

	w->op.ns[cell] += ns;
	w->op.cells |= bit;
	if (!(bit & (cells_of_group(GROUP_FILE) | cells_of_group(GROUP_SELF))))
		about = account_others(w, begin, ns, cell, frame);
	if (frame && frame->of_host)
		w->op.host_ns[cell_table[cell].level] += ns;
	return w->sink.stretches ? stretch_add(w, ns, cell, &about) : 0;
}

/*
 * Gives the time since the last event to the innermost region. All bios of the operation known now
 * began before, so "one is in flight" is true exactly until the latest end among them.
 */
static int account(struct walk *w, uint64_t now)
{
	const struct frame *top = &w->stack[w->depth - 1];
	uint64_t at = w->accounted_ns;
	int rc = 0;

	if (now <= at)
		return 0;
	w->accounted_ns = now;
	if (top->bio_explains && w->in_flight_end_ns > at) {
		uint64_t device = w->issued_end_ns < now ? w->issued_end_ns : now;
		uint64_t queue = w->in_flight_end_ns < now ? w->in_flight_end_ns : now;

		if (device > at) {
			rc = account_to(w, at, device, CELL_BLOCK_DEVICE, NULL);
			at = device;
		}
		if (!rc && queue > at) {
			rc = account_to(w, at, queue, CELL_BLOCK_QUEUE, NULL);
			at = queue;
		}
	}
	if (!rc && now > at)
		rc = account_to(w, at, now, (enum cell)top->cell, top);
	return rc;
}

/* ---- operations ---- */

static void operation_begin(struct walk *w, const struct eta_event *e)
{
	uint64_t cells = w->op.cells;
	struct stretch *stretches = w->op.stretches;
	struct level_region *level_regions = w->op.level_regions;
	uint64_t *ns = w->op.ns;

	while (cells) {
		enum cell c = cell_next(&cells);

		ns[c] = w->op.others_cell_ns[c] = 0;
	}
	memset(&w->op, 0, offsetof(struct operation, ns));
	memset(w->op.host_ns, 0, sizeof(w->op.host_ns));
	w->op.begin_ns = w->accounted_ns = e->time_ns;
	w->op.region = e->region;
	w->op.file = w->op.handle = ETA_NONE;
	w->op.stack = e->has & ETA_HAS_STACK ? e->stack : ETA_NONE;
	w->op.caller = e->has & ETA_HAS_CALLER ? e->caller : 0;
	w->op.mode = w->regions->info[e->region].mode;
	w->op.changes = w->regions->info[e->region].changes;
	w->op.only_waits = w->regions->light &&
			   cell_table[w->regions->info[e->region].cell].level != ETA_LEVEL_USER;
	w->op.syncs_others = w->regions->info[e->region].syncs == SYNCS_ALL;
	w->op.stretches = stretches;
	w->op.n_stretches = 0;
	w->op.level_regions = level_regions;
	w->op.n_level_regions = 0;
	w->root = w->depth;
	w->has_size = w->has_file = w->has_result = false;
	w->in_flight_end_ns = w->issued_end_ns = 0;
	w->first_end_ns = UINT64_MAX;
	w->n_bios = w->first_bio = 0;
	if (w->similar == SIMILAR_PAPER)
		w->op.signature = 0;
}

static void set_result(struct walk *w, const struct eta_event *leave)
{
	struct operation *op = &w->op;

	if (leave->has & ETA_HAS_RET) {
		if (leave->ret < 0) {
			op->result = RESULT_ERROR;
			op->bytes = 0;
			return;
		}
		/* open and lseek return no byte count */
		if (op->mode == MODE_OTHER || !w->has_size)
			return;
		/* fread and fwrite count items: what was transferred says more */
		if (!w->has_result)
			op->bytes = (uint64_t)leave->ret;
	} else if (!w->has_result && op->mode != MODE_OTHER) {
		op->bytes = op->size;
	}
	if (op->mode != MODE_OTHER && op->bytes < op->size)
		op->result = op->bytes ? RESULT_SHORT : RESULT_ZERO;
}

static int operation_end(struct walk *w, const struct eta_event *e, uint64_t signature)
{
	w->op.end_ns = w->accounted_ns;
	w->counts.last_operation_ns = w->op.end_ns;
	w->op.signature = signature;
	w->op.truncated = e->has & ETA_EVENT_TRUNCATED;
	w->op.awaited_bio = w->first_end_ns <= w->op.end_ns;
	set_result(w, e);
	level_regions_finish(&w->op);
	if (w->regions->info[w->op.region].is_memory_fault)
		shortage_settle_fault(&w->op);
	else if (w->sink.others && w->op.cells & cells_of_eviction())
		shortage_settle_read(&w->op, w->regions->light);
	w->root = NO_OPERATION;
	return w->sink.operation(w->sink.arg, &w->op);
}

static void know_file(struct walk *w, uint32_t dev, uint64_t inode)
{
	if (w->has_file)
		return;
	w->has_file = true;
	w->op.dev = dev;
	w->op.inode = inode;
}

static void know_offset(struct walk *w, int64_t offset)
{
	if (w->op.has_offset || offset < 0)
		return;
	w->op.has_offset = true;
	w->op.offset = (uint64_t)offset;
}

static void know_handle(struct walk *w, const struct eta_event *e)
{
	uint32_t file;

	if (w->op.handle == ETA_NONE && e->handle < w->defs->n_handles)
		w->op.handle = e->handle;
	if (w->op.file != ETA_NONE || e->handle >= w->defs->n_handles)
		return;
	file = w->defs->handles[e->handle].file;
	if (file >= w->defs->n_files)
		return;
	w->op.file = file;
	if (w->defs->files[file].inode)
		know_file(w, w->defs->files[file].dev, w->defs->files[file].inode);
}

/* ---- regions ---- */

/* No thread has a number as large as those are that stand for locations: a damaged archive. */
static uint32_t known_tid(uint64_t tid)
{
	return tid < TID_LOCATION ? (uint32_t)tid : 0;
}

/*
 * Is F, just pushed, a wait for a CPU while memory is reclaimed at the thread's own limit? Without
 * that it would not sleep there, and nobody would write its pages back for it.
 */
static bool is_of_limit(const struct frame *f)
{
	return f[-1].cell == CELL_PAGECACHE_RECLAIM_AT_OWN_LIMIT &&
	       (f->cell == CELL_CPU_OWN_WORK || f->cell == CELL_CPU_WAKE_UP);
}

/* A region of a guest's host, F, just pushed: what it does is part of a wait, not of the path. */
static int enter_of_host(struct frame *f, const struct eta_event *e)
{
	f->hidden = true;
	f->bio_explains = f->begins_level = false;
	f->who = f->who || e->has & ETA_HAS_WHO ? f->who | TID_LOCATION : 0;
	f->device = e->device != ETA_NONE ? e->device + 1 : 0;
	f->level_region = f[-1].level_region;
	f->levels = f[-1].levels;
	if (f->cell == CELL_INHERITED)
		f->cell = f[-1].cell;
	return 0;
}

/* What CELL, a wait for somebody, is where that one works for who waits. */
static enum cell cell_of_own(enum cell cell)
{
	/* it would hold the lock itself */
	return cell_table[cell].level == ETA_LEVEL_CPU
		       ? CELL_CPU_OWN_WORK
		       : cell_of(cell_table[cell].level, ETA_REASON_NONE);
}

static int enter(struct walk *w, const struct eta_event *e)
{
	const struct region_info *info = &w->regions->info[e->region];
	struct frame *f;
	int rc = 0;

	w->counts.regions = true;
	if (!ARRAY_FITS(w->stack, w->depth + 1, w->stack_room))
		return -ENOMEM;
	if (w->root != NO_OPERATION)
		rc = account(w, e->time_ns);
	else if (info->io && !(e->has & (ETA_EVENT_SERVES | ETA_EVENT_OF_HOST)))
		operation_begin(w, e);
	f = &w->stack[w->depth++];
	f->region = e->region;
	f->serves = e->has & ETA_EVENT_SERVES;
	f->of_host = e->has & ETA_EVENT_OF_HOST;
	if (w->root == NO_OPERATION) {
		f->begin_ns = e->time_ns;
		return rc;
	}
	f->hash = info->hash;
	f->last_child = 0;
	f->cell = info->cell;
	f->bio_explains = info->bio_explains;
	f->hidden = info->is_reason;
	w->op.added_pages |= info->adds_pages && !f->of_host;
	f->who = e->has & ETA_HAS_WHO ? known_tid(e->who) : 0;
	f->device = 0;
	if (f->of_host)
		return enter_of_host(f, e);
	/* a lock, or a CPU, that a kernel thread has in its work for this one */
	if (f->who && f->who == w->sink.tid && f->cell != CELL_INHERITED &&
	    cell_table[f->cell].group == GROUP_NATURE)
		f->cell = cell_of_own(f->cell);
	if (w->root != w->depth - 1) {
		if (f->cell == CELL_INHERITED) {
			f->cell = f[-1].cell;
			f->bio_explains = f[-1].bio_explains;
		}
		f->hidden |= f[-1].hidden;
		if (w->sink.others && is_of_limit(f))
			f->cell = f[-1].cell;
	}
	if (w->similar == SIMILAR_PAPER)
		w->op.signature = hash_mix(w->op.signature, info->hash);
	w->op.everywhere |= info->everywhere;
	if (!w->has_size && e->has & ETA_HAS_SIZE) {
		w->has_size = true;
		w->op.size = e->size;
	}
	if (e->has & ETA_HAS_OFFSET)
		know_offset(w, e->offset);
	if (e->has & ETA_HAS_FILE)
		know_file(w, e->dev, e->inode);
	if (e->has & ETA_EVENT_DIRECT)
		w->op.direct = true;
	if (w->sink.level_regions && !rc)
		rc = level_region_enter(w, f, e);
	return rc;
}

/* How much of the time from BEGIN_NS to END_NS is wanted. */
static uint64_t inside_ns(const struct walk_sink *sink, uint64_t begin_ns, uint64_t end_ns)
{
	begin_ns = begin_ns < sink->from_ns ? sink->from_ns : begin_ns;
	end_ns = end_ns > sink->to_ns ? sink->to_ns : end_ns;
	return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* The innermost region ends. */
static int leave_top(struct walk *w, const struct eta_event *e)
{
	struct frame *f;
	uint64_t signature;
	int rc;

	if (w->root == NO_OPERATION) {
		f = &w->stack[--w->depth];
		if (w->regions->info[f->region].cell == CELL_CPU_RUN_QUEUE && !f->serves)
			w->counts.outside_ns += inside_ns(&w->sink, f->begin_ns, e->time_ns);
		return 0;
	}
	rc = account(w, e->time_ns);
	if (rc < 0)
		return rc;
	f = &w->stack[--w->depth];
	if (w->sink.level_regions && f->begins_level)
		level_region_leave(w, f, e);
	if (f->of_host)
		return 0;
	if (w->similar == SIMILAR_PAPER)
		signature = w->op.signature =
			hash_mix(w->op.signature, ~w->regions->info[f->region].hash);
	else
		signature = f->hash;
	if (w->depth == w->root)
		return operation_end(w, e, signature);
	if (w->similar != SIMILAR_PAPER && !f->hidden && f->hash != f[-1].last_child) {
		f[-1].last_child = f->hash;
		f[-1].hash = hash_mix(f[-1].hash, f->hash);
	}
	return 0;
}

static int leave(struct walk *w, const struct eta_event *e)
{
	size_t d = w->depth;
	int rc = 0;

	if (d && w->stack[d - 1].region == e->region)
		return leave_top(w, e);
	while (d > 0 && w->stack[d - 1].region != e->region)
		d--;
	if (d == 0) {
		w->counts.orphan++;
		return 0;
	}
	while (!rc && w->depth >= d)
		rc = leave_top(w, e);
	return rc;
}

/* ---- I/O records ---- */

static int bio_begin(struct walk *w, const struct eta_event *e)
{
	uint32_t dev = e->handle < w->defs->n_handles ? w->defs->handles[e->handle].device : 0;
	struct bio bio = { .begin_ns = e->time_ns,
			   .end_ns = e->end_ns,
			   .dev = dev,
			   .owner_tid = e->has & ETA_EVENT_SERVES ? e->owner | TID_LOCATION
								  : known_tid(e->owner),
			   .mode = e->mode == ETA_IO_READ    ? MODE_READ
				   : e->mode == ETA_IO_WRITE ? MODE_WRITE
							     : MODE_OTHER,
			   .bytes = e->has & ETA_HAS_SIZE ? e->size : 0,
			   .offset = e->has & ETA_HAS_OFFSET ? (uint64_t)e->offset : 0,
			   .has_offset = e->has & ETA_HAS_OFFSET && e->offset >= 0,
			   .lower = e->has & ETA_EVENT_LOWER };
	int rc = 0;

	if (w->root != NO_OPERATION)
		w->op.issued_bio = true;
	if (!(e->has & ETA_HAS_END) || e->end_ns < e->time_ns) {
		w->counts.open_bios++;
		bio.open = true;
	}
	if (w->sink.bio)
		rc = w->sink.bio(w->sink.arg, &bio);
	if (bio.open)
		return rc;
	if (rc < 0 || w->root == NO_OPERATION)
		return rc;
	if (e->end_ns < w->first_end_ns)
		w->first_end_ns = e->end_ns;
	if (e->end_ns > w->in_flight_end_ns) {
		w->in_flight_end_ns = e->end_ns;
		w->bio_dev = dev;
	}
	if (!ARRAY_FITS(w->bios, w->n_bios + 1, w->bio_room))
		return -ENOMEM;
	w->bios[w->n_bios++] = (struct open_bio){ e->match, e->end_ns };
	return 0;
}

/* Requests are issued nearly in the order they were queued: the search starts at the oldest. */
static void bio_issued(struct walk *w, const struct eta_event *e)
{
	for (size_t i = w->first_bio; i < w->n_bios; i++) {
		if (w->bios[i].match != e->match)
			continue;
		if (w->bios[i].end_ns > w->issued_end_ns)
			w->issued_end_ns = w->bios[i].end_ns;
		w->bios[i] = w->bios[w->first_bio++];
		return;
	}
}

static int io_record(struct walk *w, const struct eta_event *e)
{
	bool block = e->has & ETA_EVENT_BLOCK_IO;
	int rc;

	if (w->root != NO_OPERATION && (rc = account(w, e->time_ns)) < 0)
		return rc;
	if (block && e->kind == ETA_IO_BEGIN)
		return bio_begin(w, e);
	if (block) {
		if (e->kind == ETA_IO_ISSUED && w->root != NO_OPERATION)
			bio_issued(w, e);
		return 0;
	}
	if (e->kind == ETA_IO_BEGIN && w->depth &&
	    !w->regions->info[w->stack[w->depth - 1].region].io) {
		w->found[w->stack[w->depth - 1].region] = true;
		w->any_found = true;
	}
	if (w->root == NO_OPERATION)
		return 0;
	know_handle(w, e);
	if (e->kind == ETA_IO_CREATE)
		w->op.opens = true;
	if (e->has & ETA_HAS_OFFSET)
		know_offset(w, e->offset);
	if (e->kind == ETA_IO_BEGIN) {
		if (e->mode == ETA_IO_READ)
			w->op.mode = MODE_READ;
		else if (e->mode == ETA_IO_WRITE)
			w->op.mode = MODE_WRITE;
		w->op.changes |= e->mode == ETA_IO_WRITE;
		if (!w->has_size && e->has & ETA_HAS_SIZE && e->mode != ETA_IO_FLUSH) {
			w->has_size = true;
			w->op.size = e->size;
		}
	} else if (e->kind == ETA_IO_COMPLETE && e->has & ETA_HAS_SIZE && w->depth == w->root + 1) {
		w->has_result = true;
		w->op.bytes += e->size;
	}
	return 0;
}

/* ---- the walk ---- */

int walk_events(struct walk *w, const struct eta_event *events, size_t n)
{
	int rc = 0;

	if (n && w->counts.first_ns == UINT64_MAX)
		w->counts.first_ns = events[0].time_ns;
	for (size_t i = 0; i < n && !rc; i++) {
		const struct eta_event *e = &events[i];

		if (e->kind == ETA_ENTER)
			rc = enter(w, e);
		else if (e->kind == ETA_LEAVE)
			rc = leave(w, e);
		else if (e->kind != ETA_MARK)
			rc = io_record(w, e);
	}
	if (n)
		w->counts.last_ns = events[n - 1].time_ns;
	w->counts.events += n;
	return rc;
}

void walk_take_whole(struct walk *w, const struct eta_whole *whole)
{
	w->counts.events = whole->events;
	w->counts.first_ns = whole->events ? whole->first_ns : UINT64_MAX;
	w->counts.last_ns = whole->last_ns;
	w->counts.open_bios = whole->open_requests;
	w->counts.regions = whole->regions;
	for (uint32_t i = 0; i < w->defs->n_regions; i++)
		if (whole->calls[i] && !w->regions->info[i].io)
			w->found[i] = w->any_found = true;
}

int walk_end(struct walk *w, struct walk_counts *counts)
{
	struct eta_event end = { .time_ns = w->counts.last_ns,
				 .kind = ETA_LEAVE,
				 .has = ETA_EVENT_TRUNCATED };
	int rc = 0;

	while (!rc && w->depth) {
		w->counts.truncated++;
		rc = leave_top(w, &end);
	}
	*counts = w->counts;
	return rc;
}

void walk_begin(struct walk *w, const struct walk_sink *sink)
{
	w->sink = *sink;
	w->counts = (struct walk_counts){ .first_ns = UINT64_MAX };
	w->depth = 0;
	w->root = NO_OPERATION;
}

bool walk_found(struct walk *w, struct regions *regions)
{
	if (!w->any_found || !regions)
		return w->any_found;
	for (uint32_t i = 0; i < regions->n; i++) {
		if (!w->found[i])
			continue;
		regions->info[i].io = true;
		regions->info[i].cell = CELL_USER_NONE;
	}
	return true;
}

int walk_new(const struct eta_defs *defs, const struct regions *regions, enum similar similar,
	     struct walk **out)
{
	struct walk *w = calloc(1, sizeof(*w));

	*out = w;
	if (w)
		w->found = calloc(regions->n ? regions->n : 1, sizeof(*w->found));
	if (!w || !w->found) {
		walk_free(w);
		*out = NULL;
		return -ENOMEM;
	}
	w->defs = defs;
	w->regions = regions;
	w->similar = similar;
	w->root = NO_OPERATION;
	return 0;
}

void walk_free(struct walk *w)
{
	if (!w)
		return;
	free(w->found);
	free(w->stack);
	free(w->op.stretches);
	free(w->op.level_regions);
	free(w->bios);
	free(w);
}

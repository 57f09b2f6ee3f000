/* One kernel operation and its spans, as the nested regions of the unified trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-emit.h"

/* What a region is, or lies in. */
enum {
	IN_LOCK = 1,
	IN_THROTTLING = 2,
	IN_WRITEBACK_WAIT = 4,
	IN_RECLAIM = 8,
	IN_SYNC = 16,
	IN_ALLOCATION = 32,
};

/* A wait with nothing inside? KIND may be ETA_N_SPANS, for which a set of kinds has no bit. */
static bool is_off_cpu(uint8_t kind)
{
	return kind == ETA_SPAN_RUN_QUEUE || kind == ETA_SPAN_WAKE_UP || kind == ETA_SPAN_QUOTA ||
	       kind == ETA_SPAN_STOPPED;
}

static const unsigned span_in[ETA_N_SPANS] = {
	[ETA_SPAN_FS_SYNC] = IN_SYNC,
	[ETA_SPAN_INODE_LOCK] = IN_LOCK,
	[ETA_SPAN_FILE_POSITION_LOCK] = IN_LOCK,
	[ETA_SPAN_INVALIDATE_LOCK] = IN_LOCK,
	[ETA_SPAN_OTHER_LOCK] = IN_LOCK,
	[ETA_SPAN_FILE_LOCK] = IN_LOCK,
	[ETA_SPAN_ADDRESS_SPACE_LOCK] = IN_LOCK,
	[ETA_SPAN_SPIN_LOCK] = IN_LOCK,
	[ETA_SPAN_DIRTY_THROTTLING] = IN_THROTTLING,
	[ETA_SPAN_PAGE_WRITEBACK_WAIT] = IN_WRITEBACK_WAIT,
	[ETA_SPAN_RECLAIM] = IN_RECLAIM,
	[ETA_SPAN_RECLAIM_AT_OWN_LIMIT] = IN_RECLAIM,
	[ETA_SPAN_ALLOCATION] = IN_ALLOCATION,
};

enum request_state { THROTTLED, QUEUED, LOST, AT_DEVICE, UNNAMED };

/*
 * Where the thread's requests are at NOW_NS, and until when at most that holds. A request at the
 * device outweighs one in the queue. One whose issue was not seen counts as issued at once, and one
 * that was sent again as lost until then.
 */
static enum request_state state_at(const struct expand_bio *bios, size_t n, uint64_t now_ns,
				   uint64_t *until_ns)
{
	enum request_state state = THROTTLED;

	for (size_t i = 0; i < n; i++) {
		uint64_t begin_ns = bios[i].queue_ns, end_ns = bios[i].end_ns;
		uint64_t issue_ns = bios[i].issue_ns ? bios[i].issue_ns : begin_ns;
		enum request_state own;

		if (end_ns && end_ns <= now_ns)
			continue;
		if (begin_ns > now_ns) {
			if (begin_ns < *until_ns)
				*until_ns = begin_ns;
			continue;
		}
		own = issue_ns > now_ns ? QUEUED : bios[i].resent_ns > now_ns ? LOST : AT_DEVICE;
		if (own == QUEUED && issue_ns < *until_ns)
			*until_ns = issue_ns;
		if (own == LOST && bios[i].resent_ns < *until_ns)
			*until_ns = bios[i].resent_ns;
		if (end_ns && end_ns < *until_ns)
			*until_ns = end_ns;
		if (own > state)
			state = own;
	}
	return state;
}

/*
 * The task that was ahead of the thread's requests in STATE at NOW_NS: of the first for which it is
 * known.
 */
static struct expand_who who_ahead(const struct expand_bio *bios, size_t n, uint64_t now_ns,
				   enum request_state state)
{
	for (size_t i = 0; i < n; i++) {
		bool queued = bios[i].issue_ns > now_ns;
		struct expand_who who = {
			.tid = queued ? bios[i].queue_who : bios[i].device_who,
			.part = queued ? bios[i].queue_part : bios[i].device_part,
			.beside = bios[i].beside_who,
			.beside_share = bios[i].beside_share,
		};

		if (who.tid && queued == (state == QUEUED) && bios[i].queue_ns <= now_ns &&
		    (!bios[i].end_ns || bios[i].end_ns > now_ns))
			return who;
	}
	return (struct expand_who){ 0 };
}

/*
 * What the time from FROM_NS to the wakeup at WAKE_NS is, in which the thread has no request.
 * Right after a completion it is the way of that through interrupt and wakeup, which is short
 * beside the request itself. What is longer, in a wait for writeback, is the page's way out of it
 * (workers of the file system), and elsewhere a wait for a request that was not queued yet.
 */
static enum request_state state_after_last(const struct expand *expand,
					   const struct expand_bio *bios, size_t n,
					   uint64_t from_ns, uint64_t wake_ns)
{
	const struct expand_bio *last = NULL;

	for (size_t i = 0; i < n; i++)
		if (bios[i].end_ns && bios[i].end_ns <= from_ns &&
		    (!last || bios[i].end_ns > last->end_ns))
			last = &bios[i];
	if (!last)
		return THROTTLED;
	if (wake_ns - last->end_ns <= last->end_ns - last->queue_ns)
		return AT_DEVICE;
	return expand->stack[expand->depth - 1].in & IN_WRITEBACK_WAIT ? UNNAMED : THROTTLED;
}

/* The regions of SPAN's time by state. */
static void name_states(const struct expand *expand, const struct expand_span *span,
			uint32_t regions[UNNAMED + 1])
{
	const struct spool_index *index = expand->index;
	enum eta_level level = expand->stack[expand->depth - 1].level;

	regions[LOST] = index->regions.retransmit;
	regions[UNNAMED] = ETA_NONE;
	if (expand->remote) {
		regions[THROTTLED] = index->regions.other_wait[level];
		regions[QUEUED] = index->regions.rpc_queue;
		regions[AT_DEVICE] = index->regions.server;
		return;
	}
	regions[QUEUED] = index->regions.queue;
	regions[AT_DEVICE] = index->regions.device;
	if (expand->asynchronous) /* nobody sleeps: not submitted yet, or not any more */
		regions[THROTTLED] = ETA_NONE;
	else if (span->flags & ETA_SPAN_OWN_LIMIT)
		regions[THROTTLED] = index->regions.throttled_by_own_limit;
	else
		regions[THROTTLED] = index->regions.throttled;
}

/* Waiting for requests, distinguished by where the thread's own are. */
static int split_wait(struct expand *expand, const struct expand_span *span,
		      const struct expand_bio *bios, size_t n)
{
	uint32_t regions[UNNAMED + 1];
	uint64_t from_ns = span->begin_ns, now_ns = from_ns, state_ns = from_ns;
	enum request_state state = THROTTLED;
	int rc = 0;

	name_states(expand, span, regions);
	/* [from, state) is in no region yet and in STATE */
	while (rc == 0 && now_ns < span->end_ns) {
		uint64_t until_ns = span->end_ns;
		enum request_state next = state_at(bios, n, now_ns, &until_ns);

		if (next == THROTTLED && until_ns == span->end_ns && !expand->asynchronous)
			next = state_after_last(expand, bios, n, now_ns, span->end_ns);
		if (next != state && state_ns > from_ns) {
			rc = expand_leaf_parted(expand, from_ns, state_ns, regions[state],
						who_ahead(bios, n, from_ns, state));
			from_ns = state_ns;
		}
		state = next;
		state_ns = now_ns = until_ns;
	}
	if (rc == 0 && state_ns > from_ns)
		rc = expand_leaf_parted(expand, from_ns, state_ns, regions[state],
					who_ahead(bios, n, from_ns, state));
	return rc;
}

static bool in_flight(const struct expand_span *span, const struct expand_bio *bios, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bios[i].queue_ns < span->end_ns &&
		    (!bios[i].end_ns || bios[i].end_ns > span->begin_ns))
			return true;
	return false;
}

/* What a place says that waits there are, ETA_NONE where that says nothing. */
static uint32_t place_region(const struct spool_index *index, uint32_t place)
{
	return place < index->n_sleeps ? index->sleeps[place].region : ETA_NONE;
}

/* OTHERWISE, or its like for waits at a place that is known, but not listed. */
#define UNLISTED(index, place, which, otherwise)                                                   \
	((place) < (index)->n_sleeps && (index)->places[place].which != ETA_NONE                   \
		 ? (index)->places[place].which                                                    \
		 : (otherwise))

/* The same of a sleep. */
static uint32_t sleep_region(const struct expand *expand, const struct expand_span *span)
{
	const struct spool_index *index = expand->index;
	uint32_t region = place_region(index, span->who);

	/* it waits for pages that the server has been asked for */
	if (expand->fuse && (region == index->regions.page_lock ||
			     (region == ETA_NONE && span->flags & ETA_SPAN_IOWAIT)))
		return index->regions.fuse_server;
	/* the pages are its own, so it waits for its own requests, which are not in flight yet */
	if (region == index->regions.page_lock && expand->adds_pages)
		return ETA_NONE;
	return region;
}

/*
 * Somebody not traced, in the way of a sleep for the journal, the queue, or who writes back; or who
 * is asked.
 */
static struct expand_who sleep_who(const struct expand *expand, const struct expand_span *span,
				   uint32_t region)
{
	const struct spool_index *index = expand->index;
	struct expand_who who = { 0 };
	uint32_t changes;

	if (span->kind == ETA_SPAN_SLEEP && region != ETA_NONE &&
	    (region == index->regions.journal_commit || region == index->regions.throttled ||
	     region == index->regions.writeback_wait || region == index->regions.fuse_server ||
	     region == UNLISTED(index, span->who, journal_commit, ETA_NONE))) {
		who.tid = ETA_SLEEP_TID(span->object);
		who.part = ETA_SLEEP_PART(span->object);
		changes = (uint32_t)((uint64_t)ETA_SLEEP_WHOLE * span->changes / ETA_SLEEP_CHANGES);
		if (region != index->regions.throttled && region != index->regions.writeback_wait &&
		    changes > who.part)
			who.part = changes;
	}
	if (region != ETA_NONE && region == index->regions.fanotify_listener)
		who = (struct expand_who){ .tid = index->listener_tid, .part = ETA_SLEEP_WHOLE };
	return who;
}

/* Off the CPU and not runnable: named after its cause, unless the region around it does that. */
static int expand_sleep(struct expand *expand, const struct expand_span *span,
			const struct expand_bio *bios, size_t n)
{
	const struct expand_open *around = &expand->stack[expand->depth - 1];
	uint32_t region, place;

	/*
	 * Throttling sleeps in io_schedule too, but waits for no device; whoever reclaims pages
	 * waits for them to be written, by itself or by others, because memory is short.
	 */
	if (around->in & (IN_THROTTLING | IN_LOCK | IN_RECLAIM))
		return 0;
	region = span->kind == ETA_SPAN_SLEEP ? sleep_region(expand, span) : ETA_NONE;
	/* the region around it says whose memory it is short of */
	if (around->in & IN_RECLAIM && region == expand->index->regions.reclaim)
		return 0;
	/* what it reads and writes to make room in the journal is the journal's */
	if (region != ETA_NONE && (region == expand->index->regions.journal_commit ||
				   !(span->flags & ETA_SPAN_IOWAIT && in_flight(span, bios, n))))
		return expand_leaf_parted(expand, span->begin_ns, span->end_ns, region,
					  sleep_who(expand, span, region));
	if (expand->remote && in_flight(span, bios, n))
		return split_wait(expand, span, bios, n);
	if (span->flags & ETA_SPAN_IOWAIT) {
		/* writeback that others do */
		if ((around->in & (IN_WRITEBACK_WAIT | IN_SYNC)) == IN_WRITEBACK_WAIT &&
		    !in_flight(span, bios, n))
			return 0;
		return split_wait(expand, span, bios, n);
	}
	if (around->in & (IN_WRITEBACK_WAIT | IN_ALLOCATION))
		return 0;
	place = span->kind == ETA_SPAN_SLEEP ? span->who : 0;
	if (around->in & IN_SYNC)
		region = UNLISTED(expand->index, place, journal_commit,
				  expand->index->regions.journal_commit);
	else
		region = UNLISTED(expand->index, place, other_wait[around->level],
				  expand->index->regions.other_wait[around->level]);
	return expand_leaf_parted(expand, span->begin_ns, span->end_ns, region,
				  sleep_who(expand, span, region));
}

static int expand_span(struct expand *expand, const struct index_fs *fs, struct expand_span span,
		       struct spool_name name, const struct expand_bio *bios, size_t n)
{
	const struct expand_open *around;
	uint64_t last_ns;
	uint32_t region;
	int rc = expand_leave_until(expand, span.begin_ns);

	if (rc)
		return rc;
	around = &expand->stack[expand->depth - 1];
	last_ns = expand->events[expand->n - 1].time_ns;
	if (span.begin_ns < last_ns)
		span.begin_ns = last_ns;
	if (span.end_ns > around->end_ns)
		span.end_ns = around->end_ns;
	if (span.begin_ns > span.end_ns)
		return 0;
	if (span.kind == ETA_SPAN_SLEEP)
		return expand_sleep(expand, &span, bios, n);
	/* the locks of the maps of free blocks have no name of their own */
	if ((span.kind == ETA_SPAN_OTHER_LOCK || span.kind == ETA_SPAN_SPIN_LOCK) &&
	    around->in & IN_ALLOCATION)
		return 0;
	if (span.kind == ETA_SPAN_PAGE_WRITEBACK_WAIT && around->in & IN_RECLAIM)
		return 0;
	if (span.kind == ETA_N_SPANS)
		region = name.kind == ETA_OP_READ ? fs->file_read : fs->file_write;
	else
		region = index_region(expand->index, fs, span.kind, span.flags);
	if (span.place && place_region(expand->index, span.place) != ETA_NONE)
		region = place_region(expand->index, span.place);
	else if (span.place)
		region = UNLISTED(expand->index, span.place, lock, region);
	/* whoever has not to wait for a lock need not wake up from that */
	if (span.kind == ETA_SPAN_WAKE_UP && around->in & IN_LOCK)
		return 0;
	if (is_off_cpu(span.kind)) {
		rc = expand_event(expand, ETA_ENTER, span.begin_ns, region, span.who);
		return rc ? rc : expand_event(expand, ETA_LEAVE, span.end_ns, region, 0);
	}
	if (span.kind == ETA_SPAN_PAGE_WRITEBACK_WAIT &&
	    ETA_SLEEP_PART(span.object) >= ETA_SLEEP_WHOLE / 2)
		span.who = ETA_SLEEP_TID(span.object);
	rc = expand_enter(
		expand, span.begin_ns, span.end_ns, region, expand->index->span_levels[span.kind],
		around->in | (span.kind < ETA_N_SPANS ? span_in[span.kind] : 0), span.who);
	if (rc == 0 && span.kind == ETA_SPAN_DIRTY_THROTTLING && span.object) {
		struct eta_event *enter = &expand->events[expand->n - 1];

		enter->has |= ETA_HAS_PAUSE;
		enter->pause_ns = span.object;
	}
	/* a wait that is its own sleep */
	if (rc == 0 && span.kind == ETA_SPAN_PAGE_WRITEBACK_WAIT && span.flags & ETA_SPAN_IOWAIT)
		rc = expand_sleep(expand, &span, bios, n);
	return rc;
}

/* What the operation as a whole is about, on its ENTER. */
static void describe(struct eta_event *event, const struct eta_kernel_op *op,
		     struct spool_name name)
{
	if (op->size || name.kind == ETA_OP_READ || name.kind == ETA_OP_WRITE) {
		event->has |= ETA_HAS_SIZE;
		event->size = op->size;
	}
	if (op->offset != ETA_OFFSET_UNKNOWN && name.kind != ETA_OP_SEEK) {
		event->has |= ETA_HAS_OFFSET;
		event->offset = op->offset;
	}
	if (op->inode) {
		event->has |= ETA_HAS_FILE;
		event->inode = op->inode;
		event->dev = op->dev;
	}
	if (op->op_flags & ETA_KOP_DIRECT)
		event->has |= ETA_EVENT_DIRECT;
}

/* A sleep at PLACE on the way out of a call whose record is missing. */
static uint32_t idle_region(const struct spool_index *index, uint32_t place)
{
	uint32_t region = place_region(index, place);

	if (region != ETA_NONE)
		return region;
	return UNLISTED(index, place, other_wait[ETA_LEVEL_VFS],
			index->regions.other_wait[ETA_LEVEL_VFS]);
}

/* Waits outside of any operation; inside a library call, the merge puts them where they belong. */
static int expand_waits(struct expand *expand, const struct index_fs *fs,
			const struct eta_kernel_op *op, ssize_t n)
{
	int rc = 0;

	for (ssize_t i = 0; rc == 0 && i < n; i++) {
		const struct expand_span *span = &expand->spans[i];
		uint32_t region = index_region(expand->index, fs, span->kind, span->flags),
			 who = span->who;

		if (span->kind == ETA_SPAN_SLEEP) {
			region = idle_region(expand->index, span->who);
			who = sleep_who(expand, span, region).tid;
		}
		rc = expand_event(expand, ETA_ENTER, span->begin_ns, region, who);
		if (rc == 0 && op->inode) { /* for a lock on a file */
			struct eta_event *enter = &expand->events[expand->n - 1];

			enter->has |= ETA_HAS_FILE;
			enter->inode = op->inode;
			enter->dev = op->dev;
		}
		if (rc == 0)
			rc = expand_event(expand, ETA_LEAVE, span->end_ns, region, 0);
	}
	return rc;
}

/* Is it a wait of the thread that had to report the result, which was there? */
static bool is_after_flight(uint8_t flags)
{
	return flags & ETA_SPAN_RETURNING;
}

/*
 * Of an operation that no thread waits for, the time in which its requests are on their way: after
 * what the worker that served it has waited for, if one did.
 */
static int expand_flight(struct expand *expand, const struct eta_kernel_op *op, uint64_t end_ns,
			 const struct expand_bio *bios, size_t n_bios)
{
	const struct eta_span *spans = (const void *)(op + 1);
	struct expand_span flight = { .begin_ns = op->head.time_ns, .end_ns = end_ns };
	int rc;

	for (size_t i = 0; i + 2 < op->head.units; i++)
		if (!is_after_flight(spans[i].flags) && spans[i].end_ns > flight.begin_ns)
			flight.begin_ns = spans[i].end_ns;
	if (flight.begin_ns >= end_ns)
		return 0;
	rc = expand_leave_until(expand, flight.begin_ns);
	if (rc)
		return rc;
	expand->asynchronous = true;
	return split_wait(expand, &flight, bios, n_bios);
}

int expand_operation(struct expand *expand, const struct eta_kernel_op *op, struct spool_name name,
		     const struct expand_bio *bios, size_t n_bios, bool remote)
{
	const struct index_fs *fs = index_find_fs(expand->index, op->dev);
	uint64_t end_ns = op->head.end_ns ? op->head.end_ns : op->head.time_ns;
	struct eta_event *last;
	bool flies;
	ssize_t n;
	int rc;

	expand->n = 0;
	expand->depth = 0;
	expand->adds_pages = op->op_flags & ETA_KOP_MISS;
	expand->remote = remote;
	expand->fuse = fs->magic == FUSE_SUPER_MAGIC;
	if (end_ns < op->head.time_ns)
		end_ns = op->head.time_ns;
	n = expand_take_spans(expand, op, end_ns, name.kind);
	if (n < 0)
		return (int)n;
	if (op->head.type == ETA_RECORD_WAIT)
		return expand_waits(expand, fs, op, n);
	/* no probe reported the begin of the file system's sync */
	rc = expand_enter(expand, op->head.time_ns, end_ns, name.region, ETA_LEVEL_VFS,
			  op->op_flags & ETA_KOP_WAITS && name.kind == ETA_OP_SYNC ? IN_SYNC : 0,
			  0);
	if (rc)
		return rc;
	describe(&expand->events[0], op, name);
	expand->asynchronous = false;
	flies = op->head.type == ETA_RECORD_ASYNC_OP;
	for (ssize_t i = 0; rc == 0 && i < n; i++) {
		if (flies && is_after_flight(expand->spans[i].flags)) {
			rc = expand_flight(expand, op, expand->spans[i].begin_ns, bios, n_bios);
			flies = false;
		}
		if (rc == 0)
			rc = expand_span(expand, fs, expand->spans[i], name, bios, n_bios);
	}
	if (rc == 0 && flies)
		rc = expand_flight(expand, op, end_ns, bios, n_bios);
	while (rc == 0 && expand->depth > 0)
		rc = expand_leave(expand);
	if (rc)
		return rc;
	last = &expand->events[expand->n - 1];
	if (op->op_flags & ETA_KOP_WAITS) {
		expand->events[0].has |= ETA_EVENT_WAITS;
		last->has = ETA_EVENT_WAITS;
	} else if (op->head.end_ns) {
		last->has = ETA_HAS_RET;
		last->ret = op->ret;
	} else {
		last->has = ETA_EVENT_TRUNCATED;
		expand->counts->truncated++;
	}
	return 0;
}

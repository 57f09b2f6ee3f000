/* The check stage: every ENTER gets its LEAVE, time never runs backwards, and both are counted. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "check.h"

#include <errno.h>
#include <stdlib.h>

#define ATTRIBUTES (ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE)

void check_init(struct check *check, check_pull_fn pull, void *arg, struct eta_counts *counts,
		bool strip)
{
	*check = (struct check){ .pull = pull, .arg = arg, .counts = counts, .strip = strip };
}

void check_free(struct check *check)
{
	free(check->stack);
	free(check->attributes);
	free(check->forced);
	free(check->made);
}

static int no_memory(size_t wanted)
{
	eta_error("not enough memory for %zu regions inside each other", wanted);
	return -ENOMEM;
}

/* Room for one more open region; the arrays stay as they were where there is none. */
static int stack_grow(struct check *check)
{
	size_t room = check->room, attributes_room = check->room;
	const size_t wanted = room + 1;

	if (!ARRAY_FITS(check->stack, wanted, room) ||
	    (check->strip && !ARRAY_FITS(check->attributes, wanted, attributes_room)))
		return no_memory(wanted);
	check->room = room;
	return 0;
}

/* Takes from EVENT what AROUND has too, and gives what holds inside it. */
static void strip_enter(struct eta_event *event, const struct check_attributes *around,
			struct check_attributes *inside)
{
	uint16_t both = event->has & around->has, same = 0;

	if (!(event->has & ATTRIBUTES) && !around->has) { /* most regions of most traces */
		inside->has = 0;
		return;
	}
	if ((both & ETA_HAS_SIZE) && event->size == around->size)
		same |= ETA_HAS_SIZE;
	if ((both & ETA_HAS_OFFSET) && event->offset == around->offset)
		same |= ETA_HAS_OFFSET;
	if ((both & ETA_HAS_FILE) && event->inode == around->inode && event->dev == around->dev)
		same |= ETA_HAS_FILE;
	event->has &= (uint16_t)~same;
	*inside = *around;
	inside->has |= event->has & ATTRIBUTES;
	inside->size_is_own = event->has & ETA_HAS_SIZE;
	if (event->has & ETA_HAS_SIZE)
		inside->size = event->size;
	if (event->has & ETA_HAS_OFFSET)
		inside->offset = event->offset;
	if (event->has & ETA_HAS_FILE) {
		inside->inode = event->inode;
		inside->dev = event->dev;
	}
}

/* The ret of an inner LEAVE says nothing new when it is the size that was asked for. */
static inline void strip_leave(struct eta_event *event, const struct check_attributes *inside)
{
	if (event->has & ETA_HAS_RET && inside->has & ETA_HAS_SIZE && !inside->size_is_own &&
	    event->ret == (int64_t)inside->size)
		event->has &= (uint16_t)~ETA_HAS_RET;
}

/* There is room on the stack. EVENT is written to only with strip. */
static inline __attribute__((always_inline)) void push(struct check *check, size_t depth,
						       const struct eta_event *event, bool strip)
{
	static const struct check_attributes none;

	check->stack[depth] = event->region;
	if (strip) /* our own memory: see check_init */
		strip_enter((struct eta_event *)event,
			    depth ? &check->attributes[depth - 1] : &none,
			    &check->attributes[depth]);
}

/* Moves check->at over the events that are sound. The hot loop of every merge and analysis. */
static inline __attribute__((always_inline)) int scan(struct check *check, bool strip)
{
	const struct eta_event *event = check->batch + check->at, *end = check->batch + check->n;
	uint64_t last_ns = check->last_ns;
	size_t depth = check->depth;
	int rc = 0;

	for (; event < end; event++) {
		if (event->time_ns < last_ns)
			break;
		if (event->kind == ETA_ENTER) {
			if (depth == check->room) {
				rc = stack_grow(check);
				if (rc)
					break;
			}
			push(check, depth++, event, strip);
		} else if (event->kind == ETA_LEAVE) {
			if (depth == 0 || check->stack[depth - 1] != event->region)
				break;
			depth--;
			if (strip)
				strip_leave((struct eta_event *)event, &check->attributes[depth]);
		}
		last_ns = event->time_ns;
	}
	check->at = (size_t)(event - check->batch);
	check->last_ns = last_ns;
	check->depth = depth;
	return rc;
}

static int make(struct check *check, const struct eta_event *event)
{
	if (!ARRAY_FITS(check->made, check->n_made + 1, check->made_room))
		return no_memory(check->n_made + 1);
	check->made[check->n_made++] = *event;
	return 0;
}

/* Closes the innermost region now, with a LEAVE that is in no input. */
static int close_innermost(struct check *check, uint16_t has)
{
	const struct eta_event leave = {
		.time_ns = check->last_ns,
		.kind = ETA_LEAVE,
		.has = has,
		.region = check->stack[check->depth - 1],
	};

	check->depth--;
	return make(check, &leave);
}

/* Remembers that the LEAVE of REGION may still come. */
static int force(struct check *check, uint32_t region)
{
	if (!ARRAY_FITS(check->forced, check->n_forced + 1, check->forced_room))
		return no_memory(check->n_forced + 1);
	check->forced[check->n_forced++] = region;
	return 0;
}

/* Was REGION closed by us? Then its own LEAVE is neither passed on nor an orphan. */
static bool was_forced(struct check *check, uint32_t region)
{
	for (size_t i = check->n_forced; i-- > 0;)
		if (check->forced[i] == region) {
			check->forced[i] = check->forced[--check->n_forced];
			return true;
		}
	return false;
}

static int mend_leave(struct check *check, const struct eta_event *event)
{
	size_t found = check->depth;
	int rc = 0;

	while (found > 0 && check->stack[found - 1] != event->region)
		found--;
	if (found == 0) {
		if (!was_forced(check, event->region))
			check->counts->orphan++;
		return 0;
	}
	while (rc == 0 && check->depth > found) {
		check->counts->overlapping++;
		rc = force(check, check->stack[check->depth - 1]);
		if (rc == 0)
			rc = close_innermost(check, 0);
	}
	if (rc == 0) {
		check->depth--;
		rc = make(check, event);
	}
	return rc;
}

/* The event at check->at is not sound: puts what shall stand in its place into check->made. */
static int mend(struct check *check)
{
	struct eta_event event = check->batch[check->at++];

	if (event.time_ns < check->last_ns) {
		event.time_ns = check->last_ns;
		check->counts->out_of_order++;
	}
	check->last_ns = event.time_ns;
	if (event.kind == ETA_LEAVE)
		return mend_leave(check, &event);
	if (event.kind == ETA_ENTER) {
		int rc = check->depth == check->room ? stack_grow(check) : 0;

		if (rc)
			return rc;
		push(check, check->depth++, &event, check->strip);
	}
	return make(check, &event);
}

static int close_all(struct check *check)
{
	int rc = 0;

	check->counts->truncated += check->depth;
	while (rc == 0 && check->depth > 0)
		rc = close_innermost(check, ETA_EVENT_TRUNCATED);
	return rc;
}

ssize_t check_read(struct check *check, const struct eta_event **out)
{
	for (;;) {
		size_t from = check->at;
		ssize_t n;
		int rc;

		if (check->ended)
			return 0;
		check->n_made = 0;
		if (check->at == check->n) {
			n = check->pull(check->arg, &check->batch);
			if (n < 0)
				return n;
			check->n = (size_t)n;
			check->at = from = 0;
			check->ended = n == 0;
		}
		if (check->ended)
			rc = close_all(check);
		else
			rc = check->strip ? scan(check, true) : scan(check, false);
		if (rc)
			return rc;
		if (check->at > from) {
			*out = check->batch + from;
			return (ssize_t)(check->at - from);
		}
		if (!check->ended) {
			rc = mend(check);
			if (rc)
				return rc;
		}
		if (check->n_made > 0) {
			*out = check->made;
			return (ssize_t)check->n_made;
		}
	}
}

/* Logs that have beginnings and ends of calls: calls whose ends they do not have. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "log-events.h"

/*
 * A return probe misses some calls, events are lost, some logs have no ends at all. Left open, such
 * a call would last until the log's end and have all later ones inside. So it ends where its thread
 * was last seen before what cannot be inside of it begins: the same function on the same file; of a
 * function without any ends all but what a transfer passes through: the same file and size, a layer
 * below. Or before what is around it ends.
 */
enum {
	OPEN_MAX = 32, /* more inside each other are taken for lost ends, too */
	BATCH = 256,
};

struct open_call {
	uint32_t region;
	int layer;
	bool has_size;
	uint64_t inode; /* 0: unknown */
	uint64_t size;
};

struct leaves_cursor {
	struct log_filter filter;
	const struct eta_event *batch;
	size_t n_batch, at;
	uint64_t last_ns;
	uint32_t depth;
	struct open_call open[OPEN_MAX];
	uint32_t n_out;
	struct eta_event out[BATCH + OPEN_MAX];
};

static bool endless(const struct leaves_cursor *c, uint32_t region)
{
	const struct log *log = c->filter.cursor.trace->data;

	return region < 64 && log->endless >> region & 1;
}

/* Ends all but the outermost KEEP calls where the thread was last seen. */
static void close_to(struct leaves_cursor *c, uint32_t keep)
{
	while (c->depth > keep) {
		uint32_t region = c->open[--c->depth].region;
		bool lost = !endless(c, region);

		c->filter.cursor.counts.truncated += lost;
		c->out[c->n_out++] = (struct eta_event){
			.time_ns = c->last_ns,
			.kind = ETA_LEAVE,
			.has = lost ? ETA_EVENT_TRUNCATED : 0,
			.region = region,
		};
	}
}

/* How far below the system call a region is, in the order in which the kernel calls. */
static int layer_of(const struct leaves_cursor *c, uint32_t region)
{
	switch (c->filter.cursor.trace->defs.regions[region].level) {
	case ETA_LEVEL_VFS:
		return 0;
	case ETA_LEVEL_FS:
		return 1;
	default:
		return 2;
	}
}

/* May CALL be inside of AROUND, as far as is known? */
static bool may_be_inside(const struct leaves_cursor *c, const struct open_call *call,
			  const struct open_call *around)
{
	bool other = call->inode && around->inode && call->inode != around->inode;

	if (!endless(c, around->region))
		return other || call->region != around->region;
	if (other || (call->has_size && around->has_size && call->size != around->size))
		return false;
	/* a system call does not know its file, what it calls on the same layer does */
	return call->layer > around->layer ||
	       (call->layer == around->layer && call->inode && !around->inode);
}

static void enter(struct leaves_cursor *c, const struct eta_event *event)
{
	const struct open_call call = {
		.region = event->region,
		.layer = layer_of(c, event->region),
		.has_size = event->has & ETA_HAS_SIZE,
		.inode = event->has & ETA_HAS_FILE ? event->inode : 0,
		.size = event->size,
	};
	uint32_t i = 0;

	while (i < c->depth && may_be_inside(c, &call, &c->open[i]))
		i++;
	close_to(c, i == OPEN_MAX ? 0 : i);
	c->open[c->depth++] = call;
}

/*
 * Ends what the log has no ends of, as far as nothing else is inside: at the end, and before a
 * block request, which may be of a call that is not in the log, much later.
 */
static void close_endless(struct leaves_cursor *c)
{
	uint32_t keep = c->depth;

	while (keep > 0 && endless(c, c->open[keep - 1].region))
		keep--;
	close_to(c, keep);
}

static void leave(struct leaves_cursor *c, const struct eta_event *event)
{
	uint32_t i = c->depth;

	while (i > 0 && c->open[i - 1].region != event->region)
		i--;
	if (i == 0) /* the check behind every source counts the orphan */
		return;
	close_to(c, i);
	c->depth--;
}

int log_end_point(struct log *log, uint32_t location, const struct eta_event *event)
{
	uint64_t bit = event->region < 64 ? 1ull << event->region : 0;

	if (event->kind == ETA_ENTER)
		log->entered |= bit;
	else
		log->left |= bit;
	return log_event(log, location, event);
}

ssize_t log_leaves_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct leaves_cursor *c = (struct leaves_cursor *)cursor;

	c->n_out = 0;
	while (c->n_out < BATCH) {
		const struct eta_event *event;

		if (c->at == c->n_batch) {
			ssize_t n = log_cursor_read(c->filter.inner, &c->batch);

			if (n < 0)
				return n;
			c->n_batch = (size_t)n;
			c->at = 0;
			if (n == 0) {
				/* those that the log has ends of are the check's to close */
				close_endless(c);
				break;
			}
		}
		event = &c->batch[c->at++];
		if (event->kind == ETA_ENTER)
			enter(c, event);
		else if (event->kind == ETA_LEAVE)
			leave(c, event);
		else
			close_endless(c);
		c->out[c->n_out++] = *event;
		c->last_ns = event->time_ns;
	}
	*batch = c->out;
	return (ssize_t)c->n_out;
}

int log_leaves_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	return log_filter_open(trace, location, sizeof(struct leaves_cursor), out);
}

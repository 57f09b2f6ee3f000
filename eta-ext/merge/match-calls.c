/* The first calls of a thread, seen from two sides: which belong together, and how the clocks
 * stand. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "match-calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A call may be missing on the other side (filtered, lost); that many make it another's. */
enum { MISSES = 8 };
/* The call that a base is tried from need not be the first one. */
enum { ANCHORS = 2 };

/*
 * What a library call and its system call have in common. Those of stdio have none of their own.
 * "pwrite" and "sys_pwrite64", "readv" and "sys_preadv2" are of one family.
 */
static uint32_t kind_of(const char *region)
{
	static const struct {
		const char *start;
		uint32_t kind;
	} families[] = { { "read", 1 },	 { "pread", 1 },     { "write", 2 }, { "pwrite", 2 },
			 { "fsync", 3 }, { "fdatasync", 3 }, { "syncfs", 3 } };
	enum eta_level level;
	enum eta_reason reason;
	const char *name = eta_region_name_split(region, &level, &reason);

	if (strncmp(name, "sys_", 4) == 0)
		name += 4;
	if (reason != ETA_REASON_NONE || strncmp(name, "readahead", 9) == 0 ||
	    strncmp(name, "readlink", 8) == 0 || strncmp(name, "readdir", 7) == 0)
		return 0;
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++)
		if (strncmp(name, families[i].start, strlen(families[i].start)) == 0)
			return families[i].kind;
	return 0;
}

/* The call that is open now, and what of it is known. */
struct loading {
	const uint32_t *kinds; /* of the regions */
	const struct eta_clock_map *clock;
	struct calls *calls;
	size_t depth, at; /* depth of the open call, 0: none */
	struct call call;
};

static void load_event(struct loading *l, const struct eta_event *event)
{
	if (event->kind == ETA_ENTER) {
		l->depth++;
		if (l->at == 0 && l->kinds[event->region]) {
			l->at = l->depth;
			l->call = (struct call){
				.begin_ns = eta_clock_convert(l->clock, event->time_ns),
				.kind = l->kinds[event->region],
				.bytes = event->has & ETA_HAS_SIZE ? event->size : 0,
			};
		}
	} else if (event->kind == ETA_IO_BEGIN && l->at && !(event->has & ETA_EVENT_BLOCK_IO)) {
		/* EZTrace's own: the bytes stand here */
		if (event->has & ETA_HAS_SIZE && l->call.kind != 3)
			l->call.bytes = event->size;
	} else if (event->kind == ETA_LEAVE && l->depth > 0) {
		if (l->depth == l->at) {
			l->call.end_ns = eta_clock_convert(l->clock, event->time_ns);
			l->calls->v[l->calls->n++] = l->call;
			l->at = 0;
		}
		l->depth--;
	}
}

int calls_load(struct eta_trace *trace, uint32_t location, const struct eta_clock_map *clock,
	       size_t max, struct calls *calls)
{
	const struct eta_defs *defs = &trace->defs;
	uint32_t *kinds = calloc((size_t)defs->n_regions + 1, sizeof(*kinds));
	struct loading loading = { .kinds = kinds, .clock = clock, .calls = calls };
	struct eta_cursor *cursor = NULL;
	const struct eta_event *batch;
	struct call *less;
	ssize_t n = 1;
	int rc = -ENOMEM;

	*calls = (struct calls){ .v = malloc(max * sizeof(*calls->v)) };
	if (!kinds || !calls->v)
		goto out;
	for (uint32_t r = 0; r < defs->n_regions; r++)
		kinds[r] = kind_of(defs->regions[r].name);
	rc = eta_cursor_open(trace, location, &cursor);
	while (rc == 0 && calls->n < max && (n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < n && calls->n < max; i++)
			load_event(&loading, &batch[i]);
	if (n < 0)
		rc = (int)n;
	less = calls->n ? reallocarray(calls->v, calls->n, sizeof(*calls->v)) : NULL;
	if (less)
		calls->v = less;
out:
	eta_cursor_drop(cursor);
	free(kinds);
	if (rc) {
		free(calls->v);
		calls->v = NULL;
	}
	return rc;
}

bool calls_narrow(struct calls_window *a, const struct calls_window *b)
{
	int64_t low = a->low_ns > b->low_ns ? a->low_ns : b->low_ns;
	int64_t high = a->high_ns < b->high_ns ? a->high_ns : b->high_ns;

	if (low > high)
		return false;
	*a = (struct calls_window){ low, high };
	return true;
}

/* Where the inner call lies in the outer one. */
static struct calls_window window_of(const struct call *own, const struct call *other, bool outer)
{
	int64_t begin = (int64_t)(other->begin_ns - own->begin_ns);
	int64_t end = (int64_t)(other->end_ns - own->end_ns);

	return outer ? (struct calls_window){ end, begin } : (struct calls_window){ begin, end };
}

static int add_pair(struct eta_sync *sync, const struct call *own, const struct call *other,
		    bool outer)
{
	const struct call *a = outer ? own : other, *b = outer ? other : own;

	return eta_sync_add(
		sync, &(struct eta_sync_pair){ a->begin_ns, a->end_ns, b->begin_ns, b->end_ns });
}

static size_t match_from(const struct calls *own, size_t i, const struct calls *other, size_t j,
			 bool outer, struct calls_window *window, struct eta_sync *sync)
{
	size_t matched = 0, misses = i;

	for (; i < own->n && misses <= MISSES + matched / 4; i++) {
		const struct call *call = &own->v[i];
		bool found = false;

		/* those that are over before it can have begun */
		while (j < other->n &&
		       (int64_t)(other->v[j].end_ns - call->begin_ns) < window->low_ns)
			j++;
		for (size_t k = j; !found && k < other->n; k++) {
			struct calls_window narrowed = window_of(call, &other->v[k], outer);

			if ((int64_t)(other->v[k].begin_ns - call->end_ns) > window->high_ns)
				break;
			found = call->kind == other->v[k].kind &&
				call->bytes == other->v[k].bytes &&
				narrowed.low_ns <= narrowed.high_ns &&
				calls_narrow(window, &narrowed);
			if (!found)
				continue;
			if (sync && add_pair(sync, call, &other->v[k], outer) < 0)
				return SIZE_MAX;
			j = k + 1;
		}
		matched += found;
		misses += !found;
	}
	return matched;
}

size_t calls_match(const struct calls *own, const struct calls *other, bool own_is_outer,
		   struct calls_window *window, struct eta_sync *sync)
{
	return match_from(own, 0, other, 0, own_is_outer, window, sync);
}

void calls_find_base(const struct calls *own, const struct calls *other, bool own_is_outer,
		     struct calls_window *base, size_t *matched, size_t *second)
{
	for (size_t i = 0; i < ANCHORS && i < own->n; i++)
		for (size_t j = 0; j < other->n; j++) {
			struct calls_window window =
				window_of(&own->v[i], &other->v[j], own_is_outer);
			struct calls_window both = *base;
			size_t n;

			if (own->v[i].kind != other->v[j].kind ||
			    own->v[i].bytes != other->v[j].bytes || window.low_ns > window.high_ns)
				continue;
			n = match_from(own, i, other, j, own_is_outer, &window, NULL);
			/* the same base from another call is no rival */
			if (n > *matched) {
				if (*matched && !calls_narrow(&both, &window))
					*second = *matched;
				*matched = n;
				*base = window;
			} else if (n > *second && !calls_narrow(&both, &window)) {
				*second = n;
			}
		}
}

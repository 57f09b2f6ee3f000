/* Regions of an operation as events: opened, closed, with those who were in the way. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "kernel-emit.h"

/* ---- memory ---- */

void expand_no_memory(const struct expand *expand)
{
	eta_error("%s: not enough memory to read a thread", expand->path);
}

void expand_free(struct expand *expand)
{
	free(expand->events);
	free(expand->spans);
	free(expand->stack);
}

/* ---- regions ---- */

int expand_enter(struct expand *expand, uint64_t begin_ns, uint64_t end_ns, uint32_t region,
		 enum eta_level level, unsigned in, uint32_t who)
{
	if (!EXPAND_FITS(expand, expand->stack, expand->depth + 1, expand->stack_room))
		return -ENOMEM;
	expand->stack[expand->depth++] = (struct expand_open){
		.end_ns = end_ns, .region = region, .level = level, .in = in
	};
	return expand_event(expand, ETA_ENTER, begin_ns, region, who);
}

int expand_leave(struct expand *expand)
{
	const struct expand_open *open = &expand->stack[--expand->depth];

	return expand_event(expand, ETA_LEAVE, open->end_ns, open->region, 0);
}

int expand_leave_until(struct expand *expand, uint64_t time_ns)
{
	int rc = 0;

	while (rc == 0 && expand->depth > 1 && expand->stack[expand->depth - 1].end_ns <= time_ns)
		rc = expand_leave(expand);
	return rc;
}

int expand_leaf(struct expand *expand, uint64_t begin_ns, uint64_t end_ns, uint32_t region,
		uint32_t who)
{
	int rc;

	if (region == ETA_NONE)
		return 0;
	rc = expand_event(expand, ETA_ENTER, begin_ns, region, who);
	return rc ? rc : expand_event(expand, ETA_LEAVE, end_ns, region, 0);
}

/* A part that is nearly nothing, or nearly all, is not split off. */
#define PART_LEAST (ETA_SLEEP_WHOLE / 16)

static uint32_t whole_part(uint32_t part)
{
	return part < PART_LEAST ? 0 : part > ETA_SLEEP_WHOLE - PART_LEAST ? ETA_SLEEP_WHOLE : part;
}

static uint64_t part_ns(uint64_t ns, uint32_t part)
{
	return (uint64_t)((unsigned __int128)ns * part / ETA_SLEEP_WHOLE);
}

int expand_leaf_parted(struct expand *expand, uint64_t begin_ns, uint64_t end_ns, uint32_t region,
		       struct expand_who who)
{
	uint64_t until_ns, both_ns;
	int rc = 0;

	if (!who.tid)
		return expand_leaf(expand, begin_ns, end_ns, region, 0);
	both_ns = begin_ns + part_ns(end_ns - begin_ns, whole_part(who.part));
	until_ns = both_ns - part_ns(both_ns - begin_ns, whole_part(who.beside_share));
	if (until_ns > begin_ns)
		rc = expand_leaf(expand, begin_ns, until_ns, region, who.tid);
	if (!rc && both_ns > until_ns)
		rc = expand_leaf(expand, until_ns, both_ns, region, who.beside);
	return rc || end_ns <= both_ns ? rc : expand_leaf(expand, both_ns, end_ns, region, 0);
}

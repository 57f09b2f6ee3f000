/* Two recordings of one thread at the same time, whose calls would be there twice: refused. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <stdlib.h>

enum { DEPTH = 64 }; /* of nested regions; deeper ones are not compared */

/* What one of the inputs has of the thread. */
struct side {
	const struct merge_input *input;
	struct eta_cursor *cursor;
	const struct eta_event *head, *end; /* equal: it has ended */
	uint64_t time_ns;		    /* of head, by the result's clock */
	uint32_t open[DEPTH];		    /* regions of the result */
	size_t depth;
};

/* On to the next ENTER or LEAVE. */
static int go_on(struct side *s)
{
	for (;; s->head++) {
		ssize_t n = 0;

		if (s->head == s->end) {
			n = eta_cursor_read(s->cursor, &s->head);
			s->end = n > 0 ? s->head + n : s->head;
		}
		if (s->head == s->end)
			return (int)n;
		if (s->head->kind != ETA_ENTER && s->head->kind != ETA_LEAVE)
			continue;
		s->time_ns = eta_clock_convert(&s->input->clock, s->head->time_ns);
		return 0;
	}
}

static int side_open(struct side *s, const struct merge *merge, const struct merge_part *part)
{
	int rc;

	*s = (struct side){ .input = &merge->inputs[part->input] };
	rc = eta_cursor_open(s->input->trace, part->location, &s->cursor);
	return rc ? rc : go_on(s);
}

static bool is_open(const struct side *s, uint32_t region)
{
	for (size_t i = 0; i < s->depth && i < DEPTH; i++)
		if (s->open[i] == region)
			return true;
	return false;
}

/* Takes the next event of S. Gives whether it enters a region that OTHER is in. */
static bool step(struct side *s, const struct side *other)
{
	uint32_t region = s->input->regions[s->head->region];

	if (s->head->kind == ETA_LEAVE) {
		s->depth -= s->depth > 0;
		return false;
	}
	if (s->depth < DEPTH)
		s->open[s->depth] = region;
	s->depth++;
	return is_open(other, region);
}

/* A thread is in a call once at a time: are both inputs in one that is called the same? */
static int find_double(const struct merge *merge, const struct merge_part parts[2], bool *found)
{
	struct side sides[2] = { 0 };
	int rc = side_open(&sides[0], merge, &parts[0]);

	*found = false;
	if (rc == 0)
		rc = side_open(&sides[1], merge, &parts[1]);
	while (rc == 0 && !*found && sides[0].head != sides[0].end &&
	       sides[1].head != sides[1].end) {
		/* a call ends before another begins at that time */
		int later =
			sides[1].time_ns < sides[0].time_ns ||
			(sides[1].time_ns == sides[0].time_ns && sides[1].head->kind == ETA_LEAVE);

		*found = step(&sides[later], &sides[!later]);
		sides[later].head++;
		rc = go_on(&sides[later]);
	}
	for (int i = 0; i < 2; i++)
		if (sides[i].cursor)
			eta_cursor_drop(sides[i].cursor);
	return rc;
}

/* Has any region a name that both inputs use? User space and the kernel have none in common. */
static bool share_regions(const struct eta_trace *trace, const struct merge_input *a,
			  const struct merge_input *b, bool *seen)
{
	for (uint32_t i = 0; i < trace->defs.n_regions; i++)
		seen[i] = false;
	for (uint32_t i = 0; i < a->trace->defs.n_regions; i++)
		seen[a->regions[i]] = true;
	for (uint32_t i = 0; i < b->trace->defs.n_regions; i++)
		if (seen[b->regions[i]])
			return true;
	return false;
}

static bool is_thread(const struct merge *merge, const struct merge_part *part)
{
	const struct eta_location *location =
		&merge->inputs[part->input].trace->defs.locations[part->location];

	return location->kind == ETA_LOCATION_THREAD && !location->only_requests;
}

static int check_parts(const struct eta_trace *trace, const struct merge *merge, uint32_t l,
		       const struct merge_part parts[2], bool *seen)
{
	const struct merge_input *a = &merge->inputs[parts[0].input];
	const struct merge_input *b = &merge->inputs[parts[1].input];
	bool found = false;
	int rc;

	if (a == b || !is_thread(merge, &parts[0]) || !is_thread(merge, &parts[1]) ||
	    !share_regions(trace, a, b, seen))
		return 0;
	rc = find_double(merge, parts, &found);
	if (rc || !found)
		return rc;
	eta_error("%s and %s: both have recorded %s at the same time, so all that it did would "
		  "count twice (give one of them)",
		  eta_trace_path(a->trace), eta_trace_path(b->trace),
		  trace->defs.locations[l].name);
	return -EINVAL;
}

static int check_thread(const struct eta_trace *trace, const struct merge *merge, uint32_t l,
			bool *seen)
{
	int rc = 0;

	for (uint32_t j = merge->first[l] + 1; j < merge->first[l + 1]; j++)
		for (uint32_t i = merge->first[l]; rc == 0 && i < j; i++) {
			const struct merge_part two[2] = { merge->parts[i], merge->parts[j] };

			rc = check_parts(trace, merge, l, two, seen);
		}
	return rc;
}

int merge_refuse_doubles(const struct eta_trace *trace, const struct merge *merge)
{
	bool *seen = calloc((size_t)trace->defs.n_regions + 1, sizeof(*seen));
	int rc = seen ? 0 : -ENOMEM;

	for (uint32_t l = 0; rc == 0 && l < trace->defs.n_locations; l++)
		rc = check_thread(trace, merge, l, seen);
	free(seen);
	return rc;
}

/* One trace out of several: the events of each thread by time, with the ids of the result. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "services.h"

#include "eta-ext/trace/check.h"
#include "eta-ext/trace/machines.h"
#include "eta-ext/trace/ranks.h"
#include "eta-ext/base/known.h"

enum { BATCH = 1024 };

struct stream {
	struct eta_cursor *cursor;
	const struct eta_event *head, *end;
	const struct eta_clock_map *clock; /* NULL: the result's */
	struct eta_event *converted;	   /* a batch by the result's clock */
	const uint32_t *regions, *handles;
	uint32_t first_stack;
	uint64_t match_factor, match_offset;
	const struct merge *numbers;	 /* NULL: its tids are the result's */
	uint32_t process;		 /* of the result */
	uint64_t entered_ns;		 /* its newest ENTER */
	size_t depth;			 /* its regions open now */
	size_t calls;			 /* those of them that are library calls, and in such */
	uint32_t waits;			 /* an open region of ETA_EVENT_WAITS, ETA_NONE: none */
	bool waits_left_out;		 /* its LEAVE is to come */
	struct eta_event left_out;	 /* what its ENTER knew, for the first wait in it */
	bool off_cpu;			 /* its innermost region is a wait for a CPU */
	uint64_t ran_late_ns, ran_ns;	 /* LEAVEs at ran_late_ns are to be at ran_ns; 0: none */
	struct service_stream *services; /* of a guest or its host; NULL: of neither */
};

struct merge_cursor {
	struct eta_cursor cursor;
	struct check check;
	struct stream *streams; /* outermost first; those at their end are taken out */
	size_t n_streams;
	struct eta_cursor **cursors;
	size_t n_cursors;
	struct eta_event *batch; /* NULL: one input, whose own batches are passed through */
	const struct eta_region *regions; /* of the result */
	int error;			  /* met behind the events of the last batch */
};

static bool closing(const struct eta_event *event)
{
	return event->kind == ETA_LEAVE || event->kind == ETA_IO_COMPLETE ||
	       event->kind == ETA_IO_SEEK || event->kind == ETA_IO_DESTROY ||
	       event->kind == ETA_IO_CREATE;
}

/*
 * At equal times: an outer ENTER comes before an inner one, an inner LEAVE before an outer one, and
 * what is open on the inner side ends before anything of the outer side does. When the outer side
 * ends where the inner one begins, the inner one belongs to what comes next, unless the outer
 * region has no length at all: then both are the same empty call.
 */
static bool inner_first(const struct stream *outer, const struct stream *inner)
{
	bool ends = closing(outer->head);

	if (inner->depth > 0)
		return ends || closing(inner->head);
	return ends && inner->head->kind == ETA_ENTER && outer->depth > 0 &&
	       outer->entered_ns == outer->head->time_ns;
}

/*
 * When the head of S, inside OUTER, happened. A thread that calls or returns runs, so its wait for
 * a CPU is over by then. Where the switch to it was not reported, the wait's end is an estimate,
 * which may be some microseconds late; so is then the end of a call that the wait was on the way
 * out of.
 */
static inline uint64_t head_ns(struct stream *s, const struct stream *outer)
{
	const struct eta_event *head = s->head;

	if (head->kind != ETA_LEAVE && !(head->kind == ETA_ENTER && head->has & ETA_EVENT_OF_HOST))
		return head->time_ns;
	if (s->off_cpu && outer->head->time_ns < head->time_ns &&
	    !(outer->head->has & ETA_EVENT_BLOCK_IO)) {
		s->ran_late_ns = head->time_ns;
		s->ran_ns = outer->head->time_ns;
	}
	return head->time_ns == s->ran_late_ns ? s->ran_ns : head->time_ns;
}

/* The stream whose event comes next, and until what time no other has one. */
static struct stream *choose(struct merge_cursor *c, uint64_t *until_ns)
{
	struct stream *best = c->streams;
	uint64_t best_ns = best->head->time_ns;

	*until_ns = UINT64_MAX;
	for (size_t i = 1; i < c->n_streams; i++) {
		struct stream *s = &c->streams[i];
		uint64_t ns = head_ns(s, best);

		if (ns < best_ns || (ns == best_ns && inner_first(best, s))) {
			uint64_t later_ns = best_ns;

			best = s;
			best_ns = ns;
			ns = later_ns;
		}
		if (ns < *until_ns)
			*until_ns = ns;
	}
	return best;
}

/* Moves the batch of S to the result's clock, in a copy: the batch is the source's own. */
static int convert_batch(struct stream *s, size_t n)
{
	struct eta_event *converted = reallocarray(s->converted, n, sizeof(*converted));

	if (!converted) {
		eta_error("not enough memory to convert times");
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		converted[i] = s->head[i];
		converted[i].time_ns = eta_clock_convert(s->clock, converted[i].time_ns);
		if (converted[i].kind == ETA_IO_BEGIN && converted[i].has & ETA_HAS_END)
			converted[i].end_ns = eta_clock_convert(s->clock, converted[i].end_ns);
	}
	s->converted = converted;
	s->head = converted;
	s->end = converted + n;
	return 0;
}

/* Next batch of S: 1, 0 at its end, -errno. */
static int refill(struct stream *s)
{
	const struct eta_event *batch;
	ssize_t n = eta_cursor_read(s->cursor, &batch);

	if (n <= 0)
		return (int)n;
	s->head = batch;
	s->end = batch + n;
	if (s->clock) {
		int rc = convert_batch(s, (size_t)n);

		if (rc)
			return rc;
	}
	if (s->services) {
		n = service_stream_take(s->services, s->head, (size_t)n, &batch);
		if (n < 0)
			return (int)n;
		s->head = batch;
		s->end = batch + n;
	}
	return 1;
}

static inline void translate(struct stream *s, const struct eta_region *regions,
			     struct eta_event *to)
{
	*to = *s->head;
	if (to->has & ETA_EVENT_OF_HOST && to->kind <= ETA_LEAVE && s->services) {
		if (to->time_ns == s->ran_late_ns)
			to->time_ns = s->ran_ns;
		s->depth += to->kind == ETA_ENTER ? 1 : (size_t)-1;
		return;
	}
	if (to->kind == ETA_ENTER) {
		to->region = s->regions[to->region];
		if (to->has & ETA_HAS_STACK)
			to->stack += s->first_stack;
		if (s->numbers && to->has & ETA_HAS_WHO)
			to->who = merge_outer_tid(s->numbers, s->process, (uint32_t)to->who,
						  to->time_ns);
		s->entered_ns = to->time_ns;
		s->depth++;
		s->off_cpu = regions[to->region].level == ETA_LEVEL_CPU;
		s->ran_late_ns = 0;
	} else if (to->kind == ETA_LEAVE) {
		to->region = s->regions[to->region];
		if (to->time_ns == s->ran_late_ns)
			to->time_ns = s->ran_ns;
		s->depth -= s->depth > 0;
		s->off_cpu = false;
	} else {
		if (to->handle != ETA_NONE)
			to->handle = s->handles[to->handle];
		to->match = to->match * s->match_factor + s->match_offset;
	}
}

/*
 * Regions that are there for the waits in them are operations where nothing else is; in a library
 * call the waits are that call's. What S gave last, the event E, may so be left out, or end such a
 * region of another stream before: how many of the events from E on stay, which is room for two.
 */
static size_t waits_settle(struct merge_cursor *c, struct stream *s, struct eta_event *e)
{
	bool inside = false;

	if (e->kind == ETA_LEAVE && e->has & ETA_EVENT_WAITS) {
		inside = s->waits_left_out;
		s->waits_left_out = false;
		s->left_out.has = 0;
		s->waits = ETA_NONE;
		return !inside;
	}
	if (e->kind == ETA_LEAVE)
		s->calls -= s->calls > 0;
	if (e->kind != ETA_ENTER)
		return 1;
	if (s->left_out.has) {
		e->has |= s->left_out.has;
		e->inode = s->left_out.inode;
		e->dev = s->left_out.dev;
		s->left_out.has = 0;
	}
	if (e->has & ETA_EVENT_WAITS) {
		for (struct stream *outer = c->streams; outer < s; outer++)
			inside |= outer->calls > 0;
		s->waits_left_out = inside;
		s->left_out = *e;
		s->left_out.has = inside ? e->has & (ETA_HAS_FILE | ETA_EVENT_DIRECT) : 0;
		s->waits = inside ? ETA_NONE : e->region;
		return !inside;
	}
	if (!s->calls && c->regions[e->region].level != ETA_LEVEL_USER)
		return 1;
	s->calls++;
	for (struct stream *inner = s + 1; inner < c->streams + c->n_streams; inner++) {
		if (inner->waits == ETA_NONE || inner->depth != 1)
			continue;
		e[1] = e[0];
		e[0] = (struct eta_event){ .time_ns = e[1].time_ns,
					   .kind = ETA_LEAVE,
					   .has = ETA_EVENT_WAITS,
					   .region = inner->waits };
		inner->waits = ETA_NONE;
		inner->waits_left_out = true;
		return 2;
	}
	return 1;
}

static void remove_stream(struct merge_cursor *c, struct stream *s)
{
	free(s->converted);
	service_stream_free(s->services);
	for (struct stream *last = &c->streams[--c->n_streams]; s < last; s++)
		s[0] = s[1];
}

static ssize_t merge_pull(void *arg, const struct eta_event **batch)
{
	struct merge_cursor *c = arg;
	size_t n = 0;

	while (n < BATCH && c->n_streams > 0 && c->error == 0) {
		uint64_t until_ns;
		struct stream *s = choose(c, &until_ns);
		int more = 1;

		do {
			translate(s, c->regions, &c->batch[n]);
			n += waits_settle(c, s, &c->batch[n]);
			if (++s->head == s->end)
				more = refill(s);
		} while (n < BATCH && more > 0 && s->head->time_ns < until_ns);
		if (more < 0)
			c->error = more;
		if (more == 0)
			remove_stream(c, s);
	}
	*batch = c->batch;
	return n > 0 ? (ssize_t)n : c->error;
}

static ssize_t single_pull(void *arg, const struct eta_event **batch)
{
	return eta_cursor_read(((struct merge_cursor *)arg)->cursors[0], batch);
}

static void merge_cursor_close(struct eta_cursor *cursor)
{
	struct merge_cursor *c = (struct merge_cursor *)cursor;

	for (size_t i = 0; i < c->n_cursors; i++)
		eta_cursor_close(c->cursors[i]);
	for (size_t i = 0; i < c->n_streams; i++) {
		free(c->streams[i].converted);
		service_stream_free(c->streams[i].services);
	}
	check_free(&c->check);
	free(c->cursors);
	free(c->streams);
	free(c->batch);
	free(c);
}

/*
 * What the inputs counted while they were read; their events are not the result's. Taken when the
 * result ends, because closing comes after the count.
 */
static void take_counts(struct merge_cursor *c)
{
	for (size_t i = 0; i < c->n_cursors; i++) {
		struct eta_counts counts = c->cursors[i]->counts;

		counts.events = 0;
		eta_counts_add(&c->cursor.counts, &counts);
	}
}

/* Of one input, as it is. */
static bool merge_cursor_part(struct eta_cursor *cursor, uint64_t from_ns, uint64_t to_ns,
			      struct eta_whole *whole)
{
	struct merge_cursor *c = (struct merge_cursor *)cursor;

	if (c->batch || c->n_cursors != 1 || !eta_cursor_part(c->cursors[0], from_ns, to_ns, whole))
		return false;
	c->cursor.counts.events = c->cursors[0]->counts.events;
	return true;
}

static ssize_t merge_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct merge_cursor *c = (struct merge_cursor *)cursor;
	bool ended = c->check.ended;
	ssize_t n = check_read(&c->check, batch);

	if (c->check.ended && !ended)
		take_counts(c);
	return n;
}

/* The stream of a part, at its first event: 1, 0 where it has none, -errno. */
static int open_stream(const struct eta_trace *trace, struct merge_cursor *c,
		       const struct merge_part *part)
{
	const struct merge *merge = trace->data;
	const struct merge_input *input = &merge->inputs[part->input];
	struct stream *s = &c->streams[c->n_streams];
	int rc = eta_cursor_open(input->trace, part->location, &c->cursors[c->n_cursors]);

	if (rc)
		return rc;
	*s = (struct stream){
		.cursor = c->cursors[c->n_cursors++],
		.regions = input->regions,
		.handles = input->handles,
		.waits = ETA_NONE,
		.clock = eta_clock_is_identity(&input->clock) ? NULL : &input->clock,
		.first_stack = input->first_stack,
		.match_factor = merge->n_inputs,
		.match_offset = part->input,
	};
	if (merge_is_inside(trace, input, part->location)) {
		s->numbers = merge;
		s->process = input->processes[input->trace->defs.locations[part->location].process];
	}
	if (!c->batch)
		return 0;
	rc = service_stream_new(merge, part, &s->services);
	if (rc == 0)
		rc = refill(s);
	c->n_streams += rc > 0;
	if (rc <= 0) {
		free(s->converted);
		service_stream_free(s->services);
	}
	return rc;
}

static int merge_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	const struct merge *merge = trace->data;
	const struct merge_part *parts = merge->parts + merge->first[location];
	size_t n = merge->first[location + 1] - merge->first[location];
	bool single = merge->as_is;
	struct merge_cursor *c = calloc(1, sizeof(*c));
	int rc = -ENOMEM;

	if (!c)
		goto out;
	check_init(&c->check, single ? single_pull : merge_pull, c, &c->cursor.counts, !single);
	c->cursors = calloc(n, sizeof(*c->cursors));
	c->streams = calloc(n, sizeof(*c->streams));
	if (!single)
		c->batch = malloc((BATCH + 1) * sizeof(*c->batch));
	c->regions = trace->defs.regions;
	if (!c->cursors || !c->streams || (!single && !c->batch))
		goto out;
	for (size_t i = 0; i < n; i++) {
		rc = open_stream(trace, c, &parts[i]);
		if (rc < 0)
			goto out;
	}
	*out = &c->cursor;
	rc = 0;
out:
	if (rc == -ENOMEM)
		eta_error("%s: not enough memory to merge a thread", trace->path);
	if (rc && c)
		merge_cursor_close(&c->cursor);
	return rc;
}

static void merge_close(struct eta_trace *trace)
{
	struct merge *merge = trace->data;

	if (!merge)
		return;
	for (size_t i = 0; i < merge->n_inputs; i++) {
		struct merge_input *input = &merge->inputs[i];

		free(input->regions);
		free(input->files);
		free(input->handles);
		free(input->processes);
		known_free(&input->hosts);
		free(input->names);
		eta_close(input->trace);
	}
	services_free(merge->services);
	request_store_free(&merge->requests);
	steal_store_free(&merge->steals);
	free(merge->inputs);
	free(merge->first);
	free(merge->parts);
	free(merge->numbers);
	free(merge);
}

static const struct eta_source_ops merge_ops = {
	.name = "merge",
	.what = "several traces by thread and time",
	.close = merge_close,
	.cursor_open = merge_cursor_open,
	.cursor_part = merge_cursor_part,
	.cursor_read = merge_cursor_read,
	.cursor_close = merge_cursor_close,
};

/* The inputs are MERGE's from here on. */
static struct merge *merge_new(struct eta_trace **inputs, size_t n)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (merge)
		merge->inputs = calloc(n, sizeof(*merge->inputs));
	if (!merge || !merge->inputs) {
		free(merge);
		eta_error("not enough memory to merge %zu traces", n);
		return NULL;
	}
	merge->n_inputs = n;
	for (size_t i = 0; i < n; i++)
		merge->inputs[i].trace = inputs[i];
	return merge;
}

/* Is INPUTS[I] one of those before it? */
static bool is_again(struct eta_trace *const *inputs, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (inputs[i] == inputs[j])
			return true;
	return false;
}

/* The inputs of a merge that fails before it has them. */
static void close_inputs(struct eta_trace **inputs, size_t n)
{
	for (size_t i = n; i-- > 0;)
		if (!is_again(inputs, i))
			eta_close(inputs[i]);
}

/* What is not whole in one input is left out of those of the same system. 0 or -errno. */
static int begin_together(struct eta_trace **inputs, size_t n)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		uint64_t begin_ns = 0;

		for (size_t j = 0; inputs[i]->boot && j < n; j++)
			if (inputs[j]->boot && strcmp(inputs[j]->boot, inputs[i]->boot) == 0 &&
			    inputs[j]->begin_ns > begin_ns)
				begin_ns = inputs[j]->begin_ns;
		if (begin_ns > inputs[i]->begin_ns)
			rc = inputs[i]->ops->begin(inputs[i], begin_ns);
	}
	return rc;
}

int eta_merge(struct eta_trace **inputs, size_t n, struct eta_trace **out)
{
	return eta_merge_with(inputs, n, NULL, out);
}

int eta_merge_with(struct eta_trace **inputs, size_t n, const struct eta_merge_options *options,
		   struct eta_trace **out)
{
	struct eta_trace *trace = NULL;
	struct merge *merge = NULL;
	int rc = -EINVAL;

	*out = NULL;
	if (n == 0) {
		eta_error("nothing to merge");
		return rc;
	}
	for (size_t i = 0; i < n; i++) {
		if (!is_again(inputs, i))
			continue;
		eta_error("%s: is given twice to be merged", eta_trace_path(inputs[i]));
		close_inputs(inputs, n);
		return rc;
	}
	rc = -ENOMEM;
	trace = eta_trace_new(&merge_ops, eta_trace_path(inputs[0]), &inputs[0]->options);
	if (trace)
		merge = merge_new(inputs, n);
	if (!merge) {
		close_inputs(inputs, n);
		goto out;
	}
	trace->data = merge;
	rc = begin_together(inputs, n);
	if (rc)
		goto out;
	rc = -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct eta_counts counts;

		eta_trace_counts(inputs[i], &counts);
		counts.events = 0;
		eta_counts_add(&trace->counts, &counts);
	}
	rc = merge_homes(merge);
	if (rc)
		goto out;
	rc = merge_guests(merge, options);
	if (rc)
		goto out;
	merge_clocks(merge, options);
	rc = merge_guests_settle(merge);
	request_store_free(&merge->requests);
	steal_store_free(&merge->steals);
	if (rc)
		goto out;
	merge->as_is = n == 1 && eta_clock_is_identity(&merge->inputs[0].clock) &&
		       !(options && options->n_threads);
	rc = merge_defs(trace, merge, options);
	if (rc == 0 && !merge->as_is)
		rc = merge_samples(trace, merge);
	if (rc == 0 && ranks_name_threads(trace) < 0) {
		eta_error("%s: not enough memory for the names of its threads", trace->path);
		rc = -ENOMEM;
	}
	if (rc == 0)
		rc = services_settle(trace, merge);
	if (rc)
		goto out;
	machines_settle(&trace->defs);
	*out = trace;
out:
	if (rc)
		eta_close(trace);
	return rc;
}

/* Merging by thread and time, and the check stage: golden cases, ties, broken and random traces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "memory-trace.h"
#include "merge-cases.h"

/* ---- cases as text (merge-cases.h) ---- */

/*
 * Appends the events of TEXT to LOCATION; a word without a sign is an IO_BEGIN or IO_COMPLETE, "~"
 * behind the sign a region that is there for its waits.
 */
static void add_events(struct eta_trace *trace, uint32_t location, const char *text)
{
	char *copy = strdup(text), *save, *word;

	assert_non_null(copy);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		char *at = strchr(word, '@');
		struct eta_event event = { .handle = ETA_NONE };

		assert_non_null(at);
		*at = '\0';
		event.time_ns = strtoull(at + 1, NULL, 10);
		if (*word == '+' || *word == '-') {
			event.kind = *word == '+' ? ETA_ENTER : ETA_LEAVE;
			event.has = word[1] == '~' ? ETA_EVENT_WAITS : 0;
			event.region = memory_region(trace, word + 1 + !!event.has);
		} else {
			event.kind = strcmp(word, "begin") == 0	   ? ETA_IO_BEGIN
				     : strcmp(word, "issued") == 0 ? ETA_IO_ISSUED
								   : ETA_IO_COMPLETE;
		}
		memory_event(trace, location, event);
	}
	free(copy);
}

/* Every case with both orders of the inputs and with batches of 1, 2 and all events. */
static void run_case(const struct one_case *c, size_t batch, bool kernel_first)
{
	struct eta_trace *inputs[2], *merged;
	struct eta_counts counts;
	size_t n = 0;
	char text[1024];

	for (int side = 0; side < 2; side++) {
		bool kernel = kernel_first ? side == 0 : side == 1;
		const char *events = kernel ? c->kernel : c->user;

		if (!events)
			continue;
		inputs[n] = memory_trace_new(kernel ? "kernel" : "user");
		memory_batch(inputs[n], batch);
		memory_region(inputs[n], kernel ? "vfs:unused" : "unused");
		add_events(inputs[n], memory_thread(inputs[n], 7, 8), events);
		n++;
	}
	assert_int_equal(eta_merge(inputs, n, &merged), 0);
	assert_int_equal(merged->defs.n_locations, 1);
	assert_int_equal(events_print(merged, 0, text, sizeof(text)), 0);
	if (strcmp(text, c->expected) != 0)
		fail_msg("%s: %s", c->name, text);
	eta_trace_counts(merged, &counts);
	assert_int_equal(counts.events, c->counts.events);
	assert_int_equal(counts.orphan, c->counts.orphan);
	assert_int_equal(counts.truncated, c->counts.truncated);
	assert_int_equal(counts.overlapping, c->counts.overlapping);
	assert_int_equal(counts.out_of_order, c->counts.out_of_order);
	assert_int_equal(counts.unmatched, 0);
	eta_close(merged);
}

static void cases_give_what_they_should(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t batch = 0; batch < 3; batch++) {
			run_case(&cases[i], batch, false);
			run_case(&cases[i], batch, true);
		}
}

/* ---- what is copied and what is not ---- */

static void sound_events_of_one_trace_are_not_copied(void **state)
{
	struct eta_trace *trace = memory_trace_new("x"), *merged;
	const struct eta_event *given, *batch;
	struct eta_cursor *cursor;
	uint32_t l = memory_thread(trace, 1, 1);
	size_t n;

	(void)state;
	add_events(trace, l, "+a@1 -a@2 -o@3 +b@4 -b@5");
	given = memory_events(trace, l, &n);
	assert_int_equal(eta_merge(&trace, 1, &merged), 0);
	assert_int_equal(eta_cursor_open(merged, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 2);
	assert_ptr_equal(batch, given);
	assert_int_equal(eta_cursor_read(cursor, &batch), 2);
	assert_ptr_equal(batch, given + 3);
	assert_int_equal(eta_cursor_read(cursor, &batch), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 0);
	eta_cursor_close(cursor);
	eta_close(merged);
}

static void attributes_stay_on_the_topmost_region_that_knows_them(void **state)
{
	struct eta_trace *in[2] = { memory_trace_new("user"), memory_trace_new("kernel") }, *merged;
	struct eta_event user = { .time_ns = 1, .kind = ETA_ENTER, .has = ETA_HAS_SIZE, .size = 9 };
	struct eta_event kernel = { .time_ns = 2,
				    .kind = ETA_ENTER,
				    .has = ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE,
				    .size = 9,
				    .offset = 3,
				    .inode = 12,
				    .dev = 4 };
	struct eta_event inner = kernel;
	struct eta_event leave = { .time_ns = 7, .kind = ETA_LEAVE, .has = ETA_HAS_RET };
	const struct eta_event *batch;
	struct eta_cursor *cursor;

	(void)state;
	for (int i = 0; i < 2; i++)
		memory_thread(in[i], 1, 1);
	user.region = memory_region(in[0], "write");
	memory_event(in[0], 0, user);
	leave.region = user.region;
	leave.time_ns = 9;
	leave.ret = 9;
	memory_event(in[0], 0, leave);
	leave.time_ns = 7;
	kernel.region = memory_region(in[1], "vfs:w");
	memory_event(in[1], 0, kernel);
	inner.region = memory_region(in[1], "fs:w");
	inner.time_ns = 3;
	inner.offset = 4;
	memory_event(in[1], 0, inner);
	leave.region = inner.region;
	leave.ret = 8;
	memory_event(in[1], 0, leave);
	leave.region = kernel.region;
	leave.time_ns = 8;
	leave.ret = 9;
	memory_event(in[1], 0, leave);
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	assert_int_equal(eta_cursor_open(merged, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 6);
	assert_int_equal(batch[0].has, ETA_HAS_SIZE);
	assert_int_equal(batch[1].has, ETA_HAS_OFFSET | ETA_HAS_FILE);
	assert_int_equal(batch[2].has, ETA_HAS_OFFSET);
	/* the size that was asked for is what came back, but for the innermost; the outermost says
	 * so */
	assert_int_equal(batch[3].has, ETA_HAS_RET);
	assert_int_equal(batch[4].has, 0);
	assert_int_equal(batch[5].has, ETA_HAS_RET);
	/* the input itself is as it was */
	{
		size_t n;

		assert_int_equal(memory_events(in[1], 0, &n)[0].has, kernel.has);
	}
	eta_cursor_close(cursor);
	eta_close(merged);
}

/* ---- threads ---- */

struct thread {
	int input;
	uint32_t pid, tid;
	uint64_t start_ns;
	const char *region;
	uint32_t expected; /* location of the result */
};

static const struct thread reused[] = {
	{ 0, 1, 5, 5, "u1", 0 },
	{ 0, 1, 5, 105, "u2", 1 },
	{ 1, 1, 5, 1, "vfs:k1", 0 },
	{ 1, 1, 5, 100, "vfs:k2", 1 },
	{ -1 },
};
static const struct thread exec[] = {
	{ 0, 1, 5, 5, "u1", 0 },
	{ 0, 1, 5, 50, "u2", 0 },
	{ 1, 1, 5, 1, "vfs:k1", 0 },
	{ -1 },
};
static const struct thread only_kernel_saw_the_first[] = {
	{ 0, 1, 5, 105, "u2", 1 },
	{ 1, 1, 5, 1, "vfs:k1", 0 },
	{ 1, 1, 5, 100, "vfs:k2", 1 },
	{ -1 },
};
/* A thread that only starts others has no call that the other side could have: none is missing. */
static const struct thread no_library_call[] = {
	{ 0, 1, 6, 5, "u", 1 },
	{ 1, 1, 5, 1, "vfs:k", 0 },
	{ 1, 1, 6, 4, "vfs:l", 1 },
	{ -1 },
};
static const struct thread no_library_call_of_the_process[] = {
	{ 0, 1, 6, 5, "u", 0 },
	{ 1, 1, 6, 4, "vfs:k", 0 },
	{ 1, 2, 7, 6, "vfs:l", 1 },
	{ -1 },
};
static const struct thread unknown_start[] = {
	{ 0, 1, 5, 7, "u1", 0 },
	{ 1, 1, 5, 0, "vfs:k1", 0 },
	{ -1 },
};
static const struct thread order_of_the_result[] = {
	{ 0, 2, 5, 1, "a", 2 },	    { 0, 1, 9, 4, "b", 0 },	{ 0, 1, 5, 6, "c", 1 },
	{ 1, 2, 6, 8, "vfs:d", 3 }, { 1, 1, 9, 3, "vfs:b", 0 }, { -1 },
};
static const struct thread no_tid_but_only_one[] = {
	{ 0, 1, 0, 5, "u", 0 },
	{ 1, 1, 5, 1, "vfs:k", 0 },
	{ -1 },
};
static const struct thread no_tid_and_two[] = {
	{ 0, 1, 0, 5, "u", 0 },
	{ 1, 1, 5, 6, "vfs:k", 1 },
	{ 1, 1, 6, 7, "vfs:l", 2 },
	{ -1 },
};
static const struct thread no_pid[] = {
	{ 0, 0, 5, 5, "u", 0 },
	{ 1, 1, 5, 6, "vfs:k", 1 },
	{ -1 },
};

/* Each thread has one region of its own: it is found where it should be, and nothing else is. */
static void run_threads(const struct thread *threads, uint64_t unmatched)
{
	struct eta_trace *in[2] = { memory_trace_new("user"), memory_trace_new("kernel") }, *merged;
	uint32_t n_locations = 0;
	char text[1024], *expected[8] = { NULL };
	struct eta_counts counts;

	memory_region(in[0], "unused");
	for (const struct thread *t = threads; t->input >= 0; t++) {
		uint32_t l = memory_thread(in[t->input], t->pid, t->tid);

		if (t->expected >= n_locations)
			n_locations = t->expected + 1;
		memory_enter(in[t->input], l, t->start_ns + 1, t->region);
		memory_leave(in[t->input], l, t->start_ns + 2, t->region);
		in[t->input]->defs.locations[l].start_ns = t->start_ns;
	}
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	assert_int_equal(merged->defs.n_locations, n_locations);
	for (uint32_t l = 0; l < n_locations; l++) {
		assert_int_equal(merged->defs.locations[l].id, l);
		assert_int_equal(events_print(merged, l, text, sizeof(text)), 0);
		expected[l] = strdup(text);
	}
	for (const struct thread *t = threads; t->input >= 0; t++) {
		snprintf(text, sizeof(text), "+%s@", t->region);
		for (uint32_t l = 0; l < n_locations; l++)
			assert_int_equal(strstr(expected[l], text) != NULL, l == t->expected);
	}
	for (uint32_t l = 0; l < n_locations; l++)
		free(expected[l]);
	eta_trace_counts(merged, &counts);
	assert_int_equal(counts.unmatched, unmatched);
	eta_close(merged);
}

static void the_file_of_waits_goes_into_the_call(void **state)
{
	struct eta_trace *in[2] = { memory_trace_new("user"), memory_trace_new("kernel") }, *merged;
	struct eta_event waits = { .time_ns = 2,
				   .kind = ETA_ENTER,
				   .has = ETA_EVENT_WAITS | ETA_HAS_FILE | ETA_EVENT_DIRECT,
				   .inode = 12,
				   .dev = 4 };
	const struct eta_event *batch;
	struct eta_cursor *cursor;

	(void)state;
	for (int i = 0; i < 2; i++)
		memory_thread(in[i], 1, 1);
	add_events(in[0], 0, "+write@1 -write@9");
	waits.region = memory_region(in[1], "vfs:w");
	memory_event(in[1], 0, waits);
	add_events(in[1], 0, "+fs:l@2 -fs:l@3 +fs:l@4 -fs:l@5 -~vfs:w@5");
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	assert_int_equal(eta_cursor_open(merged, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 6);
	assert_int_equal(batch[1].has, ETA_HAS_FILE | ETA_EVENT_DIRECT);
	assert_int_equal(batch[1].inode, 12);
	assert_int_equal(batch[1].dev, 4);
	assert_int_equal(batch[3].has, 0);
	eta_cursor_close(cursor);
	eta_close(merged);
}

static void threads_are_matched_by_their_lives(void **state)
{
	(void)state;
	run_threads(reused, 0);
	run_threads(exec, 0);
	run_threads(only_kernel_saw_the_first, 0);
	run_threads(no_library_call, 0);
	run_threads(no_library_call_of_the_process, 1);
	run_threads(unknown_start, 0);
	run_threads(order_of_the_result, 3);
	run_threads(no_tid_but_only_one, 0);
	run_threads(no_tid_and_two, 3);
	run_threads(no_pid, 2);
}

/* Who is not traced, and writes a traced program's pages, has no other side. */
static void who_only_has_requests_is_not_missed(void **state)
{
	struct eta_trace *in[2] = { memory_trace_new("user"), memory_trace_new("kernel") }, *merged;
	struct eta_counts counts;

	(void)state;
	memory_region(in[0], "read");
	for (int i = 0; i < 2; i++)
		memory_enter(in[i], memory_thread(in[i], 1, 5), 1, i ? "vfs:read" : "read");
	in[1]->defs.locations[memory_thread(in[1], 9, 9)].only_requests = true;
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	eta_trace_counts(merged, &counts);
	assert_int_equal(merged->defs.n_locations, 2);
	assert_int_equal(counts.unmatched, 0);
	eta_close(merged);
}

static void definitions_are_united(void **state)
{
	struct eta_trace *in[2] = { memory_trace_new("dir/a"), memory_trace_new("b") }, *merged;
	struct eta_event begin = { .kind = ETA_IO_BEGIN, .handle = 0, .match = 3 };
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	const struct eta_defs *defs;

	(void)state;
	for (int i = 0; i < 2; i++) {
		memory_region(in[i], "write");
		memory_region(in[i], i ? "vfs:w" : "fread");
		memory_thread(in[i], 1, 1);
		memory_device(in[i], "vda", 0xfe00000);
		eta_defs_file(in[i],
			      &(struct eta_file){
				      .path = i ? "/x" : "", .inode = 5, .dev = 1, .fs = "" });
		eta_defs_handle(in[i], &(struct eta_handle){ .name = "h", .file = 0 });
		eta_defs_property(in[i], "SCI::CLOCK", "CLOCK_MONOTONIC");
		begin.time_ns = (uint64_t)i + 1;
		memory_event(in[i], 0, begin);
	}
	in[1]->defs.locations[0].name = "renamed tid 1";
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	defs = eta_trace_defs(merged);
	assert_string_equal(defs->locations[0].name, "renamed tid 1");
	assert_int_equal(defs->n_regions, 3);
	assert_int_equal(defs->n_locations, 2);
	assert_int_equal(defs->locations[1].kind, ETA_LOCATION_DEVICE);
	assert_int_equal(defs->n_processes, 1);
	assert_int_equal(defs->n_files, 1);
	assert_string_equal(defs->files[0].path, "/x");
	assert_int_equal(defs->n_handles, 2);
	for (uint32_t i = 0; i < defs->n_properties; i++) {
		if (strcmp(defs->properties[i].name, "SCI::CLOCK") == 0)
			assert_string_equal(defs->properties[i].value, "CLOCK_MONOTONIC");
		if (strcmp(defs->properties[i].name, "SCI::SOURCES") == 0)
			assert_string_equal(defs->properties[i].value, "memory:a; memory:b");
	}
	assert_int_equal(eta_cursor_open(merged, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 2);
	assert_int_not_equal(batch[0].match, batch[1].match);
	assert_int_not_equal(batch[0].handle, batch[1].handle);
	eta_cursor_close(cursor);
	eta_close(merged);
}

/* ---- random traces: what is put in comes out, each side in its order ---- */

struct random_side {
	struct eta_trace *trace;
	uint32_t location;
	const char *prefix;
};

/* Nested kernel regions within [from, to]. */
static void random_kernel(struct random_side *kernel, uint64_t from, uint64_t to, int depth)
{
	static const char *const levels[] = { "vfs:w", "fs:w", "pagecache:w", "fs:inode lock" };

	while (from < to && rand() % 3) {
		uint64_t begin = from + (uint64_t)rand() % (to - from + 1);
		uint64_t end = begin + (uint64_t)rand() % (to - begin + 1);

		memory_enter(kernel->trace, kernel->location, begin, levels[depth]);
		if (depth < 3)
			random_kernel(kernel, begin, end, depth + 1);
		memory_leave(kernel->trace, kernel->location, end, levels[depth]);
		from = end + 1;
	}
}

static void fill_random(struct random_side *user, struct random_side *kernel, unsigned operations)
{
	uint64_t now = 1000;

	for (unsigned i = 0; i < operations; i++) {
		uint64_t begin = now + (uint64_t)rand() % 3, end = begin + (uint64_t)rand() % 20;

		memory_enter(user->trace, user->location, begin, i % 2 ? "read" : "write");
		memory_event(user->trace, user->location,
			     (struct eta_event){ .time_ns = begin,
						 .kind = ETA_IO_BEGIN,
						 .handle = ETA_NONE,
						 .match = i });
		random_kernel(kernel, begin, end, 0);
		memory_event(user->trace, user->location,
			     (struct eta_event){ .time_ns = end,
						 .kind = ETA_IO_COMPLETE,
						 .handle = ETA_NONE,
						 .match = i });
		memory_leave(user->trace, user->location, end, i % 2 ? "read" : "write");
		now = end + 1;
	}
}

static bool is_kernel(const struct eta_trace *trace, const struct eta_event *event)
{
	return event->kind <= ETA_LEAVE && strchr(trace->defs.regions[event->region].name, ':');
}

static void random_traces_can_be_projected(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct random_side sides[2];
		struct eta_trace *in[2], *merged;
		const struct eta_event *expected[2], *batch;
		size_t left[2];
		struct eta_cursor *cursor;
		struct eta_counts counts;
		ssize_t n;

		srand(seed);
		for (int i = 0; i < 2; i++) {
			in[i] = memory_trace_new(i ? "kernel" : "user");
			sides[i].trace = in[i];
			sides[i].location = memory_thread(in[i], 1, 1);
			memory_batch(in[i], seed % 3 ? (size_t)(rand() % 50) : 0);
		}
		fill_random(&sides[0], &sides[1], 400);
		for (int i = 0; i < 2; i++)
			expected[i] = memory_events(in[i], 0, &left[i]);
		assert_int_equal(eta_merge(in, 2, &merged), 0);
		assert_int_equal(eta_cursor_open(merged, 0, &cursor), 0);
		while ((n = eta_cursor_read(cursor, &batch)) > 0)
			for (const struct eta_event *e = batch; e < batch + n; e++) {
				int side = is_kernel(merged, e);
				const struct eta_event *from = expected[side]++;

				assert_true(left[side]-- > 0);
				assert_int_equal(e->kind, from->kind);
				assert_int_equal(e->time_ns, from->time_ns);
				if (e->kind <= ETA_LEAVE)
					assert_string_equal(
						merged->defs.regions[e->region].name,
						in[side]->defs.regions[from->region].name);
				else
					assert_int_equal(e->match, from->match * 2);
			}
		assert_int_equal(n, 0);
		assert_int_equal(left[0], 0);
		assert_int_equal(left[1], 0);
		eta_cursor_close(cursor);
		eta_trace_counts(merged, &counts);
		assert_int_equal(counts.overlapping + counts.orphan + counts.truncated, 0);
		eta_close(merged);
	}
}

/* Else it would be read and closed twice. */
static void a_trace_twice_is_refused(void **state)
{
	struct eta_trace *in[] = { memory_trace_new("a"), memory_trace_new("b"), NULL }, *merged;

	(void)state;
	in[2] = in[0];
	assert_int_equal(eta_merge(in, 3, &merged), -EINVAL);
	assert_null(merged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_give_what_they_should),
		cmocka_unit_test(sound_events_of_one_trace_are_not_copied),
		cmocka_unit_test(attributes_stay_on_the_topmost_region_that_knows_them),
		cmocka_unit_test(the_file_of_waits_goes_into_the_call),
		cmocka_unit_test(threads_are_matched_by_their_lives),
		cmocka_unit_test(definitions_are_united),
		cmocka_unit_test(who_only_has_requests_is_not_missed),
		cmocka_unit_test(random_traces_can_be_projected),
		cmocka_unit_test(a_trace_twice_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

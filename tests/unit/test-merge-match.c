/* Merging inputs that do not agree on clocks or on the names of threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "memory-trace.h"

static int notes, warnings;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)text;
	notes += severity == ETA_NOTE;
	warnings += severity == ETA_WARNING;
}

static const char *property(const struct eta_trace *trace, const char *name)
{
	for (uint32_t i = 0; i < trace->defs.n_properties; i++)
		if (strcmp(trace->defs.properties[i].name, name) == 0)
			return trace->defs.properties[i].value;
	return "";
}

static void call(struct eta_trace *trace, uint32_t location, uint64_t begin, uint64_t end,
		 const char *region, uint64_t bytes)
{
	memory_event(trace, location,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE,
					 .region = memory_region(trace, region),
					 .size = bytes });
	memory_leave(trace, location, end, region);
}

struct sides {
	struct eta_trace *in[2]; /* user, kernel */
	uint32_t user[8], kernel[8];
};

/*
 * N threads, each with CALLS calls. The user's clock is BASE behind; what the kernel calls thread I
 * is the user's thread I. SAME: all threads call the same with the same bytes.
 */
static void make(struct sides *s, unsigned n, unsigned calls, uint64_t base, bool same, bool tids,
		 const char *user_clock)
{
	s->in[0] = memory_trace_new("user");
	s->in[1] = memory_trace_new("kernel");
	eta_defs_property(s->in[1], "SCI::CLOCK", "CLOCK_MONOTONIC");
	if (user_clock)
		eta_defs_property(s->in[0], "SCI::CLOCK", user_clock);
	memory_batch(s->in[0], 7);
	for (unsigned t = 0; t < n; t++) {
		uint64_t now = base + 1000000 + (uint64_t)rand() % 1000000;

		s->user[t] = memory_thread(s->in[0], tids ? 7 : 0, tids ? 10 + t : 0);
		s->kernel[t] = memory_thread(s->in[1], 7, 10 + t);
		/* what the loader reads before the user's tracer is there */
		for (unsigned i = 0; i < 5; i++)
			call(s->in[1], s->kernel[t], base + 10 * i, base + 10 * i + 5,
			     "vfs:sys_read", 832);
		for (unsigned i = 0; i < calls; i++) {
			uint64_t length = 2000 + (uint64_t)rand() % 20000;
			uint64_t before = 100 + (uint64_t)rand() % 300, after = 100;
			uint64_t bytes = same ? 4096 : (uint64_t)rand() % 4 * 512;
			bool read = (same ? i : (unsigned)rand()) % 2;

			call(s->in[0], s->user[t], now - base, now - base + length,
			     read ? "pread" : "pwrite", bytes);
			call(s->in[1], s->kernel[t], now + before, now + length - after,
			     read ? "vfs:sys_pread64" : "vfs:sys_pwrite64", bytes);
			now += length + (uint64_t)rand() % 50000;
		}
	}
}

/* Every thread of the result has N calls of both sides, each kernel's inside of the user's. */
static void check_nested(struct eta_trace *merged, unsigned n, unsigned calls)
{
	static char text[1 << 20];

	assert_int_equal(merged->defs.n_locations, n);
	for (uint32_t l = 0; l < n; l++) {
		unsigned found = 0;

		assert_true(events_print_regions(merged, l, text, sizeof(text)) >= 0);
		for (const char *at = text; (at = strstr(at, "+p")); at++) {
			const char *next = strchr(at, ' ');

			found++;
			assert_non_null(next);
			assert_memory_equal(next, " +vfs:sys_p", 11);
		}
		assert_int_equal(found, calls);
	}
}

static void threads_and_base_are_found(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 40; seed++) {
		struct sides s;
		struct eta_trace *merged;
		struct eta_counts counts;
		int64_t low, high;
		bool tids = seed % 3 == 0;

		srand(seed);
		notes = warnings = 0;
		make(&s, 1 + seed % 6, 30, 5000000000, seed % 2, tids,
		     seed % 4 ? "relative" : NULL);
		/* the order of the inputs does not matter */
		if (seed % 5 == 0) {
			struct eta_trace *kernel = s.in[1];

			s.in[1] = s.in[0];
			s.in[0] = kernel;
		}
		assert_int_equal(eta_merge(s.in, 2, &merged), 0);
		check_nested(merged, 1 + seed % 6, 30);
		eta_trace_counts(merged, &counts);
		assert_int_equal(counts.unmatched, 0);
		assert_string_equal(property(merged, "SCI::CLOCK"), "CLOCK_MONOTONIC");
		assert_int_equal(sscanf(property(merged, "SCI::OFFSET_INTERVAL"),
					"%" SCNd64 " %" SCNd64, &low, &high),
				 2);
		assert_true(low <= 5000000000 && high >= 5000000000 && high - low <= 1000);
		assert_int_equal(notes, 1);
		assert_int_equal(warnings, 0);
		eta_close(merged);
	}
}

/* A thread that has no call to match is the one that is left, where there is no more than one. */
static void the_last_thread_has_a_name(void **state)
{
	(void)state;
	for (int left = 0; left < 3; left++) {
		struct eta_trace *merged;
		struct eta_counts counts;
		struct sides s;
		uint32_t starter;

		srand(6);
		make(&s, 3, 20, 7000000000, true, false, "relative");
		starter = memory_thread(s.in[0], 0, 0);
		memory_enter(s.in[0], starter, 10, "open");
		memory_leave(s.in[0], starter, 20, "open");
		for (int i = 0; i < left; i++) {
			uint32_t other = memory_thread(s.in[1], 7, 40 + (uint32_t)i);

			call(s.in[1], other, 7000000012, 7000000015, "vfs:sys_openat", 0);
		}
		/* another process's is none of them */
		call(s.in[1], memory_thread(s.in[1], 8, 50), 7000000012, 7000000015, "vfs:sys_read",
		     1);
		assert_int_equal(eta_merge(s.in, 2, &merged), 0);
		eta_trace_counts(merged, &counts);
		assert_int_equal(counts.unmatched, left == 1 ? 1 : 2 + left);
		assert_int_equal(merged->defs.n_locations, left == 1 ? 5 : 5 + left);
		eta_close(merged);
	}
}

/* The same clock, but no tids, as a container's threads have other numbers. */
static void threads_are_found_by_time(void **state)
{
	struct eta_trace *merged;
	struct eta_counts counts;
	struct sides s;

	(void)state;
	srand(3);
	notes = warnings = 0;
	make(&s, 5, 10, 0, true, false, "CLOCK_MONOTONIC");
	assert_int_equal(eta_merge(s.in, 2, &merged), 0);
	check_nested(merged, 5, 10);
	eta_trace_counts(merged, &counts);
	assert_int_equal(counts.unmatched + (uint64_t)notes + (uint64_t)warnings, 0);
	assert_string_equal(property(merged, "SCI::OFFSET_INTERVAL"), "");
	eta_close(merged);
}

/* Nothing is guessed: other bytes, or calls at other times, leave all as it was, with a warning. */
static void others_calls_are_not_taken(void **state)
{
	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		struct eta_trace *merged;
		struct eta_counts counts;
		struct sides s, other;

		srand(4);
		notes = warnings = 0;
		make(&s, 2, 20, 1000000000, true, false, "relative");
		srand(5);
		make(&other, 2, 20, 1000000000, kind == 0, false, "relative");
		eta_close(s.in[1]);
		eta_close(other.in[0]);
		s.in[1] = other.in[1];
		assert_int_equal(eta_merge(s.in, 2, &merged), 0);
		assert_int_equal(merged->defs.n_locations, 4);
		eta_trace_counts(merged, &counts);
		assert_int_equal(counts.unmatched, 4);
		assert_int_equal(warnings, 1);
		assert_string_equal(property(merged, "SCI::CLOCK"), "relative; CLOCK_MONOTONIC");
		eta_close(merged);
	}
}

static void the_user_knows_better(void **state)
{
	const struct eta_clock_map map = eta_clock_offset(700, 9);
	const struct eta_clock_map *clocks[2] = { &map, NULL };
	const struct eta_thread_name names[] = { { "app tid 0", 7, 11 }, { "nobody", 7, 12 } };
	struct eta_merge_options options = { .clocks = clocks, .threads = names, .n_threads = 1 };
	struct eta_trace *in[2], *merged;
	char text[256];

	(void)state;
	for (int again = 0; again < 2; again++) {
		in[0] = memory_trace_new("user");
		in[1] = memory_trace_new("kernel");
		memory_thread(in[0], 0, 0);
		memory_thread(in[1], 7, 11);
		eta_defs_property(in[1], "SCI::CLOCK", "CLOCK_MONOTONIC");
		call(in[0], 0, 300, 400, "write", 8);
		call(in[1], 0, 1010, 1090, "vfs:sys_write", 8);
		if (again)
			options.n_threads = 2;
		assert_int_equal(eta_merge_with(in, 2, &options, &merged), again ? -2 : 0);
		if (again)
			break;
		assert_int_equal(merged->defs.n_locations, 1);
		events_print(merged, 0, text, sizeof(text));
		assert_string_equal(text, "+write@1000 +vfs:sys_write@1010 -vfs:sys_write@1090 "
					  "-write@1100");
		assert_string_equal(property(merged, "SCI::CLOCK_OF_1"), "0 700 1/1 +-9");
		eta_close(merged);
	}
}

/* Wall clock, boot time: by the distances that a tracer reported; of another boot by the wall
 * clocks.
 */
static void declared_clocks_are_converted(void **state)
{
	static const struct {
		const char *clock, *host, *property, *value;
		uint64_t expected_ns;
		int warnings;
		const char *boot; /* NULL: unknown */
	} rows[] = {
		{ "CLOCK_MONOTONIC", "host", NULL, NULL, 1000000, 0, NULL },
		{ "CLOCK_REALTIME", "host", NULL, NULL, 400000, 0, NULL },
		{ "CLOCK_REALTIME", "host", "SCI::REALTIME_OFFSET", "500000", 500000, 0, NULL },
		{ "CLOCK_BOOTTIME", "", "SCI::BOOTTIME_OFFSET", "100", 999900, 0, NULL },
		{ "TSC", "host", "SCI::TSC_OFFSET", "-100", 1000100, 0, NULL },
		/* 300000 there is our 1000000 - 700000 + 600000 */
		{ "CLOCK_MONOTONIC", "elsewhere", "SCI::REALTIME_OFFSET", "700000", 1100000, 1,
		  NULL },
		{ "CLOCK_REALTIME", "elsewhere", NULL, NULL, 400000, 1, NULL },
		{ "CLOCK_MONOTONIC", "elsewhere", NULL, NULL, 1000000, 1, NULL },
		/* a container, and another machine of the same name */
		{ "CLOCK_MONOTONIC", "c", "SCI::REALTIME_OFFSET", "700000", 1000000, 0, "boot" },
		{ "CLOCK_MONOTONIC", "host", "SCI::REALTIME_OFFSET", "700000", 1100000, 1,
		  "other" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct eta_trace *in[2] = { memory_trace_new("kernel"), memory_trace_new("log") };
		struct eta_trace *merged;
		char text[256], expected[64];

		warnings = 0;
		memory_thread(in[1], 20, 20);
		in[1]->defs.processes[0].host = eta_trace_string(in[1], rows[i].host);
		if (rows[i].boot)
			in[1]->defs.processes[0].boot = eta_trace_string(in[1], rows[i].boot);
		memory_thread(in[0], 7, 7);
		in[0]->defs.processes[0].boot = eta_trace_string(in[0], "boot");
		eta_defs_property(in[1], "SCI::CLOCK", rows[i].clock);
		if (rows[i].property)
			eta_defs_property(in[1], rows[i].property, rows[i].value);
		eta_defs_property(in[0], "SCI::CLOCK", "CLOCK_MONOTONIC");
		eta_defs_property(in[0], "SCI::REALTIME_OFFSET", "600000");
		call(in[1], 0, 1000000, 1000001, "write", 8);
		call(in[0], 0, 5, 6, "vfs:sys_write", 8);
		assert_int_equal(eta_merge(in, 2, &merged), 0);
		snprintf(expected, sizeof(expected), "+write@%" PRIu64, rows[i].expected_ns);
		assert_int_equal(merged->defs.n_locations, 2);
		for (uint32_t l = 0; l < 2; l++)
			if (merged->defs.locations[l].tid == 20) {
				events_print(merged, l, text, sizeof(text));
				if (strncmp(text, expected, strlen(expected)) != 0)
					fail_msg("row %zu: %s", i, text);
				assert_int_equal(merged->defs.locations[l].start_ns,
						 rows[i].expected_ns);
			}
		assert_int_equal(warnings, rows[i].warnings);
		eta_close(merged);
	}
}

/* A counter that is 30 ppm fast: two readings far from each other say so, an offset would not. */
static void readings_give_the_rate(void **state)
{
	static const struct {
		const char *readings;
		uint64_t within_ns; /* 0: not used */
	} rows[] = {
		{ "1000000000 5000000000 100; 101003000000 105000000000 100", 110 },
		{ "1000000000 5000000000 100;51001500000 55000000000 2000; 101003000000 "
		  "105000000000 100;",
		  110 },
		/* too near: the offset alone, and 30 ppm of 100 s */
		{ "1000000000 5000000000 100; 1001000030 5001000000 100", 3001000 },
		{ "1000000000 5000000000", 0 },
		{ "nothing", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct eta_trace *in[2] = { memory_trace_new("counter"),
					    memory_trace_new("kernel") };
		struct eta_clock_map map;
		struct eta_trace *merged;
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		int64_t off;

		notes = warnings = 0;
		eta_defs_property(in[0], "SCI::CLOCK", "TSC");
		eta_defs_property(in[0], "SCI::TSC_CALIBRATION", rows[i].readings);
		eta_defs_property(in[1], "SCI::CLOCK", "CLOCK_MONOTONIC");
		memory_thread(in[0], 7, 8);
		memory_enter(in[0], 0, 101003000000, "write");
		memory_leave(in[0], 0, 101003000001, "write");
		memory_thread(in[1], 7, 9);
		memory_enter(in[1], 0, 1, "vfs:sys_write");
		memory_leave(in[1], 0, 2, "vfs:sys_write");
		assert_int_equal(eta_merge(in, 2, &merged), 0);
		if (rows[i].within_ns) {
			assert_int_equal(warnings, 0);
			assert_string_equal(property(merged, "SCI::CLOCK"), "CLOCK_MONOTONIC");
			assert_true(eta_clock_map_parse(property(merged, "SCI::CLOCK_OF_1"), &map));
			/* rounded: the readings are right to 100 ns */
			assert_true(map.error_ns > 0 && map.error_ns <= 200);
			assert_int_equal(map.num == map.den, rows[i].within_ns > 1000);
			for (uint32_t l = 0; l < 2; l++) {
				if (merged->defs.locations[l].tid != 8)
					continue;
				assert_int_equal(eta_cursor_open(merged, l, &cursor), 0);
				assert_true(eta_cursor_read(cursor, &batch) > 0);
				off = (int64_t)(batch[0].time_ns - 105000000000);
				assert_true(llabs(off) <= (int64_t)rows[i].within_ns);
				eta_cursor_close(cursor);
			}
		} else {
			assert_true(warnings > 0);
			assert_string_equal(property(merged, "SCI::CLOCK_OF_1"), "");
		}
		eta_close(merged);
	}
}

/* All of another clock: there is nothing to convert to. */
static void one_clock_stays(void **state)
{
	struct eta_trace *in[2] = { memory_trace_new("a"), memory_trace_new("b") }, *merged;

	(void)state;
	warnings = 0;
	for (int i = 0; i < 2; i++) {
		memory_thread(in[i], 7, 7);
		eta_defs_property(in[i], "SCI::CLOCK", "CLOCK_REALTIME");
		call(in[i], 0, 10, 20, i ? "vfs:sys_write" : "write", 8);
	}
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	assert_string_equal(property(merged, "SCI::CLOCK"), "CLOCK_REALTIME");
	assert_int_equal(warnings, 0);
	eta_close(merged);
}

static int quiet(void **state)
{
	(void)state;
	eta_set_message_fn(listen, NULL);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_base_are_found),
		cmocka_unit_test(the_last_thread_has_a_name),
		cmocka_unit_test(threads_are_found_by_time),
		cmocka_unit_test(others_calls_are_not_taken),
		cmocka_unit_test(the_user_knows_better),
		cmocka_unit_test(declared_clocks_are_converted),
		cmocka_unit_test(readings_give_the_rate),
		cmocka_unit_test(one_clock_stays),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}

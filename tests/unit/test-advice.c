/* Whom the advice names, where the CPU was waited for beside the cause. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "score-trace.h"
#include "src/report/advice.h"
#include "src/report/report.h"

enum { APP = 1, DISK, HOG, OTHER };

static const char *const programs[] = { "app", "disk-user", "hog", "other" };

/* In the call at AT it waits for WHO from FROM on, for NS. */
struct wait {
	const char *region;
	uint32_t who;
	uint64_t ns;
};

static uint64_t wait_for(struct eta_trace *t, uint32_t l, uint64_t at, const struct wait *w)
{
	uint32_t region = memory_region(t, w->region);

	memory_event(t, l,
		     (struct eta_event){ .time_ns = at,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_WHO,
					 .region = region,
					 .who = w->who });
	memory_leave(t, l, at + w->ns, w->region);
	return at + w->ns;
}

/* The advice for a thread that has fast calls, and one in which it waits. */
static const char *advice_for(const struct wait *waits, size_t n)
{
	static char text[1024];
	struct eta_trace *t = memory_trace_new("advice");
	uint32_t l = memory_thread(t, APP, APP);
	uint64_t at = 10010;
	struct analysis_options options = score_by_default;
	struct analysis *r;

	options.files = true;
	for (uint32_t pid = DISK; pid <= OTHER; pid++)
		memory_thread(t, pid, pid);
	for (uint32_t i = 0; i < t->defs.n_processes; i++)
		t->defs.processes[i].name = programs[t->defs.processes[i].pid - APP];
	for (uint64_t fast = 0; fast < 10000; fast += 1000)
		call_on(t, l, "vfs:sys_write", fast, fast + 100, 7, false);
	memory_event(t, l,
		     (struct eta_event){ .time_ns = 10000,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, "vfs:sys_write"),
					 .size = 4096,
					 .dev = 1,
					 .inode = 7 });
	for (size_t i = 0; i < n; i++)
		at = wait_for(t, l, at, &waits[i]);
	memory_leave(t, l, at + 90, "vfs:sys_write");
	r = analyse(t, &options);
	advice_text(r, text, sizeof(text));
	assert_string_equal(r->verdict.level, "block");
	assert_true(r->verdict.cpu_share > 0);
	finish(t, r);
	return text;
}

#define ADVICE_FOR(...)                                                                            \
	advice_for((const struct wait[]){ __VA_ARGS__ },                                           \
		   sizeof((const struct wait[]){ __VA_ARGS__ }) / sizeof(struct wait))

/* Who had the device took most. */
static void user_of_the_device(void **state)
{
	(void)state;
	assert_non_null(
		strstr(ADVICE_FOR({ "block:device", DISK, 6000 }, { "cpu:run queue", HOG, 4000 }),
		       "disk-user has its requests on"));
}

/* Who had the CPU took most: it may have had nothing but that. */
static void user_of_the_cpu(void **state)
{
	const char *text;

	(void)state;
	text = ADVICE_FOR({ "block:device", DISK, 4000 }, { "cpu:run queue", HOG, 6000 });
	assert_null(strstr(text, "hog"));
	assert_non_null(strstr(text, "The device is busy"));
}

/* As much as all had on CPUs together is not more than that. */
static void as_much_as_the_cpu(void **state)
{
	(void)state;
	assert_null(
		strstr(ADVICE_FOR({ "block:device", DISK, 5000 }, { "cpu:run queue", HOG, 2500 },
				  { "cpu:run queue", OTHER, 2500 }),
		       "disk-user"));
	assert_non_null(
		strstr(ADVICE_FOR({ "block:device", DISK, 5001 }, { "cpu:run queue", HOG, 2500 },
				  { "cpu:run queue", OTHER, 2499 }),
		       "disk-user"));
}

/* Who had both has more than the CPU. */
static void user_of_both(void **state)
{
	(void)state;
	assert_non_null(
		strstr(ADVICE_FOR({ "block:device", HOG, 4000 }, { "block:device", DISK, 1000 },
				  { "cpu:run queue", HOG, 5000 }),
		       "hog has its requests on"));
}

/* Parts of so long a time are still parts of it: 100 times its nanoseconds are more than 64 bits.
 */
static void ten_years(void **state)
{
	const uint64_t year_ns = 365ull * 24 * 3600 * 1000000000;
	struct eta_trace *t = memory_trace_new("years");
	uint32_t l = memory_thread(t, 1, 1);
	char text[8192] = "";
	struct analysis *r;
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	assert_non_null(out);
	working(t, l, 0, 6 * year_ns, NULL, 0);
	working(t, l, 10 * year_ns - 1000, 1000, NULL, 0);
	r = analyse(t, &(struct analysis_options){ .habits = true });
	assert_int_equal(report_answer(out, r, 120), 0);
	fclose(out);
	assert_non_null(strstr(text, "time: 60 % in "));
	finish(t, r);
}

/* Calls of 1000 ns that wait READY_NS for a CPU. */
static struct eta_trace *ready_in_calls(const char *name, uint64_t ready_ns)
{
	const struct wait wait = { "cpu:run queue", HOG, ready_ns };
	struct eta_trace *t = memory_trace_new(name);
	uint32_t l = memory_thread(t, APP, APP);

	for (uint64_t at = 0; at < 20000; at += 1000) {
		memory_enter(t, l, at, "vfs:sys_write");
		if (ready_ns)
			wait_for(t, l, at + 10, &wait);
		memory_leave(t, l, at + 1000, "vfs:sys_write");
	}
	return t;
}

/* What the first screen says of a run alone whose calls waited READY_NS for a CPU; free() it. */
static char *screen_against(uint64_t ready_ns)
{
	struct analysis_options options = { .reference = REFERENCE_BASELINE };
	struct eta_trace *alone = ready_in_calls("alone", ready_ns);
	struct eta_trace *t = ready_in_calls("beside", 0);
	struct analysis *r;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	options.baseline = alone;
	r = analyse(t, &options);
	assert_int_equal(report_answer(out, r, 0), 0);
	assert_int_equal(fclose(out), 0);
	finish(t, r);
	eta_close(alone);
	return text;
}

/* A run alone that was slowed itself is no measure. */
static void baseline_without_a_cpu(void **state)
{
	char *text = screen_against(400);

	(void)state;
	assert_non_null(strstr(text, "baseline: its I/O calls were ready without a CPU for 8.00 us "
				     "of 20.0 us"));
	free(text);
	for (uint64_t ns = 0; ns < 100; ns += 90) {
		text = screen_against(ns);
		assert_null(strstr(text, "baseline:"));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(baseline_without_a_cpu), cmocka_unit_test(user_of_the_device),
		cmocka_unit_test(user_of_the_cpu),	  cmocka_unit_test(as_much_as_the_cpu),
		cmocka_unit_test(user_of_both),		  cmocka_unit_test(ten_years),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What others caused and what not: the split of slowdown. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

#include <stdio.h>
#include <string.h>

/* The same on two files: nobody is in the way. */
static void other_file_is_not_contended(void **state)
{
	struct eta_trace *t = memory_trace_new("files");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	call_on(t, a, "write", 0, 10, 7, false);
	call_on(t, a, "write", 300, 340, 7, false);
	call_on(t, b, "write", 310, 360, 8, false);
	r = analyse(t, &score_by_min);
	assert_int_equal(r->slowdown.lost_ns, 70);
	assert_int_equal(r->slowdown.interference_ns, 0);
	finish(t, r);
}

/* A wait is no step of the path: waiting operations are compared with those that did not wait. */
static void waits_are_not_paths(void **state)
{
	struct eta_trace *t = memory_trace_new("waits");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	for (uint64_t at = 0; at < 20000; at += 1000) {
		memory_enter(t, a, at, "vfs:sys_write");
		memory_enter(t, a, at + 10, "fs:ext4_file_write_iter");
		if (at >= 10000) {
			memory_enter(t, a, at + 20, "fs:inode lock");
			memory_leave(t, a, at + 520, "fs:inode lock");
			memory_leave(t, a, at + 540, "fs:ext4_file_write_iter");
			memory_leave(t, a, at + 550, "vfs:sys_write");
		} else {
			memory_leave(t, a, at + 40, "fs:ext4_file_write_iter");
			memory_leave(t, a, at + 50, "vfs:sys_write");
		}
	}
	r = analyse(t, &score_by_default);
	assert_int_equal(r->n_classes, 1);
	assert_int_equal(r->slowdown.lost_ns, 10 * 500);
	assert_int_equal(r->slowdown.interference_ns, 10 * 500);
	assert_string_equal(r->verdict.level, "fs");
	assert_string_equal(r->verdict.reason, "inode lock");
	finish(t, r);
}

/* A wait that library calls tell themselves is named, with its advice, without a kernel's side. */
static void user_waits_are_named(void **state)
{
	struct eta_trace *t = memory_trace_new("stream");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	for (uint64_t at = 0; at < 20000; at += 1000) {
		memory_enter(t, a, at, "fwrite");
		if (at >= 10000) {
			memory_enter(t, a, at + 20, "user:stream lock");
			memory_leave(t, a, at + 520, "user:stream lock");
		}
		memory_leave(t, a, at + (at < 10000 ? 50 : 550), "fwrite");
	}
	r = analyse(t, &score_by_default);
	assert_false(r->has_levels);
	assert_string_equal(r->verdict.level, "user");
	assert_string_equal(r->verdict.reason, "stream lock");
	assert_non_null(strstr(r->verdict.advice, "share a stdio stream"));
	finish(t, r);
}

/* Block time is contended when another thread's request was in flight on the device. */
static void device_is_shared(bool overlapping)
{
	struct eta_trace *t = memory_trace_new("device");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	uint64_t match = 0;
	struct analysis *r;

	for (uint64_t at = 0; at < 20000; at += 1000) {
		uint64_t ns = at >= 10000 ? 500 : 50;

		memory_enter(t, a, at, "vfs:sys_read");
		request(t, a, at + 5, at + ns - 5, ++match);
		memory_leave(t, a, at + ns, "vfs:sys_read");
	}
	for (uint64_t at = 10000; at < 20000; at += 1000)
		request(t, b, at + (overlapping ? 100 : 600), at + (overlapping ? 200 : 700),
			++match);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 4500);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, overlapping ? 4500 : 0);
	assert_string_equal(r->verdict.level, overlapping ? "block" : "none");
	finish(t, r);
}

static void device_split(void **state)
{
	(void)state;
	device_is_shared(true);
	device_is_shared(false);
}

/*
 * A waits for the device beside B, which is not traced: the trace has B's requests, long before and
 * after, but no call of B. The time that B was there is not time that the program could have lost.
 */
static void untraced_do_not_dilute(void **state)
{
	struct eta_trace *t = memory_trace_new("dilution");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 2, 2);
	uint64_t match = 0;
	struct analysis *r;

	(void)state;
	for (uint64_t at = 0; at < 20000; at += 1000) {
		uint64_t ns = at >= 10000 ? 500 : 50;

		memory_enter(t, a, at, "vfs:sys_read");
		request(t, a, at + 5, at + ns - 5, ++match);
		memory_leave(t, a, at + ns, "vfs:sys_read");
	}
	for (uint64_t at = 10000; at < 20000; at += 1000)
		request(t, b, at + 100, at + 200, ++match);
	request(t, b, 1000000, 1000100, ++match);
	r = analyse(t, &score_by_default);
	assert_int_equal(thread(r, a)->slowdown.interference_ns, 4500);
	assert_false(thread(r, b)->scored);
	assert_int_equal(r->lifetime_ns, 19500);
	assert_true(r->sci_total == thread(r, a)->sci);
	finish(t, r);
}

/* ---- what others caused, by reason ---- */

/* What the second thread does while the first one's slow operation waits from 10100 to 10500. */
enum overlap {
	NOBODY,
	WRITER_ON_FILE,	      /* an operation on the same file */
	WRITER_ON_OTHER_FILE, /* on the same file system */
	READER_ON_OTHER_FILE,
	REQUEST,	/* in flight on the device */
	REQUEST_FOR_US, /* the same, for pages that the first thread dirtied */
	THROTTLED,	/* waits before the queue for the same file system's device */
	AFTERWARDS,	/* all of it, but later */
};

static void add_overlap(struct eta_trace *t, uint32_t l, enum overlap overlap)
{
	switch (overlap) {
	case NOBODY:
		break;
	case WRITER_ON_FILE:
		call_on(t, l, "pwrite", 10200, 10300, 7, false);
		break;
	case WRITER_ON_OTHER_FILE:
		call_on(t, l, "pwrite", 10200, 10300, 8, false);
		break;
	case READER_ON_OTHER_FILE:
		call_on(t, l, "pread", 10200, 10300, 8, false);
		break;
	case REQUEST:
		request_of(t, l, 10200, 10300, 0);
		break;
	case REQUEST_FOR_US:
		request_of(t, l, 10200, 10300, 1);
		break;
	case THROTTLED:
		operation_with(t, l, 10000, 300, "block:held back");
		break;
	case AFTERWARDS:
		call_on(t, l, "pwrite", 10700, 10800, 7, false);
		request_of(t, l, 10700, 10800, 0);
		break;
	}
}

/* Is the slow operation's wait for REASON what others caused? */
static bool is_contended(const char *reason, enum overlap overlap)
{
	struct eta_trace *t = memory_trace_new("overlap");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;
	int64_t contended;

	eta_defs_handle(t, &(struct eta_handle){ .name = "disk", .file = ETA_NONE, .device = 1 });
	for (uint64_t at = 0; at < 10000; at += 1000)
		operation_with(t, a, at, 0, reason);
	operation_with(t, a, 10000, 400, reason);
	add_overlap(t, b, overlap);
	r = analyse(t, &score_by_min);
	/* a class of its own where the wait is for a request */
	contended = thread(r, a)->slowdown.interference_ns;
	if (thread(r, a)->slowdown.lost_ns == 0)
		fail_msg("%s: nothing was lost", reason);
	finish(t, r);
	return contended > 0;
}

static void reasons(void **state)
{
#define SET(overlap) (1u << (overlap))
	static const struct {
		const char *reason;
		unsigned contended; /* set of companies */
	} cases[] = {
		{ "fs:inode lock", ~0u },
		{ "cpu:run queue", ~0u },
		{ "cpu:wake-up", 0 },
		{ "vfs:file position lock", ~0u },
		/* who reads gives the journal nothing to do */
		{ "fs:journal commit",
		  SET(WRITER_ON_FILE) | SET(WRITER_ON_OTHER_FILE) | SET(THROTTLED) },
		/* nobody alone spins for long but for the kernel's own sake */
		{ "vfs:spin lock", SET(WRITER_ON_FILE) | SET(WRITER_ON_OTHER_FILE) |
					   SET(READER_ON_OTHER_FILE) | SET(THROTTLED) },
		{ "pagecache:dirty throttling",
		  SET(WRITER_ON_FILE) | SET(WRITER_ON_OTHER_FILE) | SET(THROTTLED) },
		{ "pagecache:reclaim",
		  SET(WRITER_ON_FILE) | SET(WRITER_ON_OTHER_FILE) | SET(THROTTLED) },
		{ "fs:other wait", SET(WRITER_ON_FILE) | SET(THROTTLED) },
		{ "pagecache:page writeback wait", SET(REQUEST) | SET(THROTTLED) },
		{ "cpu:quota", 0 },
		{ "cpu:stopped", 0 },
		{ "vfs:frozen file system", 0 },
		{ "pagecache:reclaim at own limit", 0 },
		{ "block:held back by own limit", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (unsigned c = NOBODY; c <= AFTERWARDS; c++)
			if (is_contended(cases[i].reason, (enum overlap)c) !=
			    !!(cases[i].contended & SET(c)))
				fail_msg("%s with overlap %u", cases[i].reason, c);
}

/* ---- limits that were set on the thread ---- */

/* A thread that waits at REASON in one of its eleven operations, and for a lock of B in another. */
static struct eta_trace *limited(const char *reason, uint32_t *a, uint32_t *b)
{
	struct eta_trace *t = memory_trace_new("limit");

	*a = memory_thread(t, 1, 1);
	*b = memory_thread(t, 1, 2);
	for (uint64_t at = 0; at < 10000; at += 1000)
		operation_with(t, *a, at, 0, reason);
	operation_with(t, *a, 10000, 400, reason);
	memory_event(t, *a,
		     (struct eta_event){ .time_ns = 20000,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, "vfs:sys_pwrite64"),
					 .size = 4096,
					 .dev = 1,
					 .inode = 7 });
	memory_event(t, *a,
		     (struct eta_event){ .time_ns = 20100,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_WHO,
					 .region = memory_region(t, "fs:inode lock"),
					 .who = 2 });
	memory_leave(t, *a, 20200, "fs:inode lock");
	memory_leave(t, *a, 20300, "vfs:sys_pwrite64");
	call_on(t, *b, "vfs:sys_pwrite64", 10000, 10200, 7, false);
	return t;
}

/* It is lost, and counted, but neither to others nor to itself, and nobody is accused of it. */
static void limits_are_nobodys(void **state)
{
	static const char *const limits[][2] = {
		{ "cpu", "quota" },
		{ "cpu", "stopped" },
		{ "vfs", "frozen file system" },
		{ "pagecache", "reclaim at own limit" },
		{ "block", "held back by own limit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct analysis_options options = { .reference = REFERENCE_MIN, .n_bins = 3 };
		const struct thread_score *s;
		struct eta_trace *t;
		struct analysis *r;
		char region[64], text[300];
		uint32_t a, b;

		snprintf(region, sizeof(region), "%s:%s", limits[i][0], limits[i][1]);
		options.files = true;
		t = limited(region, &a, &b);
		snprintf(text, sizeof(text), "fs:inode lock|9|x; %s|300|of A; %s|x|y; %s|500|of B",
			 region, region, region);
		assert_int_not_equal(eta_defs_property(t, "SCI::LIMITS", text), ETA_NONE);
		assert_int_not_equal(eta_defs_property(t, "SCI::SUSPENDED_NS", "7"), ETA_NONE);
		r = analyse(t, &options);
		s = thread(r, a);
		assert_int_equal(s->slowdown.limit_ns, 400);
		assert_int_equal(s->slowdown.interference_ns, 100);
		assert_int_equal(slowdown_counted(&s->slowdown, SCI_DEFAULT), 500);
		assert_int_equal(slowdown_counted(&s->slowdown, SCI_PAPER), s->slowdown.lost_ns);
		assert_int_equal(slowdown_self(&s->slowdown), s->slowdown.lost_ns - 500);
		assert_float_equal(s->sci, 500. / 20300, 1e-12);
		assert_true(s->sci_low <= s->sci && s->sci <= s->sci_high);
		assert_string_equal(s->verdict.level, limits[i][0]);
		assert_string_equal(s->verdict.reason, limits[i][1]);
		assert_true(s->verdict.own_limit);
		/* which limit: that of most time; what is no entry is none */
		assert_int_equal(r->n_limits, 3);
		assert_int_equal(r->limits[0].ns, 500);
		assert_string_equal(r->limits[1].what, "of A");
		assert_int_equal(r->suspended_ns, 7);
		assert_string_equal(r->verdict.reason, limits[i][1]);
		assert_non_null(strstr(r->verdict.advice, "Here it is of B."));
		/* the lock's holder, and nobody for the limit */
		assert_int_equal(s->slowed_ns, 100);
		assert_int_equal(s->n_blame, 1);
		assert_int_equal(s->blame[0].location, b);
		assert_int_equal(r->bins[0].limit_ns + r->bins[1].limit_ns + r->bins[2].limit_ns,
				 400);
		assert_int_equal(r->n_files, 1);
		assert_int_equal(r->files[0].slowdown.limit_ns, 400);
		finish(t, r);
	}
}

/*
 * Somebody not traced, whom the kernel names in a wait, was in the way for as long as it says, and
 * in what belongs to no thread alone.
 */
static void named_are_others(void **state)
{
	static const struct {
		const char *reason;
		int64_t interference_ns;
	} cases[] = {
		{ "fs:journal commit", 300 }, { "fs:allocation", 300 },
		{ "vfs:spin lock", 300 },     { "pagecache:dirty throttling", 300 },
		{ "pagecache:reclaim", 300 }, { "pagecache:page writeback wait", 300 },
		{ "fs:other wait", 0 },	      { "cpu:wake-up", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eta_trace *t = memory_trace_new("named");
		uint32_t a = memory_thread(t, 1, 1);
		struct analysis *r;

		for (uint64_t at = 0; at < 10000; at += 1000)
			operation_with(t, a, at, 0, cases[i].reason);
		operation_begins(t, a, 10000);
		memory_event(t, a,
			     (struct eta_event){ .time_ns = 10100,
						 .kind = ETA_ENTER,
						 .has = ETA_HAS_WHO,
						 .region = memory_region(t, cases[i].reason),
						 .who = 99 });
		memory_leave(t, a, 10400, cases[i].reason);
		memory_enter(t, a, 10400, cases[i].reason);
		memory_leave(t, a, 10500, cases[i].reason);
		memory_leave(t, a, 10600, "vfs:sys_pwrite64");
		r = analyse(t, &score_by_min);
		if (thread(r, a)->slowdown.interference_ns != cases[i].interference_ns)
			fail_msg("%s: %lld of %lld ns", cases[i].reason,
				 (long long)thread(r, a)->slowdown.interference_ns,
				 (long long)thread(r, a)->slowdown.lost_ns);
		finish(t, r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_file_is_not_contended),
		cmocka_unit_test(waits_are_not_paths),
		cmocka_unit_test(user_waits_are_named),
		cmocka_unit_test(device_split),
		cmocka_unit_test(untraced_do_not_dilute),
		cmocka_unit_test(reasons),
		cmocka_unit_test(limits_are_nobodys),
		cmocka_unit_test(named_are_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

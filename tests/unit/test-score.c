/* The golden cases of the score, and properties on random traces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory-trace.h"
#include "src/analysis/analysis.h"
#include "unit.h"

static const struct analysis_options paper = { .sci = SCI_PAPER };
static const struct analysis_options by_min = { .reference = REFERENCE_MIN };
static const struct analysis_options by_default = { .reference = REFERENCE_SUPPORTED };

/* An operation of one region. */
static void call(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin,
		 uint64_t end)
{
	memory_enter(t, location, begin, name);
	memory_leave(t, location, end, name);
}

/* An operation of which the file is known. */
static void call_on(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin,
		    uint64_t end, uint64_t inode, bool short_result)
{
	memory_event(t, location,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, name),
					 .size = 4096,
					 .dev = 1,
					 .inode = inode });
	memory_event(t, location,
		     (struct eta_event){ .time_ns = end,
					 .kind = ETA_LEAVE,
					 .has = short_result ? ETA_HAS_RET : 0,
					 .region = memory_region(t, name),
					 .ret = 1 });
}

/* A block request in flight from BEGIN to END. */
static void request(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t end,
		    uint64_t match)
{
	memory_event(t, location,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_IO_BEGIN,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END,
					 .handle = ETA_NONE,
					 .match = match,
					 .end_ns = end });
}

static struct analysis *analyse(struct eta_trace *t, const struct analysis_options *options)
{
	struct analysis *a;

	assert_int_equal(analysis_run(t, options, &a), 0);
	return a;
}

static const struct thread_score *thread(const struct analysis *a, uint32_t location)
{
	for (uint32_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].location == location)
			return &a->threads[i];
	fail_msg("no thread of location %u", location);
	return NULL;
}

static int64_t level_time(const struct thread_score *t, enum eta_level level)
{
	uint64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].level == level)
			sum += t->time_ns[c];
	return (int64_t)sum;
}

static int64_t level_lost(const struct thread_score *t, enum eta_level level)
{
	int64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].level == level)
			sum += t->slowdown.cell_ns[c];
	return sum;
}

static void finish(struct eta_trace *t, struct analysis *a)
{
	analysis_free(a);
	eta_close(t);
}

/* Operations one after the other, 1 ns apart, from 1 on; the location lives for LIFE. */
static void row(struct eta_trace *t, uint32_t location, const uint64_t *ns, size_t n,
		uint64_t life_ns)
{
	uint64_t at = 1;

	memory_enter(t, location, 0, "main");
	for (size_t i = 0; i < n; i++) {
		call(t, location, "write", at, at + ns[i]);
		at += ns[i] + 1;
	}
	memory_leave(t, location, life_ns, "main");
}

#define ROW(t, location, life_ns, ...)                                                             \
	row(t, location, (const uint64_t[]){ __VA_ARGS__ },                                        \
	    sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), life_ns)

static void g1_paper(void **state)
{
	struct eta_trace *t = memory_trace_new("g1");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	ROW(t, a, 100, 10, 10, 10, 30);
	ROW(t, b, 200, 10, 50);
	r = analyse(t, &paper);
	assert_int_equal(r->classes[0].reference_ns, 10);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 20);
	assert_true(thread(r, a)->sci == 0.20);
	assert_int_equal(thread(r, b)->slowdown.lost_ns, 40);
	assert_true(thread(r, b)->sci == 0.20);
	assert_true(r->sci_max == 0.20);
	finish(t, r);
}

/* Four levels, each inside the one before. */
static void nested(struct eta_trace *t, uint32_t l, uint64_t base, const uint64_t at[8])
{
	static const char *const names[] = { "write", "vfs:sys_write", "fs:ext4_file_write_iter",
					     "block:submit_bio" };

	for (int i = 0; i < 4; i++)
		memory_enter(t, l, base + at[i], names[i]);
	for (int i = 4; i < 8; i++)
		memory_leave(t, l, base + at[i], names[7 - i]);
}

static void g2_levels(void **state)
{
	struct eta_trace *t = memory_trace_new("g2");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	nested(t, a, 0, (const uint64_t[]){ 0, 10, 20, 30, 70, 80, 90, 100 });
	nested(t, a, 1000, (const uint64_t[]){ 0, 15, 30, 50, 250, 270, 285, 300 });
	r = analyse(t, &paper);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 20 + 30);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 20 + 30);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_FS), 20 + 40);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_BLOCK), 40 + 200);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_USER), 10);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_VFS), 10);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_FS), 20);
	assert_int_equal(level_lost(thread(r, a), ETA_LEVEL_BLOCK), 160);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 200);
	assert_string_equal(r->verdict.level, "block");
	finish(t, r);
}

static void g3_request_in_flight(void **state)
{
	struct eta_trace *t = memory_trace_new("g3");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "write");
	memory_enter(t, a, 10, "vfs:sys_write");
	memory_enter(t, a, 20, "fs:ext4_file_write_iter");
	memory_enter(t, a, 30, "block:submit_bio");
	request(t, a, 35, 165, 1);
	memory_leave(t, a, 40, "block:submit_bio");
	memory_leave(t, a, 180, "fs:ext4_file_write_iter");
	memory_leave(t, a, 190, "vfs:sys_write");
	memory_leave(t, a, 200, "write");
	r = analyse(t, &paper);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 20);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 20);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_FS), 25);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_BLOCK), 135);
	assert_int_equal(r->operations, 1);
	finish(t, r);
}

/* With scheduler events only the time off the CPU is waiting for the request. */
static void g3_scheduler(void **state)
{
	struct eta_trace *t = memory_trace_new("g3s");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "vfs:sys_write");
	memory_enter(t, a, 20, "fs:ext4_file_write_iter");
	request(t, a, 35, 165, 1);
	memory_enter(t, a, 50, "fs:other wait");
	memory_event(t, a,
		     (struct eta_event){ .time_ns = 60,
					 .kind = ETA_IO_ISSUED,
					 .has = ETA_EVENT_BLOCK_IO,
					 .handle = ETA_NONE,
					 .match = 1 });
	memory_leave(t, a, 170, "fs:other wait");
	memory_enter(t, a, 170, "cpu:run queue");
	memory_leave(t, a, 175, "cpu:run queue");
	memory_leave(t, a, 190, "fs:ext4_file_write_iter");
	memory_leave(t, a, 200, "vfs:sys_write");
	r = analyse(t, &paper);
	assert_int_equal(thread(r, a)->time_ns[CELL_VFS_NONE], 30);
	assert_int_equal(thread(r, a)->time_ns[CELL_FS_NONE], 30 + 15);
	assert_int_equal(thread(r, a)->time_ns[CELL_BLOCK_QUEUE], 10);
	assert_int_equal(thread(r, a)->time_ns[CELL_BLOCK_DEVICE], 105);
	assert_int_equal(thread(r, a)->time_ns[CELL_FS_OTHER_WAIT], 5);
	assert_int_equal(thread(r, a)->time_ns[CELL_CPU_RUN_QUEUE], 5);
	assert_int_equal(thread(r, a)->io_ns, 200);
	finish(t, r);
}

static void g4_hit_and_miss(void **state)
{
	static const uint64_t hits[] = { 5, 5, 7 }, misses[] = { 105, 125 };
	struct eta_trace *t = memory_trace_new("g4");
	uint32_t a = memory_thread(t, 1, 1);
	const struct slowdown *s;
	struct analysis *r;
	uint64_t at = 0;

	(void)state;
	for (int i = 0; i < 3; i++, at += 1000)
		call(t, a, "vfs:sys_read", at, at + hits[i]);
	for (int i = 0; i < 2; i++, at += 1000) {
		memory_enter(t, a, at, "vfs:sys_read");
		request(t, a, at + 1, at + misses[i] - 1, (uint64_t)i + 1);
		memory_leave(t, a, at + misses[i], "vfs:sys_read");
	}
	r = analyse(t, &by_min);
	s = &thread(r, a)->slowdown;
	assert_int_equal(s->lost_ns, 22);
	assert_int_equal(s->path_ns, 200);
	assert_int_equal(s->lost_ns + s->path_ns, 222);
	assert_int_equal(r->n_classes, 2);
	finish(t, r);
}

static void g5_uniform(void **state)
{
	struct eta_trace *t = memory_trace_new("g5");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	ROW(t, a, 40, 8, 8, 8, 8);
	r = analyse(t, &paper);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 0);
	assert_true(r->sci_max == 0);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

/* FAST operations of FAST_NS, then SLOW of 100. */
static void supported(uint64_t fast, uint64_t fast_ns, uint64_t slow, bool min, uint64_t reference,
		      int64_t lost)
{
	struct eta_trace *t = memory_trace_new("g6");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	for (uint64_t i = 0; i < fast + slow; i++)
		call_on(t, a, "write", i * 1000, i * 1000 + (i < fast ? fast_ns : 100), 7, false);
	r = analyse(t, min ? &by_min : &by_default);
	assert_int_equal(r->classes[0].reference_ns, reference);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, lost);
	finish(t, r);
}

static void g6_supported(void **state)
{
	(void)state;
	supported(1, 1, 99, true, 1, 9801);
	supported(1, 1, 99, false, 100, -99);
	supported(5, 40, 195, false, 40, 11700); /* G6b */
	supported(2, 40, 198, false, 100, -120); /* G6c */
}

static void g7_nested(void **state)
{
	struct eta_trace *t = memory_trace_new("g7");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "fread");
	memory_enter(t, a, 5, "read");
	memory_enter(t, a, 10, "vfs:vfs_read");
	memory_leave(t, a, 90, "vfs:vfs_read");
	memory_leave(t, a, 95, "read");
	memory_leave(t, a, 100, "fread");
	r = analyse(t, &by_default);
	assert_int_equal(r->operations, 1);
	assert_int_equal(thread(r, a)->io_ns, 100);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 20);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 80);
	finish(t, r);
}

static void g9_sleeper(void **state)
{
	struct eta_trace *t = memory_trace_new("g9");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	ROW(t, a, 10000, 20, 100);
	r = analyse(t, &paper);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 80);
	assert_true(thread(r, a)->sci == 80.0 / 10000);
	assert_true(thread(r, a)->sci_io == 80.0 / 120);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

static void g11_alone_and_overlapped(void **state)
{
	struct eta_trace *t = memory_trace_new("g11");
	uint32_t a = memory_thread(t, 1, 1), b = memory_thread(t, 1, 2);
	struct analysis *r;

	(void)state;
	call_on(t, a, "write", 0, 10, 7, false);
	call_on(t, a, "write", 100, 110, 7, false);
	call_on(t, a, "write", 200, 230, 7, false);
	call_on(t, a, "write", 300, 340, 7, false);
	call_on(t, b, "write", 310, 360, 7, false);
	r = analyse(t, &by_min);
	assert_int_equal(r->slowdown.contended_ns, 70);
	assert_int_equal(r->slowdown.lost_ns - r->slowdown.contended_ns, 20);
	assert_int_equal(thread(r, a)->slowdown.contended_ns, 30);
	assert_int_equal(thread(r, b)->slowdown.contended_ns, 40);
	finish(t, r);
}

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
	r = analyse(t, &by_min);
	assert_int_equal(r->slowdown.lost_ns, 70);
	assert_int_equal(r->slowdown.contended_ns, 0);
	finish(t, r);
}

static void g13_ties(void **state)
{
	struct eta_trace *t = memory_trace_new("g13");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 5, "write");
	memory_enter(t, a, 5, "vfs:sys_write");
	memory_leave(t, a, 9, "vfs:sys_write");
	memory_leave(t, a, 9, "write");
	r = analyse(t, &paper);
	assert_int_equal(r->operations, 1);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_USER), 0);
	assert_int_equal(level_time(thread(r, a), ETA_LEVEL_VFS), 4);
	assert_int_equal(r->counts.orphan, 0);
	finish(t, r);
}

static void g14_broken(bool merged)
{
	struct eta_trace *t = memory_trace_new("g14"), *input = t;
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	memory_leave(t, a, 1, "write");
	call(t, a, "write", 10, 40);
	call(t, a, "write", 50, 70);
	memory_enter(t, a, 80, "write");
	call(t, a, "main", 85, 90);
	if (merged)
		assert_int_equal(eta_merge(&input, 1, &t), 0);
	r = analyse(t, &by_min);
	assert_int_equal(r->counts.orphan, 1);
	assert_int_equal(r->counts.truncated, 1);
	assert_int_equal(r->operations, 3);
	assert_int_equal(r->truncated, 1);
	/* the truncated one took 10 until the trace ended, but nobody is measured against that */
	assert_int_equal(r->classes[0].min_ns, 20);
	assert_int_equal(r->classes[0].n, 2);
	finish(t, r);
}

static void g14_both(void **state)
{
	(void)state;
	g14_broken(false);
	g14_broken(true);
}

static void g15_not_io(void **state)
{
	struct eta_trace *t = memory_trace_new("g15");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "main");
	call(t, a, "pthread_join", 1, 2);
	call(t, a, "pthread_join", 10, 1000000010);
	memory_leave(t, a, 1000000020, "main");
	r = analyse(t, &paper);
	assert_int_equal(r->operations, 0);
	assert_true(r->sci_max == 0);
	assert_string_equal(r->verdict.level, "none");
	finish(t, r);
}

/* A region nobody knows is I/O when I/O records stand in it directly, in every of its instances. */
static void io_records_make_io(void **state)
{
	struct eta_trace *t = memory_trace_new("records");
	uint32_t a = memory_thread(t, 1, 1);
	struct analysis *r;

	(void)state;
	memory_enter(t, a, 0, "main");
	call(t, a, "checkpoint", 10, 20);
	memory_enter(t, a, 30, "checkpoint");
	memory_event(t, a,
		     (struct eta_event){
			     .time_ns = 35, .kind = ETA_IO_BEGIN, .handle = ETA_NONE, .size = 8 });
	memory_leave(t, a, 60, "checkpoint");
	memory_leave(t, a, 100, "main");
	r = analyse(t, &paper);
	assert_int_equal(r->operations, 2);
	assert_int_equal(thread(r, a)->io_ns, 40);
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
	r = analyse(t, &by_default);
	assert_int_equal(r->n_classes, 1);
	assert_int_equal(r->slowdown.lost_ns, 10 * 500);
	assert_int_equal(r->slowdown.contended_ns, 10 * 500);
	assert_string_equal(r->verdict.level, "fs");
	assert_string_equal(r->verdict.reason, "inode lock");
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
	r = analyse(t, &by_default);
	assert_int_equal(thread(r, a)->slowdown.lost_ns, 4500);
	assert_int_equal(thread(r, a)->slowdown.contended_ns, overlapping ? 4500 : 0);
	assert_string_equal(r->verdict.level, overlapping ? "block" : "none");
	finish(t, r);
}

static void device_split(void **state)
{
	(void)state;
	device_is_shared(true);
	device_is_shared(false);
}

/* ---- properties on random traces ---- */

static uint64_t seed;

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

struct shape {
	uint64_t factor, shift; /* t -> t * factor + shift */
	uint64_t idle;		/* added before each thread's last event */
	bool reversed;		/* order of the locations */
};

#define RANDOM_THREADS 6

/* No two threads do anything at the same time: ties would be decided by the order of locations. */
static uint64_t when(const struct shape *s, uint64_t at, uint32_t tid)
{
	return (at * RANDOM_THREADS + tid) * s->factor + s->shift;
}

static const char *const random_regions[] = { "read",
					      "write",
					      "fs:ext4_file_write_iter",
					      "fs:inode lock",
					      "vfs:sys_pwrite64",
					      "pagecache:dirty throttling",
					      "fs:other wait",
					      "cpu:run queue",
					      "fs:journal commit",
					      "main" };
#define N_RANDOM_REGIONS (sizeof(random_regions) / sizeof(*random_regions))

static uint64_t random_tree(struct eta_trace *t, uint32_t l, uint64_t at, unsigned depth,
			    const struct shape *s)
{
	uint32_t tid_of = t->defs.locations[l].tid;
	const char *name = random_regions[pick(depth ? N_RANDOM_REGIONS : 2)];
	uint64_t size = 1ull << pick(3);
	struct eta_event e = { .kind = ETA_ENTER, .has = ETA_HAS_SIZE | ETA_HAS_FILE };

	e.time_ns = when(s, at, tid_of);
	e.region = memory_region(t, name);
	e.size = size;
	e.dev = 1;
	e.inode = 1 + pick(3);
	memory_event(t, l, e);
	if (pick(4) == 0) {
		uint64_t end = at + 1 + pick(200);

		request(t, l, when(s, at, tid_of), when(s, end, tid_of), at << 8 | tid_of);
	}
	at += pick(50);
	for (uint64_t i = pick(4 - (depth < 3 ? depth : 3)); i > 0; i--)
		at = random_tree(t, l, at, depth + 1, s) + pick(20);
	memory_leave(t, l, when(s, at, tid_of), name);
	return at;
}

static struct eta_trace *random_trace(uint64_t number, const struct shape *s)
{
	struct eta_trace *t = memory_trace_new("random");

	for (uint32_t i = 0; i < RANDOM_THREADS; i++)
		memory_thread(t, 1, 1 + (s->reversed ? RANDOM_THREADS - 1 - i : i));
	for (size_t i = 0; i < N_RANDOM_REGIONS; i++)
		memory_region(t, random_regions[i]);
	for (uint32_t i = 0; i < RANDOM_THREADS; i++) {
		uint32_t l = s->reversed ? RANDOM_THREADS - 1 - i : i;
		uint64_t at, end;

		seed = number * 1000 + i;
		at = pick(100);
		memory_enter(t, l, when(s, 0, t->defs.locations[l].tid), "main");
		for (uint64_t n = 1 + pick(200); n > 0; n--)
			at = random_tree(t, l, at, 0, s) + pick(100);
		end = at + 10;
		memory_leave(t, l, when(s, s->idle ? 2 * end : end, t->defs.locations[l].tid),
			     "main");
	}
	memory_batch(t, 1 + number % 7);
	return t;
}

static void check_sums(const struct analysis *a)
{
	int64_t classes = 0, threads = 0;

	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];
		const struct slowdown *s = &t->slowdown;
		int64_t lost = 0, contended = 0;
		uint64_t time = 0;

		for (int c = 0; c < N_CELLS; c++) {
			lost += s->cell_ns[c];
			contended += s->contended_cell_ns[c];
			time += t->time_ns[c];
		}
		assert_int_equal(lost, s->lost_ns);
		assert_int_equal(contended, s->contended_ns);
		assert_int_equal(time, t->io_ns);
		assert_true(s->path_ns >= 0);
		threads += s->lost_ns;
	}
	for (uint32_t i = 0; i < a->n_classes; i++) {
		int64_t lost = 0;

		for (int l = 0; l < ETA_N_LEVELS; l++)
			lost += a->classes[i].level_ns[l];
		assert_int_equal(lost, a->classes[i].lost_ns);
		classes += lost;
	}
	assert_int_equal(classes, threads);
}

static uint32_t tid(const struct analysis *a, uint32_t i)
{
	return a->defs->locations[a->threads[i].location].tid;
}

/* The same scores, thread by thread; times of B are FACTOR times those of A. */
static void check_same(const struct analysis *a, const struct analysis *b, uint64_t factor)
{
	assert_int_equal(a->n_threads, b->n_threads);
	assert_int_equal(a->operations, b->operations);
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *x = &a->threads[i], *y = NULL;

		for (uint32_t j = 0; j < b->n_threads; j++)
			if (tid(a, i) == tid(b, j))
				y = &b->threads[j];
		assert_non_null(y);
		assert_int_equal(x->slowdown.lost_ns * (int64_t)factor, y->slowdown.lost_ns);
		assert_int_equal(x->slowdown.contended_ns * (int64_t)factor,
				 y->slowdown.contended_ns);
		for (int c = 0; c < N_CELLS; c++)
			assert_int_equal(x->slowdown.cell_ns[c] * (int64_t)factor,
					 y->slowdown.cell_ns[c]);
		assert_true(x->sci == y->sci && x->sci_low == y->sci_low &&
			    x->sci_high == y->sci_high && x->sci_io == y->sci_io);
		assert_string_equal(x->verdict.level, y->verdict.level);
	}
}

static void check_idle(const struct analysis *a, const struct analysis *b)
{
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *x = thread(a, i), *y = thread(b, i);

		assert_int_equal(2 * x->life_ns, y->life_ns);
		assert_true(x->sci == 2 * y->sci);
		assert_true(x->sci_io == y->sci_io);
	}
}

/* The published score lies between 0 and the part of its life that a thread is in I/O. */
static void check_range(const struct analysis *a)
{
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];

		assert_true(t->slowdown.lost_ns >= 0);
		assert_true((uint64_t)t->slowdown.lost_ns <= t->io_ns);
		assert_true(t->io_ns <= t->life_ns);
	}
}

static void properties(void **state)
{
	static const struct shape plain = { 1, 0, 0, false }, shifted = { 1, 1u << 30, 0, false },
				  scaled = { 8, 0, 0, false }, idle = { 1, 0, 1, false },
				  reversed = { 1, 0, 0, true };
	struct analysis_options options[] = {
		paper, by_min, by_default, { .reference = REFERENCE_QUANTILE, .quantile = 0.3 }
	};

	(void)state;
	for (uint64_t number = 1; number <= 20; number++) {
		for (size_t o = 0; o < sizeof(options) / sizeof(*options); o++) {
			const struct shape *shapes[] = { &shifted, &scaled, &reversed, &idle };
			struct eta_trace *t = random_trace(number, &plain);
			struct analysis *a = analyse(t, &options[o]);

			assert_true(a->operations >= RANDOM_THREADS);
			check_sums(a);
			if (options[o].sci == SCI_PAPER)
				check_range(a);
			for (size_t s = 0; s < sizeof(shapes) / sizeof(*shapes); s++) {
				struct eta_trace *u = random_trace(number, shapes[s]);
				struct analysis *b;

				options[o].threads = 1 + (unsigned)(number + s) % 4;
				b = analyse(u, &options[o]);
				if (shapes[s] == &idle)
					check_idle(a, b);
				else
					check_same(a, b, shapes[s]->factor);
				finish(u, b);
			}
			options[o].threads = 0;
			finish(t, a);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(g1_paper),
		cmocka_unit_test(g2_levels),
		cmocka_unit_test(g3_request_in_flight),
		cmocka_unit_test(g3_scheduler),
		cmocka_unit_test(g4_hit_and_miss),
		cmocka_unit_test(g5_uniform),
		cmocka_unit_test(g6_supported),
		cmocka_unit_test(g7_nested),
		cmocka_unit_test(g9_sleeper),
		cmocka_unit_test(g11_alone_and_overlapped),
		cmocka_unit_test(other_file_is_not_contended),
		cmocka_unit_test(g13_ties),
		cmocka_unit_test(g14_both),
		cmocka_unit_test(g15_not_io),
		cmocka_unit_test(io_records_make_io),
		cmocka_unit_test(waits_are_not_paths),
		cmocka_unit_test(device_split),
		cmocka_unit_test(properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

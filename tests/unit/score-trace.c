/* Small traces to score, and their scores. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

const struct analysis_options score_paper = { .sci = SCI_PAPER };
const struct analysis_options score_by_min = { .reference = REFERENCE_MIN };
const struct analysis_options score_by_default = { .reference = REFERENCE_SUPPORTED };

/* An operation of one region. */
void call(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin, uint64_t end)
{
	memory_enter(t, location, begin, name);
	memory_leave(t, location, end, name);
}

/* An operation of which the file is known. */
void call_on(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin, uint64_t end,
	     uint64_t inode, bool short_result)
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
void request(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t end, uint64_t match)
{
	memory_event(t, location,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_IO_BEGIN,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END,
					 .handle = ETA_NONE,
					 .match = match,
					 .end_ns = end });
}

struct analysis *analyse(struct eta_trace *t, const struct analysis_options *options)
{
	struct analysis *a;

	assert_int_equal(analysis_run(t, options, &a), 0);
	return a;
}

const struct thread_score *thread(const struct analysis *a, uint32_t location)
{
	for (uint32_t i = 0; i < a->n_threads; i++)
		if (a->threads[i].location == location)
			return &a->threads[i];
	fail_msg("no thread of location %u", location);
	return NULL;
}

int64_t level_time(const struct thread_score *t, enum eta_level level)
{
	uint64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].level == level)
			sum += t->time_ns[c];
	return (int64_t)sum;
}

int64_t level_lost(const struct thread_score *t, enum eta_level level)
{
	int64_t sum = 0;

	for (int c = 0; c < N_CELLS; c++)
		if (cell_table[c].level == level)
			sum += t->slowdown.cell_ns[c];
	return sum;
}

void finish(struct eta_trace *t, struct analysis *a)
{
	analysis_free(a);
	eta_close(t);
}

void request_of(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t end,
		uint32_t owner)
{
	memory_event(t, location,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_IO_BEGIN,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END,
					 .handle = 0,
					 .match = begin,
					 .owner = owner,
					 .end_ns = end });
}

/* Operations one after the other, 1 ns apart, from 1 on; the location lives for LIFE. */
void row(struct eta_trace *t, uint32_t location, const uint64_t *ns, size_t n, uint64_t lifetime_ns)
{
	uint64_t at = 1;

	memory_enter(t, location, 0, "main");
	for (size_t i = 0; i < n; i++) {
		call(t, location, "write", at, at + ns[i]);
		at += ns[i] + 1;
	}
	memory_leave(t, location, lifetime_ns, "main");
}

void operation_begins(struct eta_trace *t, uint32_t l, uint64_t begin)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, "vfs:sys_pwrite64"),
					 .size = 4096,
					 .dev = 1,
					 .inode = 7 });
}

void operation_with(struct eta_trace *t, uint32_t l, uint64_t begin, uint64_t wait_ns,
		    const char *reason)
{
	operation_begins(t, l, begin);
	if (wait_ns) {
		memory_enter(t, l, begin + 100, reason);
		memory_leave(t, l, begin + 100 + wait_ns, reason);
	}
	memory_leave(t, l, begin + 200 + wait_ns, "vfs:sys_pwrite64");
}

void waits_for(struct eta_trace *t, uint32_t l, uint64_t begin, uint64_t wait_ns,
	       const char *reason, uint64_t who)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = begin,
					 .kind = ETA_ENTER,
					 .has = who ? ETA_HAS_WHO : 0,
					 .region = memory_region(t, reason),
					 .who = who });
	memory_leave(t, l, begin + wait_ns, reason);
}

void working(struct eta_trace *t, uint32_t l, uint64_t begin, uint64_t work_ns, const char *reason,
	     uint64_t who)
{
	uint64_t end = begin + 100 + work_ns + (reason ? 300 : 0);

	operation_begins(t, l, begin);
	memory_enter(t, l, begin + 100, "pagecache:generic_perform_write");
	if (reason)
		waits_for(t, l, begin + 120, 300, reason, who);
	memory_leave(t, l, end, "pagecache:generic_perform_write");
	memory_leave(t, l, end + 100, "vfs:sys_pwrite64");
}

void waiting(struct eta_trace *t, uint32_t l, uint64_t wait, uint64_t until, const char *reason,
	     uint64_t who)
{
	for (uint64_t at = 0; at < 9000; at += 1000)
		call_on(t, l, "vfs:sys_write", at, at + 100, 7 + l, false);
	memory_event(t, l,
		     (struct eta_event){ .time_ns = wait - 60,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(t, "vfs:sys_write"),
					 .size = 4096,
					 .dev = 1,
					 .inode = 7 + l });
	waits_for(t, l, wait, until - wait, reason, who);
	memory_leave(t, l, until + 40, "vfs:sys_write");
}

void reads_behind(struct eta_trace *t, uint32_t l, uint32_t who)
{
	for (uint64_t at = 0; at < 10000; at += 1000) {
		uint64_t ns = at < 9000 ? 50 : 500;

		memory_enter(t, l, at, "vfs:sys_read");
		request(t, l, at + 5, at + ns - 5, at + 1);
		waits_for(t, l, at + 5, ns - 10, "block:device", at < 9000 ? 0 : who);
		memory_leave(t, l, at + ns, "vfs:sys_read");
	}
}

const struct blame *taken_by(const struct analysis *a, uint32_t victim, uint32_t tid)
{
	static const struct blame none;
	const struct thread_score *t = thread(a, victim);

	for (uint32_t i = 0; i < t->n_blame; i++)
		if (t->blame[i].tid == tid)
			return &t->blame[i];
	return &none;
}

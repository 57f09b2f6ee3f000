/* Small traces to score, and their scores: what the tests of the analysis share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SCORE_TRACE_H
#define SCI_SCORE_TRACE_H

#include "memory-trace.h"
#include "src/analysis/tables/analysis.h"
#include "unit.h"

extern const struct analysis_options score_paper, score_by_min, score_by_default;

/* An operation of one region. */
void call(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin, uint64_t end);

/* An operation of which the file (on device 1) and the size are known. */
void call_on(struct eta_trace *t, uint32_t location, const char *name, uint64_t begin, uint64_t end,
	     uint64_t inode, bool short_result);

/* A block request in flight from BEGIN to END. */
void request(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t end, uint64_t match);

/* The same for pages of OWNER's; 0: of the location's own. */
void request_of(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t end,
		uint32_t owner);

/* Operations one after the other, 1 ns apart, from 1 on; the location lives for LIFE. */
void row(struct eta_trace *t, uint32_t location, const uint64_t *ns, size_t n,
	 uint64_t lifetime_ns);

#define ROW(t, location, lifetime_ns, ...)                                                         \
	row(t, location, (const uint64_t[]){ __VA_ARGS__ },                                        \
	    sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), lifetime_ns)

/* A write of 4 KiB to inode 7 begins as a system call. */
void operation_begins(struct eta_trace *t, uint32_t location, uint64_t begin);

/* The same, over after 200 ns; if WAIT_NS, it waits that long in between, in REASON. */
void operation_with(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t wait_ns,
		    const char *reason);

/* A wait of WAIT_NS in REASON, for WHO unless 0. */
void waits_for(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t wait_ns,
	       const char *reason, uint64_t who);

/*
 * As operation_begins, but it works in the page cache for WORK_NS, and if REASON is not NULL waits
 * there for 300 ns: for WHO, unless 0.
 */
void working(struct eta_trace *t, uint32_t location, uint64_t begin, uint64_t work_ns,
	     const char *reason, uint64_t who);

/* 9 operations of 100 on a file of its own, then one that also waits, for WHO unless 0. */
void waiting(struct eta_trace *t, uint32_t location, uint64_t wait, uint64_t until,
	     const char *reason, uint64_t who);

/* Reads of 40 at the device, then one of 490 that WHO had a request ahead of. */
void reads_behind(struct eta_trace *t, uint32_t location, uint32_t who);

struct analysis *analyse(struct eta_trace *t, const struct analysis_options *options);
void finish(struct eta_trace *t, struct analysis *a);

/* What VICTIM lost to TID; all 0 if nothing. */
const struct blame *taken_by(const struct analysis *a, uint32_t victim, uint32_t tid);

const struct thread_score *thread(const struct analysis *a, uint32_t location);
int64_t level_time(const struct thread_score *t, enum eta_level level);
int64_t level_lost(const struct thread_score *t, enum eta_level level);

#endif

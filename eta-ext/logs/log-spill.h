/* Inside of the events of logs: queues of events and their sorted runs, written, and merged when
 * read. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_SPILL_H
#define ETA_LOG_SPILL_H

#include "log.h"

/*
 * A queue collects QUEUE_EVENTS, sorts them and writes the earlier half to its current run, so what
 * is out of order by less than a half needs no new run. A run is a chain of chunks in the file, all
 * of one queue one behind the other in time. A queue that never fills stays in memory.
 */
enum {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
	QUEUE_EVENTS = 16, /* so that short inputs come here, too */
#else
	QUEUE_EVENTS = 512,
#endif
	CHUNK_EVENTS = QUEUE_EVENTS / 2,
};

/*
 * At equal times the end of a call comes before what has no length, and that before the beginning
 * of one, in whatever order a log has calls that follow each other. Kept in `has` while the
 * event is here.
 */
#define RANK_SHIFT 14
#define RANK_MASK (3u << RANK_SHIFT)
_Static_assert((RANK_MASK & (2 * ETA_EVENT_LOWER - 1)) == 0, "the last flag is below");
enum rank { RANK_END, RANK_POINT, RANK_BEGIN };

struct log_chunk_head {
	uint64_t next; /* offset of the run's next chunk; 0: this is the last one */
	uint64_t n;
};

struct log_run {
	uint64_t first; /* offset of the first chunk */
	uint64_t events;
};

struct log_queue {
	struct eta_event *events; /* not written yet, in the order they came */
	uint32_t n, room;
	struct log_run *runs;
	uint32_t n_runs, run_room;
	uint64_t last_chunk; /* of the current run, to be linked */
	struct eta_event last;
	uint64_t total;
};

/* In which order two events of a queue stand. */
static inline int log_compare(const struct eta_event *a, const struct eta_event *b)
{
	unsigned x = a->has & RANK_MASK, y = b->has & RANK_MASK;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* BYTES of the temporary file from OFFSET on into DATA: 0, or -EIO, reported. */
int log_spill_read(const struct log *log, void *data, size_t bytes, uint64_t offset);

#endif

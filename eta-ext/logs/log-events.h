/* Events of logs: queues by location, calls that are over or still open. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_EVENTS_H
#define ETA_LOG_EVENTS_H

#include "eta-ext/trace/call.h"
#include "log.h"

/* A queue for the location just defined. */
int log_queue_add(struct log *log);

/* EVENT into the queue of LOCATION. Order within equal times stays. */
int log_event(struct log *log, uint32_t location, const struct eta_event *event);

/*
 * Its beginning or its end (an ENTER or LEAVE) alone, for logs that may lack ends: their source's
 * cursors are those of log-leaves.c.
 */
int log_end_point(struct log *log, uint32_t location, const struct eta_event *event);

/* A call that is over. */
struct log_call {
	struct eta_call call; /* end_ns: not before begin_ns; match is filled in */
	uint64_t begin_ns;
	uint64_t size, inode;
	int64_t offset;
	uint32_t dev;
	uint16_t has; /* ETA_HAS_SIZE, _OFFSET, _FILE, _RET, ETA_EVENT_DIRECT */
};
/* Its ENTER and LEAVE, with the I/O records between, into the queue of LOCATION. */
int log_call(struct log *log, uint32_t location, struct log_call *call);
/*
 * A call that had not ended at UNTIL_NS, when its thread was last known to live: its ENTER. The
 * check behind every source closes and counts it.
 */
int log_call_open(struct log *log, uint32_t location, struct log_call *call, uint64_t until_ns);

/* Flushes the queues into their runs; the number of events and the first time of each location. */
int log_queues_end(struct log *log);
void log_queues_free(struct log *log);

#endif

/* Runs of equal operations in an archive: one record for all of them, and a file with their times.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OTF2_RUNS_H
#define ETA_OTF2_RUNS_H

#include "eta-ext/trace/source.h"

enum {
	RUN_EVENTS = 24, /* of an operation of a run, at most */
	/*
	 * Operations: fewer are no run. Its record and its head take as much as 3 to 4 of them; on
	 * a busy machine an interrupt or a wait ends runs often.
	 */
	RUN_LEAST = 8,
};

#define RUN_SUFFIX ".runs"

/*
 * In the file of a location stands for each run, as numbers of seven bits a byte, the lowest first:
 * the number of events of an operation; of each event the fields of run_fields; then, operation by
 * operation, the time of each event since the one before it, but of those events that never come
 * later than that.
 */
struct run_event {
	struct eta_event event; /* of the last operation */
	/* what it has more in each operation than in the one before */
	uint64_t offset_step, match_step;
	bool at_once; /* as the event before it */
};

struct run {
	uint32_t n_events;
	struct run_event events[RUN_EVENTS];
};

/* Longest forms in bytes. */
enum { RUN_NUMBER_BYTES = 10, RUN_FIELDS = 14 };
enum { RUN_HEAD_BYTES = RUN_NUMBER_BYTES * (1 + RUN_FIELDS * RUN_EVENTS) };

/* The fields of one event, as they stand in the file. */
static inline void run_fields(struct run_event *e, uint64_t fields[RUN_FIELDS], bool from_file)
{
	struct eta_event *event = &e->event;
	uint64_t n = 0;

#define FIELD(type, name)                                                                          \
	do {                                                                                       \
		if (from_file)                                                                     \
			name = (type)fields[n];                                                    \
		else                                                                               \
			fields[n] = (uint64_t)name;                                                \
		n++;                                                                               \
	} while (0)
	FIELD(uint8_t, event->kind);
	FIELD(uint8_t, event->mode);
	FIELD(uint16_t, event->has);
	FIELD(uint32_t, event->region);
	FIELD(uint64_t, event->size);
	FIELD(int64_t, event->offset);
	FIELD(uint64_t, event->inode);
	FIELD(uint32_t, event->dev);
	FIELD(uint32_t, event->stack);
	FIELD(int64_t, event->ret);
	FIELD(uint64_t, event->match);
	FIELD(uint64_t, e->offset_step);
	FIELD(uint64_t, e->match_step);
	FIELD(bool, e->at_once);
#undef FIELD
}

#endif

/* Inside of the OTF2 source: the events of one location. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SOURCE_OTF2_CURSOR_H
#define ETA_SOURCE_OTF2_CURSOR_H

#include "read.h"

enum {
	OTF2_BATCH = 512,	    /* 32 KiB: stays in the first cache */
	OTF2_EVENTS_PER_RECORD = 2, /* at most: a record may begin or end a region, besides */
};

struct otf2_cursor {
	struct eta_cursor cursor;
	struct eta_trace *trace;
	const struct otf2 *otf2;
	OTF2_Reader *reader;
	OTF2_EvtReader *evt; /* NULL: no file of events (lenient) */
	uint32_t location;
	uint64_t id;
	uint64_t good; /* records before the place where its file is cut short; UINT64_MAX */
	/* of an archive of links; 1, 0 and 0 in others */
	uint64_t match_factor, match_offset;
	uint32_t first_stack;
	const struct eta_clock_map *clock; /* of its times, NULL: none; for the attribute `end` */
	bool lenient;
	bool peeking;  /* for the first event only: its damage is for a real reader to report */
	bool finished; /* libotf2 takes a read behind the end for damage */
	int error;     /* met after the events of the last batch, reported when those are read */
	char why[256]; /* libotf2's words on it */
	bool region_is_unknown; /* why a callback stopped the reader: */
	uint32_t unknown_region;
	uint32_t n;	  /* events in batch */
	uint32_t depth;	  /* regions open now */
	uint64_t last_ns; /* of the last event */
	/*
	 * An operation that got a region of its own (otf2->operations), since its records stand in
	 * none.
	 */
	struct {
		bool open, asynchronous;
		uint32_t region;
		uint64_t match;
	} own;
	/* The record that was read last stands for a run (runs.h); its Leave is still to come. */
	bool run_begins, run_leaves;
	bool run_is_damaged;
	uint64_t run_operations, run_place; /* as its attributes said; 0 operations: is no run */
	struct run_reader *runs;	    /* NULL: there was none yet */
	/* What is read of the file, where the index says that (read-index.c). */
	struct {
		uint64_t all; /* records that the file has; 0: all are read */
		uint64_t end; /* the last record that is read; UINT64_MAX: of the file */
		uint64_t last_operations; /* of the run that it stands for; 0: all */
		/*
		 * The run that the first one stands for: operations to leave out, where the next
		 * one is, the last time before it.
		 */
		uint64_t first, first_operations, run_place, run_ns;
	} part;
	uint64_t *callers; /* last seen, by region, 0: none; NULL: each call has its own */
	uint64_t sizes[ARCHIVE_DEPTH];
	struct eta_event batch[OTF2_BATCH];
};

/* The callbacks that fill the batch of C, for its reader of events. */
OTF2_ErrorCode otf2_register_callbacks(OTF2_Reader *reader, struct otf2_cursor *c);

/* How many events of C's file are whole; UINT64_MAX: it is not known to be cut short. */
uint64_t otf2_whole_events(const struct otf2_cursor *c);

int otf2_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out);
ssize_t otf2_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch);
void otf2_cursor_close(struct eta_cursor *cursor);

/* What stopped the reader becomes the error behind the events it gave before. */
void otf2_cursor_stopped(struct otf2_cursor *c, const char *why);

/* As eta_cursor_part; false: there is no index. */
bool otf2_cursor_part(struct eta_cursor *cursor, uint64_t from_ns, uint64_t to_ns,
		      struct eta_whole *whole);

/*
 * The run that begins at TIME_NS with record RECORD; its operations fill the batch, as often as it
 * goes on.
 */
void otf2_run_begin(struct otf2_cursor *c, uint64_t time_ns, uint64_t record);
bool otf2_run_goes_on(const struct otf2_cursor *c);
void otf2_run_read(struct otf2_cursor *c);
void otf2_runs_free(struct otf2_cursor *c);

/* Time of the first event, left alone where there is none or it is damaged. */
int otf2_first_event(struct eta_trace *trace, uint32_t location, uint64_t *time_ns);

#endif

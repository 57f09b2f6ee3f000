/* Inside of the sources that read logs: the log, its lines, what all such sources share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_H
#define ETA_LOG_H

#include <stdio.h>

#include "eta-ext/trace/source.h"

/*
 * A log is read once, from its first to its last line, when it is opened; threads, regions and
 * files are defined as they are met. The events of each thread go to its queue: sorted by time
 * within a window, and beyond that into sorted runs in a temporary file, which a cursor merges. So
 * a log may interleave its threads and be out of order, and memory stays bounded at any length.
 *
 * Functions give 0 or -errno, already reported; indices ETA_NONE without memory.
 */
struct log_queue;
struct log_known;
struct log_request;
struct log_files;

struct log {
	struct eta_trace *trace;
	FILE *file;
	uint64_t line; /* number of the line (record) being read, from 1 */
	char *text;    /* the line, without its end */
	size_t room;
	struct log_queue *queues; /* by location */
	uint32_t n_queues, queue_room;
	int spill; /* the temporary file, -1: none yet */
	uint64_t spilled_bytes;
	uint64_t next_match;
	struct log_known *known;
	const char **names; /* what aliases stand for, and threads not met yet are called */
	uint32_t n_names, name_room;
	struct log_files *files;
	struct log_request *requests;
	uint32_t n_requests;
	char *host;   /* that the log was written on; NULL: it does not say so */
	bool no_ends; /* the format does not say when calls end */
	/* For log_leaves_read. Bit i: of region i beginnings were reported, ends. */
	uint64_t entered, left;
	uint64_t endless; /* set at the end: entered, never left */
};

/* Opens trace->path; trace->data is the log from then on, freed by log_close. */
int log_open(struct eta_trace *trace, struct log **out);

/*
 * The next line with anything in it, in log->text, counted as a record: 1; 0 at the end. A line of
 * more than LOG_LINE_MAX bytes is bad, and one with a zero byte.
 */
int log_next_line(struct log *log);
#define LOG_LINE_MAX (1 << 20)

/*
 * The line (record) at hand cannot be understood: counted, and without --lenient the end, after a
 * message with file and line. To be returned by whoever parses it.
 */
int log_bad(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The record at hand is understood but holds no I/O. */
int log_pass(struct log *log);

/* Says that there is no memory for WHAT ("its events"): -ENOMEM. */
int log_no_memory(const struct log *log, const char *what);

/*
 * Counts as many records as lost as the number at TEXT says ("23 samples", "1,234"); 1 if it is no
 * number.
 */
void log_lost(struct log *log, const char *text);

/*
 * What stands at the end of every open: puts RC through; when it is 0, completes the locations and
 * says which clock (a value of SCI::CLOCK) the times are of.
 */
int log_end(struct log *log, int rc, const char *clock);

/* Opens, gives each line to PARSE until it fails, and ends. */
int log_read_lines(struct eta_trace *trace, int (*parse)(struct log *log, void *state, char *line),
		   void *state, const char *clock);

/* The parts of eta_source_ops that all logs share. */
void log_close(struct eta_trace *trace);
int log_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out);
ssize_t log_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch);
void log_cursor_close(struct eta_cursor *cursor);

/*
 * A cursor that gives what it makes of the events of a log's own: its first member. log_filter_open
 * makes one of BYTES, zeroed, around that of LOCATION.
 */
struct log_filter {
	struct eta_cursor cursor;
	struct eta_cursor *inner;
};
int log_filter_open(struct eta_trace *trace, uint32_t location, size_t bytes,
		    struct eta_cursor **out);
void log_filter_close(struct eta_cursor *cursor);

#define LOG_SOURCE_OF(name_, what_, open_, read_, close_)                                          \
	const struct eta_source_ops eta_source_##name_ = {                                         \
		.name = #name_,                                                                    \
		.what = what_,                                                                     \
		.probe = name_##_probe,                                                            \
		.open = name_##_open,                                                              \
		.close = log_close,                                                                \
		.cursor_open = open_,                                                              \
		.cursor_read = read_,                                                              \
		.cursor_close = close_,                                                            \
	}

#define LOG_SOURCE(name_, what_)                                                                   \
	LOG_SOURCE_OF(name_, what_, log_cursor_open, log_cursor_read, log_cursor_close)

/* With a log_filter. */
#define LOG_SOURCE_FILTERED(name_, what_, filter_)                                                 \
	LOG_SOURCE_OF(name_, what_, filter_##_open, filter_##_read, log_filter_close)

/* Filters that end calls whose ends are missing (log-leaves.c). */
int log_leaves_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out);
ssize_t log_leaves_read(struct eta_cursor *cursor, const struct eta_event **batch);

#endif

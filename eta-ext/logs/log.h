/* Inside of the sources that read logs: lines, threads, calls, open files, requests, events. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_H
#define ETA_LOG_H

#include <stdio.h>

#include "eta-ext/trace/call.h"
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
	bool no_ends; /* the format does not say when calls end */
	/* For log_leaves_read. Bit i: of region i beginnings were reported, ends. */
	uint64_t entered, left;
	uint64_t endless; /* set at the end: entered, never left */
};

/* ---- reading (log.c) ---- */

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

/* So many records are lost as the number at TEXT says ("23 samples", "1,234"); 1 where it is none.
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

/* ---- text (log-text.c) ---- */

/* Splits TEXT in place at each SEPARATOR (' ': at runs of blanks and tabs), fields trimmed of
 * blanks; how many, at most MAX: the last one then holds the rest. */
size_t log_split(char *text, char separator, char **fields, size_t max);
char *log_trim(char *text);
/* Numbers that are the whole of TEXT, decimal or 0x; false otherwise. */
bool log_u64(const char *text, uint64_t *number);
bool log_u32(const char *text, uint32_t *number);
bool log_i64(const char *text, int64_t *number);
/* "12.345" seconds at *TEXT, which moves behind them, as ns; false: no such number. */
bool log_seconds(const char **text, uint64_t *ns);
/* The whole of TEXT is seconds. */
bool log_time(const char *text, uint64_t *ns);
/* The whole of TEXT is a date as of ISO 8601, in UTC: as ns since 1970. */
bool log_date(const char *text, uint64_t *ns);
/* The error of which TEXT_OF (strerrorname_np, strerrordesc_np) gives the N bytes at TEXT; else
 * EIO. */
int log_error_number(const char *text, size_t n, const char *(*text_of)(int error));
/*
 * Does KNOWS say yes to one of the first lines in HEAD? For probes: gives it copies of up to LINES
 * whole lines that have anything in them.
 */
bool log_probe_lines(const unsigned char *head, size_t head_bytes, unsigned lines,
		     bool (*knows)(char *line));

/* ---- definitions (log-defs.c) ---- */

/* An index remembered under KIND and a key of N bytes; ETA_NONE: none. */
uint32_t log_known(struct log *log, char kind, const void *key, size_t n);
bool log_remember(struct log *log, char kind, const void *key, size_t n, uint32_t index);

uint32_t log_region(struct log *log, const char *name);
/* The same with a level that the name does not say. */
uint32_t log_region_at(struct log *log, const char *name, enum eta_level level);
/* PID 0: unknown; the location of thread TID then belongs to a process called COMM. */
uint32_t log_thread(struct log *log, uint32_t pid, uint32_t tid, const char *comm);
/* A location that has a name instead of numbers (a rank, a container). */
uint32_t log_named_thread(struct log *log, const char *process, const char *host, const char *name);
/* NAME, which log_known gives the index of (into log->names) under KIND and ALIAS. */
int log_alias(struct log *log, char kind, const char *alias, const char *name);
/* Thread LOCATION turns out to be one of process PID. */
int log_move(struct log *log, uint32_t location, uint32_t pid);
/* What thread TID is called, for logs that say it apart from its records. */
int log_name(struct log *log, uint32_t tid, const char *comm);
/* What was taken for thread FROM (and its process) has the number TO. */
int log_renumber(struct log *log, uint32_t from, uint32_t to);
/* By path, or where it is NULL by inode. */
uint32_t log_file(struct log *log, const char *path, uint64_t inode);
uint32_t log_handle(struct log *log, uint32_t file, uint32_t open_flags);
/* A block device: DEV is major << 20 | minor; 0: the log does not say, it is identified by its
 * name. */
struct log_device {
	uint32_t location, handle;
};
int log_device(struct log *log, uint32_t dev, const char *name, struct log_device *out);

void log_defs_free(struct log *log);

/* ---- events (log-spill.c) ---- */

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

/* ---- files that are open (log-files.c) ---- */

/* One opening of a file, which several descriptors share. */
struct log_open_file {
	uint32_t users;
	uint32_t handle, file;
	uint32_t flags;
	int64_t at; /* file position, ETA_OFFSET_NONE: unknown */
};

/*
 * Descriptor tables belong to tasks. log_fd_set makes FD of TASK a new opening of PATH and gives
 * it; log_fd_get gives NULL where FD is not known.
 */
struct log_open_file *log_fd_set(struct log *log, uint32_t task, int fd, const char *path,
				 uint32_t flags, int64_t at);
/* The same for a file that is defined. */
struct log_open_file *log_fd_set_file(struct log *log, uint32_t task, int fd, uint32_t file,
				      uint32_t flags, int64_t at);
/* The same for an open with FLAGS, which may leave the file empty. */
struct log_open_file *log_fd_open(struct log *log, uint32_t task, int fd, const char *path,
				  uint32_t flags);
struct log_open_file *log_fd_get(struct log *log, uint32_t task, int fd);
void log_fd_close(struct log *log, uint32_t task, int fd);
int log_fd_dup(struct log *log, uint32_t task, int from, int to);
/* CHILD begins with PARENT's descriptors: the same table, or a copy. */
int log_fd_fork(struct log *log, uint32_t parent, uint32_t child, bool shared);
void log_fd_exit(struct log *log, uint32_t task);
/* A file's size, as far as the log tells it. */
int log_file_set_size(struct log *log, uint32_t file, int64_t bytes);
/*
 * Where a transfer through OPEN began, ETA_OFFSET_NONE where it is not known; the position moves by
 * what was TRANSFERRED, not below 0. WANTED: an offset given in the call itself, ETA_OFFSET_NONE.
 */
int64_t log_file_transfer(struct log *log, struct log_open_file *open, bool write, int64_t wanted,
			  int64_t transferred);
void log_files_free(struct log *log);

/* ---- block requests (log-block.c) ---- */

struct log_block {
	uint64_t time_ns;
	uint64_t key;	 /* tells requests with the same sector apart; 0 where nothing does */
	uint64_t sector; /* 512 bytes each */
	uint32_t sectors;
	uint32_t location; /* who queued it */
	struct log_device device;
	uint64_t inode; /* 0: unknown */
	uint8_t mode;	/* enum eta_io_mode */
};

/*
 * BYTES (whole sectors of them) from SECTOR on; false: a number that no device has. To be reported
 * by whoever parses it.
 */
bool log_block_at(struct log_block *block, uint64_t sector, uint64_t bytes);
/* REQUEST is queued. It is kept until it completes. */
int log_block_queue(struct log *log, const struct log_block *request);
/*
 * Requests with the same device, key and mode and with sectors in common go to the device: how
 * many; 0 where none is known. Without sectors (a flush): the oldest that has none.
 */
int log_block_issue(struct log *log, const struct log_block *range);
/* The same: they are complete, in part or whole; TRANSFERRED: without an error. Or -errno. */
int log_block_complete(struct log *log, const struct log_block *range, bool transferred);
/* The request of this key on DEVICE is complete: 1, 0 where there is none, or -errno. */
int log_block_complete_key(struct log *log, const struct log_device *device, uint64_t key,
			   uint64_t time_ns, bool transferred);
/*
 * The last one queued that ends where END begins is complete: as bio_endio sees it, where a bio has
 * moved on to its end. 1, 0 where there is none, or -errno.
 */
int log_block_complete_end(struct log *log, const struct log_block *end, bool transferred);
/* REQUEST of a log that knows of no completions. */
int log_block_pass(struct log *log, const struct log_block *request);
/* Those in flight at the end: begun, never completed. */
int log_block_end(struct log *log);

#endif

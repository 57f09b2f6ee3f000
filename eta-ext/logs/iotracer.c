/* Source: logs of IOTracer in its forms through the years, and of its bpftrace variant. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "log-block.h"
#include "log-defs.h"
#include "log-events.h"
#include "log-text.h"

/*
 * Separated by tabs: TIME LEVEL OP ADDRESS SIZE PROBE [LABEL] PID [TID] COMM INODE PARENT, where
 * LABEL (E enter, L leave) and TID came one after the other; without TID what stands at PID is the
 * thread. A reworked copy pads ADDRESS and SIZE, adds levels, and writes no leaves without -e.
 * Before 2021-01-25: TIME, ADDRESS, SIZE, LEVEL, OP, THREAD, COMM[, PROBE[, INODE]].
 * Times are CLOCK_MONOTONIC ns; addresses bytes, at level B sectors of 512 bytes. Python 3 wrote
 * letters and names as b'V' for some weeks.
 */

/* X(level, number, region): what its probes are. A number has meant several at several levels. */
#define PROBES(X)                                                                                  \
	X('V', '1', "vfs:vfs_write")                                                               \
	X('V', '2', "vfs:vfs_read")                                                                \
	X('V', '3', "pagecache:generic_perform_write")                                             \
	X('V', '4', "pagecache:__generic_file_write_iter")                                         \
	X('V', '5', "pagecache:generic_file_read_iter")                                            \
	X('V', '7', "pagecache:__generic_file_write_iter")                                         \
	X('V', '9', "pagecache:generic_file_read_iter")                                            \
	X('V', 'A', "pagecache:generic_perform_write")                                             \
	X('V', 'B', "pagecache:__generic_file_write_iter")                                         \
	X('V', 'C', "pagecache:generic_file_read_iter")                                            \
	X('V', 'G', "vfs:vfs_write")                                                               \
	X('V', 'H', "vfs:vfs_read")                                                                \
	X('P', '7', "pagecache:__generic_file_write_iter")                                         \
	X('P', '9', "pagecache:generic_file_read_iter")                                            \
	X('F', '4', "fs:ext4_file_write_iter")                                                     \
	X('F', '5', "fs:ext4_file_read_iter")

enum what { CALL, REQUEST, COMPLETION, NOTHING };

struct row {
	enum what what;
	uint64_t time_ns, address, size, inode;
	bool has_address, has_size;
	uint32_t pid, tid; /* PID 0: unknown */
	bool write;
	char region[64];
	const char *comm;
	char label; /* 'E', 'L', 0: there are none */
};

/* What TEXT quotes as b'...', else TEXT. */
static char *unquoted(char *text)
{
	size_t n = strlen(text);

	if (n < 3 || text[0] != 'b' || text[1] != '\'' || text[n - 1] != '\'')
		return text;
	text[n - 1] = '\0';
	return text + 2;
}

/* A number, which the probes set to -1 where they know none; false: it is no number. */
static bool take_number(const char *text, uint64_t *number, bool *known)
{
	*known = log_u64(text, number) && *number <= INT64_MAX;
	return *text && text[strspn(text, "0123456789")] == '\0';
}

static void take_region(struct row *row, char level, char probe, bool copy)
{
#define X(level_, number, name)                                                                    \
	if (level == level_ && probe == number)                                                    \
		snprintf(row->region, sizeof(row->region), "%s", name);
	PROBES(X)
#undef X
	if (level == 'S') /* one number for all system calls */
		snprintf(row->region, sizeof(row->region), "vfs:sys_%s",
			 row->write ? "write" : "read");
	else if (level == 'F' && copy) /* of ext4 or of btrfs */
		snprintf(row->region, sizeof(row->region), "fs:file_%s_iter",
			 row->write ? "write" : "read");
	else if (!*row->region)
		snprintf(row->region, sizeof(row->region), "%s:probe %c",
			 level == 'F'	? "fs"
			 : level == 'P' ? "pagecache"
					: "vfs",
			 probe);
	/* what these log is the file's position, and pread and pwrite transfer elsewhere */
	if (strncmp(row->region, "vfs:vfs_", 8) == 0 || strstr(row->region, "perform_write"))
		row->has_address = false;
}

/* From LEVEL, OP and PROBE on, once the numbers are there. What is wrong; NULL: nothing. */
static const char *take_probe(struct row *row, const char *level, const char *op, const char *probe,
			      bool copy)
{
	if (!*level || !strchr("VFBSPD", *level) || level[1])
		return "a level that is none of V F B S P D";
	row->write = strcmp(op, "W") == 0;
	if (!row->write && strcmp(op, "R") != 0)
		return "an operation that is neither R nor W";
	if (strlen(probe) != 1)
		return "a probe that is not one character";
	if (*level == 'D') { /* it says neither what nor where */
		row->what = NOTHING;
	} else if (*level == 'B') {
		row->what = *probe == '8' || *probe == 'F' || row->label == 'L' ? COMPLETION
			    /* submit_bio_noacct, called with the same bio */
			    : *probe == '7' || *probe == 'E' ? NOTHING
							     : REQUEST;
	} else {
		row->what = CALL;
		take_region(row, *level, *probe, copy);
	}
	return NULL;
}

/* "TIME, ADDRESS, SIZE, LEVEL, ..." What is wrong with it; NULL: nothing. */
static const char *parse_commas(char *line, struct row *row)
{
	enum { TIME, ADDRESS, SIZE, LEVEL, OP, THREAD, COMM, PROBE, INODE, FIELDS };
	char *f[FIELDS + 1];
	size_t n = log_split(line, ',', f, FIELDS + 1);
	const char *probe;

	if (n < PROBE || n > FIELDS)
		return "not the seven to nine fields TIME, ADDRESS, SIZE, LEVEL, OP, THREAD, COMM, "
		       "PROBE, INODE";
	for (size_t i = LEVEL; i < n; i++)
		f[i] = unquoted(f[i]);
	if (!log_u64(f[TIME], &row->time_ns))
		return "no time in ns at its beginning";
	if (!take_number(f[ADDRESS], &row->address, &row->has_address) ||
	    !take_number(f[SIZE], &row->size, &row->has_size))
		return "no address and size";
	if (!log_u32(f[THREAD], &row->tid))
		return "no thread id";
	row->comm = f[COMM];
	if (n > INODE && !log_u64(f[INODE], &row->inode))
		return "no inode";
	/* the first form has but one probe a kind */
	probe = n > PROBE		     ? f[PROBE]
		: strcmp(f[LEVEL], "B") == 0 ? "6"
		: strcmp(f[OP], "W") == 0    ? "4"
					     : "5";
	return take_probe(row, f[LEVEL], f[OP], probe, false);
}

/* What is wrong with LINE; NULL: nothing. */
static const char *parse_row(char *line, struct row *row)
{
	enum { TIME, LEVEL, OP, ADDRESS, SIZE, PROBE, LABEL, FIELDS = 12 };
	char *f[FIELDS + 1];
	bool copy = strstr(line, " \t"), known;
	size_t n, comm = LABEL;
	uint64_t inode;

	if (!strchr(line, '\t'))
		return parse_commas(line, row);
	n = log_split(line, '\t', f, FIELDS + 1);
	if (n < 10)
		return "fewer than ten fields";
	if (n > FIELDS)
		return "more than twelve fields";
	for (size_t i = LEVEL; i < n; i++)
		f[i] = unquoted(f[i]);
	if (!log_u64(f[TIME], &row->time_ns))
		return "no time in ns at its beginning";
	if (strcmp(f[LABEL], "E") == 0 || strcmp(f[LABEL], "L") == 0)
		row->label = *f[comm++];
	if (n >= comm + 5) { /* a thread id of its own */
		if (!log_u32(f[comm++], &row->pid))
			return "no process id";
	}
	if (!log_u32(f[comm++], &row->tid))
		return "no thread id";
	if (n < comm + 3)
		return "fewer fields than its form has";
	row->comm = f[comm];
	if (!take_number(f[ADDRESS], &row->address, &row->has_address) ||
	    !take_number(f[SIZE], &row->size, &row->has_size))
		return "no address and size";
	if (!take_number(f[comm + 1], &inode, &known))
		return "no inode";
	if (known && inode < UINT32_MAX) /* it is kept in 32 bits */
		row->inode = inode;
	return take_probe(row, f[LEVEL], f[OP], f[PROBE], copy);
}

static bool has_number(const char *line)
{
	line += strspn(line, " \t");
	return *line >= '0' && *line <= '9';
}

static bool iotracer_line(char *line)
{
	struct row row = { 0 };

	return has_number(line) && !parse_row(line, &row);
}

static bool iotracer_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	(void)path;
	/* the copy prints text before the first line */
	return !directory && log_probe_lines(head, head_bytes, 16, iotracer_line);
}

static int give_call(struct log *log, const struct row *row)
{
	struct eta_event event = {
		.time_ns = row->time_ns,
		.kind = row->label == 'L' ? ETA_LEAVE : ETA_ENTER,
		.region = log_region(log, row->region),
	};
	uint32_t location = log_thread(log, row->pid, row->tid, row->comm);

	if (location == ETA_NONE || event.region == ETA_NONE)
		return -ENOMEM;
	/* a probe at a function's return reads garbage in place of arguments */
	if (event.kind == ETA_LEAVE)
		return log_end_point(log, location, &event);
	event.has = (row->has_size ? ETA_HAS_SIZE : 0) | (row->has_address ? ETA_HAS_OFFSET : 0);
	event.size = row->size;
	event.offset = (int64_t)row->address;
	if (row->inode) {
		if (log_file(log, NULL, row->inode) == ETA_NONE)
			return -ENOMEM;
		event.has |= ETA_HAS_FILE;
		event.inode = row->inode;
	}
	return log_end_point(log, location, &event);
}

static int give_request(struct log *log, const struct row *row)
{
	struct log_block block = {
		.time_ns = row->time_ns,
		.inode = row->inode,
		.mode = row->write ? ETA_IO_WRITE : ETA_IO_READ,
	};
	int rc;

	if (!row->has_address || !row->has_size || !log_block_at(&block, row->address, row->size))
		return log_bad(log, "no address and size that a request can have");
	rc = log_device(log, 0, "block device", &block.device);
	if (rc)
		return rc;
	if (row->what == COMPLETION) {
		/* no number says which: a bio has moved on to its end, or stands as it began */
		rc = block.sectors ? log_block_complete(log, &block, true) : 0;
		if (rc == 0)
			rc = log_block_complete_end(log, &block, true);
		if (rc == 0)
			log->trace->counts.orphan++;
		return rc < 0 ? rc : 0;
	}
	block.location = log_thread(log, row->pid, row->tid, row->comm);
	return block.location == ETA_NONE ? -ENOMEM : log_block_queue(log, &block);
}

static int give(struct log *log, const struct row *row)
{
	return row->what == NOTHING ? log_pass(log)
	       : row->what == CALL  ? give_call(log, row)
				    : give_request(log, row);
}

/* X(beginning, what stands before the number): lines that say how many records were lost. */
#define LOSSES(X)                                                                                  \
	X("Possibly lost ", "lost ")                                                               \
	X("Lost ", "Lost ")                                                                        \
	X("event=", ": ")

/* A line that is no record: of bcc, of bpftrace, or what the copy counts at its end. */
static int give_text(struct log *log, const char *line)
{
	const char *number = NULL;

#define X(beginning, before)                                                                       \
	if (strncmp(line, beginning, strlen(beginning)) == 0 && strstr(line, before))              \
		number = strstr(line, before) + strlen(before);
	LOSSES(X)
#undef X
	if (number)
		log_lost(log, number);
	if (strncmp(line, "['", 2) == 0)
		return log_bad(log, "a trace that was kept in memory (-s r), printed as one list "
				    "of Python (record with -s d)");
	return log_pass(log);
}

/* STATE: what parses a row. */
static int parse(struct log *log, void *state, char *line)
{
	const char *(*const *parse_line)(char *line, struct row *row) = state;
	struct row row = { 0 };
	const char *wrong;

	if (!has_number(line))
		return give_text(log, line);
	wrong = (*parse_line)(line, &row);
	return wrong ? log_bad(log, "%s", wrong) : give(log, &row);
}

static int iotracer_open(struct eta_trace *trace)
{
	const char *(*parse_line)(char *line, struct row *row) = parse_row;

	return log_read_lines(trace, parse, &parse_line, "CLOCK_MONOTONIC");
}

/* Their cursors end calls whose ends are missing. */
LOG_SOURCE_FILTERED(iotracer, "log of IOTracer, 7 to 12 fields", log_leaves);

/* ---- the bpftrace variant: TIME,R|W,ADDRESS,SIZE,VFS|BLK,FUNCTION,COMM,PID,INODE ---- */

static const char *parse_bpftrace(char *line, struct row *row)
{
	enum { TIME, OP, ADDRESS, SIZE, LEVEL, FUNCTION, COMM, PID, INODE };
	char *f[10], *semicolon;
	const char *level;
	size_t n;

	/* one of its probes has this before the inode */
	semicolon = strrchr(line, ';');
	if (semicolon)
		*semicolon = ',';
	n = log_split(line, ',', f, 10);
	if (n < INODE || n > INODE + 1)
		return "not the fields TIME,R|W,ADDRESS,SIZE,VFS|BLK,FUNCTION,COMM,PID,INODE";
	if (!log_u64(f[TIME], &row->time_ns))
		return "no time in ns at its beginning";
	row->write = strcmp(f[OP], "W") == 0;
	if (!row->write && strcmp(f[OP], "R") != 0)
		return "an operation that is neither R nor W";
	if (!take_number(f[ADDRESS], &row->address, &row->has_address) ||
	    !take_number(f[SIZE], &row->size, &row->has_size))
		return "no address and size";
	if (strcmp(f[LEVEL], "VFS") != 0 && strcmp(f[LEVEL], "BLK") != 0)
		return "a level that is neither VFS nor BLK";
	if (!log_u32(f[PID], &row->pid))
		return "no process id";
	if (n > INODE && !log_u64(f[INODE], &row->inode))
		return "no inode";
	/* the threads of a process share a location */
	row->tid = row->pid;
	row->comm = f[COMM];
	if (*f[LEVEL] == 'B') {
		row->what = strcmp(f[FUNCTION], "bio_endio") == 0 ? COMPLETION : REQUEST;
		if (row->what == COMPLETION) { /* bytes of the last page that are done */
			row->size = 0;
			row->has_size = true;
		}
		return NULL;
	}
	row->what = CALL;
	level = strstr(f[FUNCTION], "generic_")	       ? "pagecache"
		: strncmp(f[FUNCTION], "vfs_", 4) == 0 ? "vfs"
						       : "fs";
	snprintf(row->region, sizeof(row->region), "%s:%.50s", level, f[FUNCTION]);
	/* as above; and what it takes for the size of this one is its position */
	if (*level == 'v' || strcmp(f[FUNCTION], "generic_perform_write") == 0)
		row->has_address = false;
	if (strcmp(f[FUNCTION], "generic_perform_write") == 0)
		row->has_size = false;
	return NULL;
}

static bool bpftrace_line(char *line)
{
	struct row row = { 0 };

	return has_number(line) && !parse_bpftrace(line, &row);
}

static bool bpftrace_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 4, bpftrace_line);
}

static int bpftrace_open(struct eta_trace *trace)
{
	const char *(*parse_line)(char *line, struct row *row) = parse_bpftrace;

	return log_read_lines(trace, parse, &parse_line, "CLOCK_MONOTONIC");
}

LOG_SOURCE_FILTERED(bpftrace, "log of IOTracer's bpftrace script", log_leaves);

/* Source: logs of IOTracer in its forms through the years, and of its bpftrace variant. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "log.h"

/*
 * TIME LEVEL OP ADDRESS SIZE PROBE [LABEL] PID [TID] COMM INODE PARENT, separated by tabs, before
 * 2021 by commas; LABEL (E enter, L leave) and TID came one after the other. Times are
 * CLOCK_MONOTONIC ns; addresses bytes, at level B sectors of 512 bytes.
 */

/* X(number, region): what its probes are. */
#define PROBES(X)                                                                                  \
	X(1, "vfs:vfs_write")                                                                      \
	X(2, "vfs:vfs_read")                                                                       \
	X(4, "fs:ext4_file_write_iter")                                                            \
	X(5, "fs:ext4_file_read_iter")                                                             \
	X(7, "pagecache:__generic_file_write_iter")                                                \
	X(9, "pagecache:generic_file_read_iter")

struct row {
	uint64_t time_ns, address, size, inode;
	uint32_t pid, tid;
	char level;
	bool write;
	const char *region; /* NULL: a block request */
	const char *comm;
	char label; /* 'E', 'L', 0: there are none */
};

static const char *probe_region(uint64_t number, char level, char *text, size_t room)
{
	switch (number) {
#define X(number, region)                                                                          \
	case number:                                                                               \
		return region;
		PROBES(X)
#undef X
	default:
		snprintf(text, room, "%s:probe %llu",
			 level == 'F'	? "fs"
			 : level == 'P' ? "pagecache"
					: "vfs",
			 (unsigned long long)number);
		return text;
	}
}

/* What is wrong with LINE; NULL: nothing. REGION: room for a name. */
static const char *parse_row(char *line, struct row *row, char *region, size_t room)
{
	enum { LEVEL = 1, OP, ADDRESS, SIZE, PROBE, LABEL };
	char *f[13];
	char separator = strchr(line, '\t') ? '\t' : ',';
	size_t n = log_split(line, separator, f, 13), pid = LABEL, comm;
	uint64_t probe;

	if (n < 10)
		return "fewer than ten fields";
	if (n > 12)
		return "more than twelve fields";
	if (!log_u64(f[0], &row->time_ns))
		return "no time in ns at its beginning";
	row->level = *f[LEVEL];
	if (!row->level || !strchr("VFBSPD", row->level) || f[LEVEL][1])
		return "a level that is none of V F B S P D";
	row->write = strcmp(f[OP], "W") == 0;
	if (!row->write && strcmp(f[OP], "R") != 0)
		return "an operation that is neither R nor W";
	if (!log_u64(f[PROBE], &probe))
		return "a probe without a number";
	row->label = 0;
	if (strcmp(f[LABEL], "E") == 0 || strcmp(f[LABEL], "L") == 0) {
		row->label = *f[LABEL];
		pid++;
	}
	comm = pid + 1;
	if (!log_u32(f[pid], &row->pid))
		return "no process id";
	row->tid = row->pid;
	if (n > comm + 3) { /* a thread id stands before the name */
		if (!log_u32(f[comm], &row->tid))
			return "no thread id";
		comm++;
	}
	if (n < comm + 3)
		return "fewer fields than its form has";
	row->comm = f[comm];
	row->region = row->level == 'B' || row->level == 'D'
			      ? NULL
			      : probe_region(probe, row->level, region, room);
	/* a probe at a function's return reads garbage instead of arguments */
	if (row->label == 'L' && row->region)
		return NULL;
	if (!log_u64(f[ADDRESS], &row->address) || row->address > INT64_MAX / 512)
		return "no address";
	if (!log_u64(f[SIZE], &row->size))
		return "no size";
	return log_u64(f[comm + 1], &row->inode) ? NULL : "no inode";
}

static bool has_number(const char *line)
{
	line += strspn(line, " \t");
	return *line >= '0' && *line <= '9';
}

static bool iotracer_line(char *line)
{
	struct row row;
	char region[64];

	return has_number(line) && !parse_row(line, &row, region, sizeof(region));
}

static bool iotracer_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	(void)path;
	/* a reworked copy prints text before the first line */
	return !directory && log_probe_lines(head, head_bytes, 16, iotracer_line);
}

static int give_request(struct log *log, const struct row *row)
{
	struct log_block block = {
		.time_ns = row->time_ns,
		.sector = row->address,
		.sectors = (uint32_t)(row->size / 512),
		.inode = row->inode,
		.mode = row->write ? ETA_IO_WRITE : ETA_IO_READ,
	};
	int rc = log_device(log, 0, "block device", &block.device);

	if (rc)
		return rc;
	if (row->label == 'L') {
		/* bio_endio has no id: what lies at the same sectors is what completes */
		rc = log_block_complete(log, &block, true);
		if (rc == 0)
			log->trace->counts.orphan++;
		return rc < 0 ? rc : 0;
	}
	block.location = log_thread(log, row->pid, row->tid, row->comm);
	if (block.location == ETA_NONE)
		return -ENOMEM;
	return row->label ? log_block_queue(log, &block) : log_block_pass(log, &block);
}

static int give(struct log *log, const struct row *row)
{
	struct eta_event event = { .time_ns = row->time_ns, .kind = ETA_LEAVE };
	struct log_call call = {
		.begin_ns = row->time_ns,
		.call = { .end_ns = row->time_ns, .handle = ETA_NONE },
		.has = ETA_HAS_SIZE | ETA_HAS_OFFSET,
		.size = row->size,
		.offset = (int64_t)row->address,
		.inode = row->inode,
	};
	uint32_t location;

	if (!row->region)
		return give_request(log, row);
	location = log_thread(log, row->pid, row->tid, row->comm);
	call.call.region = event.region = log_region(log, row->region);
	if (location == ETA_NONE || event.region == ETA_NONE)
		return -ENOMEM;
	if (row->label == 'L')
		return log_event(log, location, &event);
	if (row->inode) {
		if (log_file(log, NULL, row->inode) == ETA_NONE)
			return -ENOMEM;
		call.has |= ETA_HAS_FILE;
	}
	if (row->label == 0) {
		log->no_ends = true;
		return log_call(log, location, &call);
	}
	event.kind = ETA_ENTER;
	event.has = call.has;
	event.size = call.size;
	event.offset = call.offset;
	event.inode = call.inode;
	return log_event(log, location, &event);
}

static int parse(struct log *log, void *state, char *line)
{
	char region[64];
	const char *wrong;
	struct row row = { 0 };

	(void)state;
	if (!has_number(line))
		return log_pass(log);
	wrong = parse_row(line, &row, region, sizeof(region));
	return wrong ? log_bad(log, "%s", wrong) : give(log, &row);
}

static int iotracer_open(struct eta_trace *trace)
{
	return log_read_lines(trace, parse, NULL, "CLOCK_MONOTONIC");
}

LOG_SOURCE(iotracer, "log of IOTracer, 10 to 12 fields");

/* ---- the bpftrace variant: TIME,R|W,ADDRESS,SIZE,VFS|BLK,FUNCTION,COMM,PID,INODE ---- */

static const char *parse_bpftrace(char *line, struct row *row, char *region, size_t room)
{
	enum { OP = 1, ADDRESS, SIZE, LEVEL, FUNCTION, COMM, PID, INODE };
	char *f[10], *semicolon;
	size_t n;
	const char *level;

	/* one of its probes has this before the inode */
	semicolon = strrchr(line, ';');
	if (semicolon)
		*semicolon = ',';
	n = log_split(line, ',', f, 10);
	if (n < INODE || n > INODE + 1)
		return "not the fields TIME,R|W,ADDRESS,SIZE,VFS|BLK,FUNCTION,COMM,PID,INODE";
	if (!log_u64(f[0], &row->time_ns))
		return "no time in ns at its beginning";
	row->write = strcmp(f[OP], "W") == 0;
	if (!row->write && strcmp(f[OP], "R") != 0)
		return "an operation that is neither R nor W";
	if (!log_u64(f[ADDRESS], &row->address) || row->address > INT64_MAX / 512)
		return "no address";
	if (!log_u64(f[SIZE], &row->size))
		return "no size";
	if (strcmp(f[LEVEL], "VFS") != 0 && strcmp(f[LEVEL], "BLK") != 0)
		return "a level that is neither VFS nor BLK";
	if (!log_u32(f[PID], &row->pid))
		return "no process id";
	if (n > INODE && !log_u64(f[INODE], &row->inode))
		return "no inode";
	row->tid = row->pid;
	row->comm = f[COMM];
	row->level = *f[LEVEL];
	level = strstr(f[FUNCTION], "generic_")	       ? "pagecache"
		: strncmp(f[FUNCTION], "vfs_", 4) == 0 ? "vfs"
						       : "fs";
	snprintf(region, room, "%s:%.100s", level, f[FUNCTION]);
	row->region = row->level == 'B' ? NULL : region;
	return NULL;
}

static bool bpftrace_line(char *line)
{
	struct row row = { 0 };
	char region[128];

	return has_number(line) && !parse_bpftrace(line, &row, region, sizeof(region));
}

static bool bpftrace_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 4, bpftrace_line);
}

static int parse_bpftrace_line(struct log *log, void *state, char *line)
{
	char region[128];
	const char *wrong;
	struct row row = { 0 };

	(void)state;
	if (!has_number(line)) /* "Attaching 5 probes..." */
		return log_pass(log);
	wrong = parse_bpftrace(line, &row, region, sizeof(region));
	return wrong ? log_bad(log, "%s", wrong) : give(log, &row);
}

static int bpftrace_open(struct eta_trace *trace)
{
	return log_read_lines(trace, parse_bpftrace_line, NULL, "CLOCK_MONOTONIC");
}

LOG_SOURCE(bpftrace, "log of IOTracer's bpftrace script");

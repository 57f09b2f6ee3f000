/* Source: logs of b-com's iotracer, "SECONDS;R|W;ADDRESS;SIZE;VFS|BLK;COMM;PID" per request. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "log-block.h"
#include "log-defs.h"
#include "log-events.h"
#include "log-text.h"

/*
 * Level VFS is the kernel's generic_file_read_iter and __generic_file_write_iter, with addresses in
 * bytes; BLK is generic_make_request, in sectors. A log is a ring: what no longer fits is
 * overwritten, and only the tracer's `control` file says that it is full.
 */

/* Five fields from the left, one from the right: a command's name may hold semicolons. */
struct fields {
	char *time, *mode, *address, *size, *level, *comm, *pid;
};

static bool split(char *line, struct fields *f)
{
	char **const left[] = { &f->time, &f->mode, &f->address, &f->size, &f->level };
	char *end;

	for (size_t i = 0; i < sizeof(left) / sizeof(*left); i++) {
		*left[i] = line;
		line = strchr(line, ';');
		if (!line)
			return false;
		*line++ = '\0';
	}
	f->comm = line;
	end = strrchr(line, ';');
	if (!end)
		return false;
	*end = '\0';
	f->pid = end + 1;
	return (strcmp(f->level, "VFS") == 0 || strcmp(f->level, "BLK") == 0) &&
	       (strcmp(f->mode, "R") == 0 || strcmp(f->mode, "W") == 0);
}

static bool bcom_line(char *line)
{
	struct fields f;
	uint64_t time_ns, address;

	return split(line, &f) && log_time(f.time, &time_ns) && log_u64(f.address, &address);
}

static bool bcom_probe(const char *path, bool directory, const unsigned char *head,
		       size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 3, bcom_line);
}

static int parse(struct log *log, void *state, char *line)
{
	struct log_block block = { 0 };
	struct log_call call = { 0 };
	uint64_t time_ns, address;
	uint32_t pid, location;
	struct fields f;
	bool write;
	int rc;

	(void)state;
	if (!split(line, &f))
		return log_bad(log, "not the seven fields TIME;R|W;ADDRESS;SIZE;VFS|BLK;COMM;PID");
	if (!log_time(f.time, &time_ns))
		return log_bad(log, "\"%.40s\" is no time in seconds", f.time);
	if (!log_u64(f.address, &address) || address > INT64_MAX)
		return log_bad(log, "\"%.40s\" is no address", f.address);
	if (!log_u64(f.size, &call.size))
		return log_bad(log, "\"%.40s\" is no size", f.size);
	if (*f.level == 'B' && !log_block_at(&block, address, call.size))
		return log_bad(log, "sector %.40s, %.40s bytes: beyond any device", f.address,
			       f.size);
	if (!log_u32(f.pid, &pid) || pid == 0)
		return log_bad(log, "\"%.40s\" is no process id", f.pid);
	write = *f.mode == 'W';
	/* the log knows processes only: their threads share a location */
	location = log_thread(log, pid, pid, f.comm);
	if (location == ETA_NONE)
		return -ENOMEM;
	if (*f.level == 'B') {
		/* addresses in sectors of 512 bytes; no completions */
		block.time_ns = time_ns;
		block.location = location;
		block.mode = write ? ETA_IO_WRITE : ETA_IO_READ;
		rc = log_device(log, 0, "block device", &block.device);
		return rc ? rc : log_block_pass(log, &block);
	}
	log->no_ends = true;
	call.begin_ns = call.call.end_ns = time_ns;
	call.call.kind = write ? ETA_OP_WRITE : ETA_OP_READ;
	call.call.handle = ETA_NONE;
	call.call.region = log_region(log, write ? "pagecache:__generic_file_write_iter"
						 : "pagecache:generic_file_read_iter");
	call.offset = (int64_t)address;
	call.has = ETA_HAS_SIZE | ETA_HAS_OFFSET;
	return call.call.region == ETA_NONE ? -ENOMEM : log_call(log, location, &call);
}

static int bcom_open(struct eta_trace *trace)
{
	/* since a moment that only the tracer's `control` file has */
	return log_read_lines(trace, parse, NULL, "relative");
}

LOG_SOURCE(bcom, "log of b-com's iotracer");

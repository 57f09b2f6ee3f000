/* Source: what blkparse prints, and the kernel's `blk` tracer, which prints nearly the same. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "log-blktrace.h"

/*
 * "MAJOR,MINOR CPU [SEQUENCE] SECONDS PID ACTION RWBS [SECTOR + SECTORS] [COMM]", in columns;
 * the tracer of ftrace has no sequence.
 */

/* What is wrong with LINE; NULL: nothing. */
static const char *parse_action(char *line, struct blk_action *a)
{
	enum { DEVICE, CPU, TIME };
	char *f[16], *comma, *bracket = strchr(line, '[');
	uint32_t cpu;
	size_t n, at = TIME;

	a->comm = "";
	if (bracket) { /* a name may hold blanks */
		char *end = strrchr(bracket, ']');

		*bracket = '\0';
		if (end) {
			*end = '\0';
			a->comm = log_trim(bracket + 1);
		}
	}
	n = log_split(line, ' ', f, 16);
	if (n < 5)
		return "fewer fields than a line of blkparse has";
	comma = strchr(f[DEVICE], ',');
	if (!comma)
		return "no device MAJOR,MINOR at its beginning";
	*comma = '\0';
	if (!log_u32(f[DEVICE], &a->major) || !log_u32(comma + 1, &a->minor) || a->major > 0xfff ||
	    a->minor > 0xfffff)
		return "no device MAJOR,MINOR at its beginning";
	if (!log_u32(f[CPU], &cpu))
		return "no CPU";
	if (!strchr(f[at], '.'))
		at++; /* the sequence */
	if (at + 2 >= n || !log_time(f[at], &a->time_ns))
		return "no time";
	if (!log_u32(f[at + 1], &a->tid))
		return "no process id";
	a->action = f[at + 2][1] ? 0 : f[at + 2][0];
	if (at + 3 < n)
		a->mode = strchr(f[at + 3], 'W')   ? ETA_IO_WRITE
			  : strchr(f[at + 3], 'R') ? ETA_IO_READ
						   : ETA_IO_FLUSH;
	if (a->action != 'Q' && a->action != 'D' && a->action != 'C')
		return NULL;
	if (at + 6 < n && f[at + 5][0] == '+') {
		if (!log_u64(f[at + 4], &a->sector) || !log_u32(f[at + 6], &a->sectors))
			return "no SECTOR + SECTORS";
	}
	/* what an error ends with, in brackets: "[0]" is none */
	if (a->action == 'C' && *a->comm && strspn(a->comm, "-0123456789") == strlen(a->comm))
		a->failed = strcmp(a->comm, "0") != 0;
	return NULL;
}

/* "  7,0 ..." */
static bool is_action(const char *line)
{
	line += strspn(line, " \t");
	return *line >= '0' && *line <= '9' && line[strspn(line, "0123456789")] == ',';
}

static bool blkparse_line(char *line)
{
	struct blk_action a = { 0 };

	return is_action(line) && !parse_action(line, &a);
}

static bool blkparse_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 3, blkparse_line);
}

static bool ftrace_header(char *line)
{
	return strcmp(line, "# tracer: blk") == 0;
}

static bool ftrace_blk_probe(const char *path, bool directory, const unsigned char *head,
			     size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 1, ftrace_header);
}

static int parse(struct log *log, void *state, char *line)
{
	struct blk_action a = { 0 };
	const char *wrong;
	uint64_t skipped;
	char *f[3];

	(void)state;
	if (!is_action(line)) { /* comments, and the summary at the end */
		if (strncmp(line, "Skips:", 6) == 0 && log_split(line, ' ', f, 3) == 3 &&
		    log_u64(strtok(f[1], " "), &skipped))
			log->trace->counts.lost += skipped;
		return log_pass(log);
	}
	wrong = parse_action(line, &a);
	return wrong ? log_bad(log, "%s", wrong) : log_blktrace(log, &a);
}

static int blkparse_open(struct eta_trace *trace)
{
	/* since the first action */
	return log_read_lines(trace, parse, NULL, "relative");
}

LOG_SOURCE(blkparse, "text of blkparse");

static int ftrace_blk_open(struct eta_trace *trace)
{
	/* ftrace's local clock: since boot, but not exactly any of the system's */
	return log_read_lines(trace, parse, NULL, "relative");
}

LOG_SOURCE(ftrace_blk, "text of the kernel's blk tracer");

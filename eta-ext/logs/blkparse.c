/* Source: what blkparse prints, and the kernel's `blk` tracer, which prints nearly the same. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "log-text.h"
#include "blktrace-records.h"

/*
 * "MAJOR,MINOR CPU [SEQUENCE] SECONDS PID ACTION RWBS [SECTOR + SECTORS] [COMM]", in columns; the
 * tracer of ftrace has no sequence, and this form with its option blk_classic only. Else it is
 * "COMM-PID [(TGID)] [CPU] [FLAGS] SECONDS: MAJOR,MINOR [CGROUP] ACTION RWBS ...".
 */

/* X(letter, word): actions that are looked at; words with ftrace's option verbose. */
#define ACTIONS(X)                                                                                 \
	X('Q', "queue")                                                                            \
	X('D', "issue")                                                                            \
	X('C', "complete")

/* The letter of action TEXT; 0: another one. */
static char action_of(const char *text)
{
#define X(letter, word)                                                                            \
	if ((text[0] == letter && text[1] == '\0') || strcmp(text, word) == 0)                     \
		return letter;
	ACTIONS(X)
#undef X
	return 0;
}

/* Is TEXT an action at all, and not what stands before one? */
static bool is_action(const char *text)
{
	size_t n = strlen(text);

	return (n <= 2 && strspn(text, "QMFGSRDCPUTIXBAmZ") == n) ||
	       (n > 2 && strspn(text, "abcdefghijklmnopqrstuvwxyz_") == n);
}

/* "8,0": what is wrong with it; NULL: nothing. */
static const char *take_device(char *text, struct blk_action *a)
{
	char *comma = strchr(text, ',');

	if (comma)
		*comma++ = '\0';
	return comma && log_u32(text, &a->major) && log_u32(comma, &a->minor) &&
			       a->major <= 0xfff && a->minor <= 0xfffff
		       ? NULL
		       : "no device MAJOR,MINOR at its beginning";
}

/* The "[001]" in LINE that is a CPU, where ftrace has who and when; NULL: there is none. */
static char *find_cpu(char *line)
{
	for (char *at = strchr(line, '['); at; at = strchr(at + 1, '[')) {
		size_t n = strspn(at + 1, "0123456789");
		const char *before = at;

		if (at == line || at[-1] != ' ' || n < 3 || at[1 + n] != ']' || at[2 + n] != ' ')
			continue;
		while (before > line && before[-1] == ' ')
			before--;
		/* a thread's number or its process' in brackets; else it is of a name */
		if (before > line && strchr("0123456789)", before[-1]))
			return at;
	}
	return NULL;
}

/* Takes what stands before the action, which begins at REST. What is wrong; NULL: nothing. */
static const char *take_context(char *line, char *cpu, struct blk_action *a, char **rest)
{
	char *time = strchr(cpu, ']') + 1, *end, *who, *group;

	for (int i = 0; i < 2; i++) { /* irqs and preemption stand before the time, or nothing */
		time += strspn(time, " ");
		end = time + strcspn(time, " ");
		if (end > time && end[-1] == ':')
			break;
		time = i == 0 ? end : time;
	}
	if (!*end || end[-1] != ':')
		return "no time";
	end[-1] = '\0';
	if (!strchr(time, '.') || !log_time(time, &a->time_ns))
		return "no time in seconds (ftrace's trace_clock must be one that counts ns)";
	*rest = end + strspn(end, " ");
	*cpu = '\0';
	who = log_trim(line);
	group = strrchr(who, '(');
	if (group && who[strlen(who) - 1] == ')') { /* "(-----)": unknown */
		group[strlen(group) - 1] = '\0';
		if (!log_u32(log_trim(group + 1), &a->pid))
			a->pid = 0;
		*group = '\0';
		who = log_trim(who);
	}
	end = strrchr(who, '-');
	if (!end || !log_u32(end + 1, &a->tid))
		return "no process id";
	*end = '\0';
	a->comm = who;
	return NULL;
}

/* What stands between device and action in columns; *AT: the field of the action. */
static const char *take_columns(char **f, size_t n, struct blk_action *a, size_t *at)
{
	enum { CPU = 1, TIME };
	size_t time = TIME;
	uint32_t cpu;

	if (n < 5)
		return "fewer fields than a line of blkparse has";
	if (!log_u32(f[CPU], &cpu))
		return "no CPU";
	if (!strchr(f[time], '.'))
		time++; /* the sequence */
	if (time + 2 >= n || !log_time(f[time], &a->time_ns))
		return "no time";
	if (!log_u32(f[time + 1], &a->tid))
		return "no process id";
	*at = time + 2;
	return NULL;
}

static uint8_t mode_of(const char *rwbs)
{
	if (*rwbs == 'Z') /* of a zone: an append, or what transfers nothing */
		return rwbs[1] == 'A' ? ETA_IO_WRITE : ETA_IO_FLUSH;
	return strchr(rwbs, 'W') ? ETA_IO_WRITE : strchr(rwbs, 'R') ? ETA_IO_READ : ETA_IO_FLUSH;
}

/* What is wrong with LINE; NULL: nothing. CPU: where find_cpu found it, NULL: in columns. */
static const char *parse_action(char *line, char *cpu, struct blk_action *a)
{
	char *f[16], *bracket;
	const char *wrong, *last = "";
	size_t n, at = 1;

	a->comm = "";
	if (cpu) {
		wrong = take_context(line, cpu, a, &line);
		if (wrong)
			return wrong;
	}
	bracket = strchr(line, '[');
	if (bracket) { /* a name may hold blanks */
		char *end = strrchr(bracket, ']');

		*bracket = '\0';
		if (end) {
			*end = '\0';
			last = log_trim(bracket + 1);
		}
	}
	n = log_split(line, ' ', f, 16);
	wrong = n < 3 ? "fewer fields than an action has" : take_device(f[0], a);
	if (!wrong && !cpu)
		wrong = take_columns(f, n, a, &at);
	else if (!wrong && !is_action(f[at]) && ++at >= n) /* its control group */
		wrong = "no action";
	if (wrong)
		return wrong;
	a->action = action_of(f[at]);
	/* what an error ends with, in brackets: "[0]" is none */
	if (a->action == 'C')
		a->failed = *last && strspn(last, "-0123456789") == strlen(last) &&
			    strcmp(last, "0") != 0;
	else if (*last)
		a->comm = last;
	if (strcmp(a->comm, "<...>") == 0) /* ftrace forgot it */
		a->comm = "";
	if (!a->action)
		return NULL;
	a->mode = mode_of(at + 1 < n ? f[at + 1] : "");
	if (at + 4 < n && f[at + 3][0] == '+')
		if (!log_u64(f[at + 2], &a->sector) || !log_u32(f[at + 4], &a->sectors))
			return "no SECTOR + SECTORS";
	return NULL;
}

/* "  7,0 ..." */
static bool has_columns(const char *line)
{
	line += strspn(line, " \t");
	return *line >= '0' && *line <= '9' && line[strspn(line, "0123456789")] == ',';
}

static bool blkparse_line(char *line)
{
	struct blk_action a = { 0 };

	return has_columns(line) && !parse_action(line, NULL, &a);
}

static bool blkparse_probe(const char *path, bool directory, const unsigned char *head,
			   size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 3, blkparse_line);
}

/* trace_pipe has no header. */
static bool ftrace_line(char *line)
{
	struct blk_action a = { 0 };
	char *cpu = has_columns(line) ? NULL : find_cpu(line);

	return strcmp(line, "# tracer: blk") == 0 || (cpu && !parse_action(line, cpu, &a));
}

static bool ftrace_blk_probe(const char *path, bool directory, const unsigned char *head,
			     size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 3, ftrace_line);
}

/* Does LINE say how many records were lost? Then they are counted. */
static bool take_loss(struct log *log, const char *line)
{
	const char *number = NULL;

	if (strncmp(line, "CPU:", 4) == 0) { /* "CPU:1 [LOST 23 EVENTS]", or of unknown number */
		number = strstr(line, "[LOST ");
		number = number ? number + strlen("[LOST ") : NULL;
	} else if (strncmp(line, "Skips:", 6) == 0) { /* "Skips: GAPS forward (RECORDS - 0.1%)" */
		number = strchr(line, '(');
		number = number ? number + 1 + strspn(number + 1, " ") : NULL;
	}
	if (number)
		log_lost(log, number);
	return number;
}

/* STATE: not NULL where all lines but comments are actions. */
static int parse(struct log *log, void *state, char *line)
{
	struct blk_action a = { 0 };
	char *cpu = has_columns(line) ? NULL : find_cpu(line);
	const char *wrong;

	if (*line == '#')
		return log_pass(log);
	if (!cpu && !has_columns(line)) {
		/* what blkparse sums up at the end */
		return take_loss(log, line) || !state ? log_pass(log)
						      : log_bad(log, "no action of the blk tracer");
	}
	wrong = parse_action(line, cpu, &a);
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
	bool strict = true;

	/* ftrace's local clock: since boot, but not exactly any of the system's */
	return log_read_lines(trace, parse, &strict, "relative");
}

LOG_SOURCE(ftrace_blk, "text of the kernel's blk tracer");

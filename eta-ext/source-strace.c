/* Source: strace's output, in any of the forms that its options for time and threads give. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "strace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A thread, between its lines. */
struct tracee {
	UT_hash_handle hh;
	uint32_t tid;
	uint32_t location; /* ETA_NONE: no I/O yet */
	uint32_t pid;
	uint64_t last_ns;  /* where its last call ended */
	char *unfinished;  /* the first part of a call that others' lines interrupted */
	uint64_t begin_ns; /* of it */
};

struct strace {
	struct tracee *tracees;
	uint32_t only_tid; /* of a log without thread ids */
	bool relative;	   /* -r: a time is the difference to the line before */
	bool first;	   /* no line with a time came yet */
	uint64_t last_ns;  /* of the line before */
	uint64_t day_ns;   /* midnights that passed */
};

/* Behind the fields before the call. */
struct line {
	uint32_t tid;
	uint64_t time_ns;
	bool time_of_day, relative;
	char *text;
};

/* "12:34:56.789" or "1700000000.123456"; moves TEXT behind it. */
static bool take_time(char **text, struct line *line)
{
	const char *at = *text;
	uint64_t parts[3] = { 0 };
	int n = 0;

	while (n < 3 && log_seconds(&at, &parts[n]) && ++n < 3 && *at == ':')
		at++;
	if (n == 3) {
		line->time_of_day = true;
		if (parts[0] >= 24000000000000 || parts[1] >= 60000000000000)
			return false;
		line->time_ns = parts[0] * 3600 + parts[1] * 60 + parts[2];
	} else if (n == 1) {
		line->time_ns = parts[0];
	} else {
		return false;
	}
	if (*at != ' ')
		return false;
	*text += at - *text;
	return true;
}

/* What is wrong with TEXT before the call; NULL: nothing. */
static const char *parse_prefix(char *text, struct line *line)
{
	char *start = text;
	uint64_t number = 0;
	size_t digits;

	text += strspn(text, " ");
	line->relative = text - start > 1; /* -r alone pads its times on the left */
	if (strncmp(text, "[pid", 4) == 0) {
		text += 4 + strspn(text + 4, " ");
		digits = strspn(text, "0123456789");
		if (digits == 0 || text[digits] != ']')
			return "no number in [pid N]";
		text[digits] = '\0';
		if (!log_u32(text, &line->tid))
			return "no number in [pid N]";
		text += digits + 1;
	} else {
		digits = strspn(text, "0123456789");
		if (digits && text[digits] == ' ') {
			text[digits] = '\0';
			if (!log_u64(text, &number) || number > UINT32_MAX)
				return "no process id at its beginning";
			line->tid = (uint32_t)number;
			text += digits + 1;
		}
	}
	start = text;
	text += strspn(text, " ");
	line->relative |= text - start > 1 && digits == 0;
	if (!take_time(&text, line))
		return "no time before the call (record with strace -f -ttt -T)";
	line->text = text + strspn(text, " ");
	return *line->text ? NULL : "no call";
}

static bool strace_line(char *text)
{
	struct line line = { 0 };
	size_t n;

	if (parse_prefix(text, &line))
		return false;
	n = strspn(line.text, "abcdefghijklmnopqrstuvwxyz_0123456789");
	return (n > 1 && line.text[n] == '(') || strncmp(line.text, "<... ", 5) == 0 ||
	       strncmp(line.text, "+++ ", 4) == 0 || strncmp(line.text, "--- ", 4) == 0;
}

static bool strace_probe(const char *path, bool directory, const unsigned char *head,
			 size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 3, strace_line);
}

/* ---- threads ---- */

static struct tracee *tracee_of(struct log *log, struct strace *s, uint32_t tid)
{
	struct tracee *t;

	HASH_FIND(hh, s->tracees, &tid, sizeof(tid), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (t) {
		t->tid = t->pid = tid;
		t->location = ETA_NONE;
		HASH_ADD(hh, s->tracees, tid, sizeof(t->tid), t);
		if (t->hh.tbl)
			return t;
		free(t);
	}
	eta_error("%s: not enough memory for its threads", log->trace->path);
	return NULL;
}

static int give_thread(struct log *log, struct tracee *t)
{
	if (t->location == ETA_NONE)
		t->location = log_thread(log, t->pid, t->tid, "");
	return t->location == ETA_NONE ? -ENOMEM : 0;
}

/* A new program, a new thread or process, from what a successful call returned. */
static int life(struct log *log, struct strace *s, struct tracee *t, const struct strace_call *call)
{
	const char *name;
	char comm[64];
	int rc;

	if (strncmp(call->name, "execve", 6) == 0 && call->ret == 0) {
		strace_string(call, call->name[6] ? 1 : 0, comm, sizeof(comm));
		name = strrchr(comm, '/');
		return log_name(log, t->tid, name ? name + 1 : comm);
	}
	if ((strncmp(call->name, "clone", 5) == 0 || strcmp(call->name, "fork") == 0 ||
	     strcmp(call->name, "vfork") == 0) &&
	    call->ret > 0 && call->ret <= INT32_MAX) {
		struct tracee *child = tracee_of(log, s, (uint32_t)call->ret);

		if (!child)
			return -ENOMEM;
		if (strstr(call->text, "CLONE_THREAD")) {
			child->pid = t->pid;
			rc = child->location != ETA_NONE ? log_move(log, child->location, t->pid)
							 : 0;
			if (rc)
				return rc;
		}
		return log_fd_fork(log, t->tid, child->tid,
				   strstr(call->text, "CLONE_FILES") != NULL);
	}
	return 0;
}

/* ---- calls ---- */

static int finished(struct log *log, struct strace *s, struct tracee *t, char *text,
		    uint64_t begin_ns, uint64_t end_ns)
{
	struct strace_call call = { .end_ns = end_ns };
	struct log_call give = { 0 };
	const char *wrong = strace_parse(text, begin_ns, &call);
	bool no_end;
	int rc;

	if (wrong)
		return log_bad(log, "%s", wrong);
	/* times are cut to microseconds: a call does not begin before the one before it ends */
	if (begin_ns < t->last_ns && t->last_ns - begin_ns < 10000)
		begin_ns = t->last_ns;
	no_end = call.end_ns == 0 && call.has_ret;
	if (call.end_ns < begin_ns)
		call.end_ns = begin_ns;
	t->last_ns = call.end_ns;
	if (s->relative && call.end_ns > s->last_ns)
		s->last_ns = call.end_ns;
	rc = life(log, s, t, &call);
	if (rc == 0)
		rc = strace_files(log, t->tid, &call, &give);
	if (rc <= 0)
		return rc ? rc : log_pass(log);
	log->no_ends |= no_end;
	rc = give_thread(log, t);
	give.begin_ns = begin_ns;
	give.call.end_ns = call.end_ns;
	return rc ? rc : log_call(log, t->location, &give);
}

static int resumed(struct log *log, struct strace *s, struct tracee *t, const struct line *line)
{
	char *rest = strstr(line->text, "resumed>"), *whole;
	size_t n, first;
	int rc;

	if (!rest)
		return log_bad(log, "a resumed call without \"resumed>\"");
	if (!t->unfinished) {
		log->trace->counts.orphan++; /* the log begins inside of it */
		return 0;
	}
	rest += strlen("resumed>");
	first = strlen(t->unfinished);
	n = strlen(rest);
	whole = realloc(t->unfinished, first + n + 1);
	if (!whole) {
		eta_error("%s: not enough memory for a call", log->trace->path);
		return -ENOMEM;
	}
	t->unfinished = NULL;
	memcpy(whole + first, rest, n + 1);
	rc = finished(log, s, t, whole, t->begin_ns, line->time_ns);
	free(whole);
	return rc;
}

/*
 * The call that T is in never ended: it was killed in it, or the log ends. What stands of its text
 * is all its arguments or the first of them.
 */
static int never_ended(struct log *log, struct tracee *t, uint64_t until_ns)
{
	static const char end[] = ") = ?";
	struct strace_call call = { 0 };
	struct log_call give = { 0 };
	size_t n = t->unfinished ? strlen(t->unfinished) : 0;
	char *text;
	int rc = 0;

	if (!t->unfinished)
		return 0;
	text = realloc(t->unfinished, n + sizeof(end));
	if (!text) {
		eta_error("%s: not enough memory for a call", log->trace->path);
		return -ENOMEM;
	}
	t->unfinished = NULL;
	memcpy(text + n, end, sizeof(end));
	if (strace_parse(text, t->begin_ns, &call))
		log->trace->counts.truncated++; /* cut inside of an argument */
	else
		rc = strace_files(log, t->tid, &call, &give);
	if (rc > 0) {
		rc = give_thread(log, t);
		give.begin_ns = t->begin_ns;
		if (rc == 0)
			rc = log_call_open(log, t->location, &give, until_ns);
	}
	free(text);
	return rc;
}

static int unfinished(struct log *log, struct tracee *t, const struct line *line, size_t n)
{
	if (t->unfinished)
		log->trace->counts.truncated++;
	free(t->unfinished);
	while (n > 0 && line->text[n - 1] == ' ')
		n--;
	t->unfinished = strndup(line->text, n);
	t->begin_ns = line->time_ns;
	if (!t->unfinished) {
		eta_error("%s: not enough memory for a call", log->trace->path);
		return -ENOMEM;
	}
	return log_pass(log);
}

/* Times as they go on: differences added up, midnight passed. */
static void place(struct strace *s, struct line *line)
{
	const uint64_t day_ns = 86400ull * 1000000000;

	if (s->first) {
		s->first = false;
		/* no absolute time is in the year 1970 */
		s->relative = !line->time_of_day && line->time_ns < 1000000ull * 1000000000;
	} else if (line->time_of_day && line->time_ns + s->day_ns + day_ns / 2 < s->last_ns) {
		s->day_ns += day_ns;
	}
	/* one program's file of several (-ff): what the others did in between is not in it */
	line->time_ns += s->relative ? s->last_ns : s->day_ns;
	s->last_ns = line->time_ns;
}

/* How much of TEXT stands before a mark that the call is not over; all of it: there is none. */
static size_t interrupted(const char *text)
{
	static const char *const marks[] = { "<unfinished ...>", "<detached ...>" };
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		size_t length = strlen(marks[i]);

		if (n >= length && strcmp(text + n - length, marks[i]) == 0)
			return n - length;
	}
	return n;
}

static int parse(struct log *log, void *state, char *text)
{
	struct strace *s = state;
	struct line line = { .tid = s->only_tid };
	const char *wrong;
	struct tracee *t;
	size_t n;

	if (strncmp(text, "strace: ", 8) == 0)
		return log_pass(log);
	wrong = parse_prefix(text, &line);
	if (wrong)
		return log_bad(log, "%s", wrong);
	place(s, &line);
	t = tracee_of(log, s, line.tid);
	if (!t)
		return -ENOMEM;
	if (strncmp(line.text, "--- ", 4) == 0)
		return log_pass(log);
	if (strncmp(line.text, "+++ ", 4) == 0) {
		int rc = never_ended(log, t, line.time_ns);

		log_fd_exit(log, t->tid);
		return rc ? rc : log_pass(log);
	}
	if (strncmp(line.text, "<... ", 5) == 0)
		return resumed(log, s, t, &line);
	n = interrupted(line.text);
	if (line.text[n])
		return unfinished(log, t, &line, n);
	return finished(log, s, t, line.text, line.time_ns, 0);
}

/* Calls that were going on at the end of the log. */
static int end_tracees(struct log *log, struct strace *s)
{
	struct tracee *t, *next;
	int rc = 0;

	HASH_ITER (hh, s->tracees, t, next)
		if (rc == 0)
			rc = never_ended(log, t, s->last_ns);
	return rc;
}

static void free_tracees(struct strace *s)
{
	struct tracee *t, *next;

	HASH_ITER (hh, s->tracees, t, next) {
		HASH_DEL(s->tracees, t);
		free(t->unfinished);
		free(t);
	}
}

static int strace_open(struct eta_trace *trace)
{
	const char *dot = strrchr(trace->path, '.');
	struct strace s = { .first = true };
	struct log *log;
	int rc;

	/* -ff: the thread is in the file's name */
	if (!dot || !log_u32(dot + 1, &s.only_tid) || s.only_tid == 0)
		s.only_tid = 1;
	rc = log_open(trace, &log);
	if (rc)
		return rc;
	while ((rc = log_next_line(log)) > 0) {
		rc = parse(log, &s, log->text);
		if (rc)
			break;
	}
	if (rc == 0)
		rc = end_tracees(log, &s);
	free_tracees(&s);
	return log_end(log, rc,
		       s.relative || s.day_ns || s.last_ns < 1000000ull * 1000000000
			       ? "relative"
			       : "CLOCK_REALTIME");
}

LOG_SOURCE(strace, "output of strace");

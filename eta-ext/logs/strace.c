/* Source: strace's output, in any of the forms that its options for time and threads give. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-defs.h"
#include "log-files.h"
#include "log-text.h"
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
	bool exited;
};

struct strace {
	struct tracee *tracees;
	uint32_t only_tid;  /* of lines without a thread id: of the first thread */
	bool only_known;    /* it is no guess */
	bool relative;	    /* -r: a time is the difference to the line before */
	bool first;	    /* no line with a time came yet */
	struct tracee *cut; /* whose line has strace's own word in it */
	uint64_t last_ns;   /* of the line before */
	uint64_t day_ns;    /* midnights that passed */
};

/* Calls without times are strace's, too: what is missing is said when they are read. */
static bool strace_line(char *text)
{
	struct strace_line line = { 0 };
	const char *wrong = strace_take_line(text, &line);
	size_t n;

	if (!line.text)
		return false;
	n = strspn(line.text, "abcdefghijklmnopqrstuvwxyz_0123456789?");
	if (wrong)
		return n > 1 && line.text[n] == '(' && strstr(line.text, ") = ");
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
	log_no_memory(log, "its threads");
	return NULL;
}

static int give_thread(struct log *log, struct tracee *t)
{
	if (t->location == ETA_NONE)
		t->location = log_thread(log, t->pid, t->tid, "");
	return t->location == ETA_NONE ? -ENOMEM : 0;
}

/* A new program, a new thread or process, from what a successful call returned. */
static int task_call(struct log *log, struct strace *s, struct tracee *t,
		     const struct strace_call *call)
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
		child->exited = false; /* of one that had its number before */
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
	no_end = call.end_ns == STRACE_NO_END && call.has_ret;
	if (call.end_ns == STRACE_NO_END || call.end_ns < begin_ns)
		call.end_ns = begin_ns;
	t->last_ns = call.end_ns;
	if (s->relative && call.end_ns > s->last_ns)
		s->last_ns = call.end_ns;
	rc = task_call(log, s, t, &call);
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

/* REST comes behind the unfinished call of T, which ends at END_NS (STRACE_NO_END: not reported),
 * or not yet. */
static int go_on(struct log *log, struct strace *s, struct tracee *t, const char *rest,
		 uint64_t end_ns)
{
	size_t first = strlen(t->unfinished), n = strace_interrupted(rest);
	char *whole = realloc(t->unfinished, first + n + 1);
	bool again = rest[n];
	int rc;

	if (!whole)
		return log_no_memory(log, "a call");
	memcpy(whole + first, rest, n);
	whole[first + n] = '\0';
	t->unfinished = again ? whole : NULL;
	if (again)
		/* cppcheck-suppress memleak ; it is T->unfinished now */
		return log_pass(log);
	rc = finished(log, s, t, whole, t->begin_ns, end_ns);
	free(whole);
	return rc;
}

static int resumed(struct log *log, struct strace *s, struct tracee *t,
		   const struct strace_line *line)
{
	const char *rest = strstr(line->text, "resumed>");

	if (!rest)
		return log_bad(log, "a resumed call without \"resumed>\"");
	if (!t->unfinished) {
		log->trace->counts.orphan++; /* the log begins inside of it */
		return 0;
	}
	return go_on(log, s, t, rest + strlen("resumed>"), line->time_ns);
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
	if (!text)
		return log_no_memory(log, "a call");
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

static int unfinished(struct log *log, struct tracee *t, const struct strace_line *line, size_t n)
{
	if (t->unfinished)
		log->trace->counts.truncated++;
	free(t->unfinished);
	while (n > 0 && line->text[n - 1] == ' ')
		n--;
	t->unfinished = strndup(line->text, n);
	t->begin_ns = line->time_ns;
	if (!t->unfinished)
		return log_no_memory(log, "a call");
	return log_pass(log);
}

/* Times as they go on: differences added up, midnight passed; false: further than can be said. */
static bool place(struct strace *s, struct strace_line *line)
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
	if (__builtin_add_overflow(line->time_ns, s->relative ? s->last_ns : s->day_ns,
				   &line->time_ns))
		return false;
	s->last_ns = line->time_ns;
	return true;
}

/*
 * Lines have "[pid 12]" only while there are several threads. The first thread's number is found in
 * a line that resumes its call, or in one of a thread that no call created.
 */
static int learn_first(struct log *log, struct strace *s, const struct strace_line *line)
{
	struct tracee *first, *t, *same;
	uint32_t guess = s->only_tid;
	bool goes_on = strncmp(line->text, "<... ", 5) == 0;

	HASH_FIND(hh, s->tracees, &line->tid, sizeof(line->tid), t);
	if (t)
		return 0;
	HASH_FIND(hh, s->tracees, &guess, sizeof(guess), first);
	if (first && first->unfinished && !goes_on)
		return 0; /* a child, before its parent's call is over */
	s->only_tid = line->tid;
	s->only_known = true;
	if (!first)
		return 0;
	HASH_DEL(s->tracees, first);
	first->tid = line->tid;
	HASH_ADD(hh, s->tracees, tid, sizeof(first->tid), first);
	if (!first->hh.tbl) {
		log_no_memory(log, "its threads");
		free(first->unfinished);
		free(first);
		return -ENOMEM;
	}
	for (same = s->tracees; same; same = same->hh.next)
		if (same->pid == guess)
			same->pid = line->tid;
	if (log_fd_fork(log, guess, line->tid, true))
		return -ENOMEM;
	log_fd_exit(log, guess);
	return log_renumber(log, guess, line->tid);
}

/* The thread of a line without a thread id: the first one, else the one that is left. */
static uint32_t unnamed(const struct strace *s)
{
	const struct tracee *t;

	HASH_FIND(hh, s->tracees, &s->only_tid, sizeof(s->only_tid), t);
	if (!t || !t->exited)
		return s->only_tid;
	for (t = s->tracees; t; t = t->hh.next)
		if (!t->exited)
			return t->tid;
	return s->only_tid;
}

/* What strace writes that is no event: its own words, stacks (-k), dumps (-e read=...). */
static bool beside(struct strace *s, const char *text)
{
	static const char attached[] = "strace: Process ";
	unsigned long tid;

	if (strncmp(text, " > ", 3) == 0 || strncmp(text, " | ", 3) == 0)
		return true;
	if (strncmp(text, "strace: ", 8) != 0)
		return false;
	/* -p: before any line, and if there is one only, it says whose they are */
	if (!s->tracees && s->first && strncmp(text, attached, strlen(attached)) == 0) {
		tid = strtoul(text + strlen(attached), NULL, 10);
		s->only_known = tid > 0 && tid <= INT32_MAX && s->only_tid == 1;
		if (s->only_known)
			s->only_tid = (uint32_t)tid;
	}
	return true;
}

static int parse(struct log *log, void *state, char *text)
{
	struct strace *s = state;
	struct strace_line line = { 0 };
	const char *wrong;
	struct tracee *t;
	size_t n;
	int rc = 0;

	if (beside(s, text))
		return log_pass(log);
	t = s->cut;
	s->cut = NULL;
	wrong = strace_take_line(text, &line);
	if (wrong && t && t->unfinished)
		return go_on(log, s, t, text, STRACE_NO_END);
	if (wrong)
		return log_bad(log, "%s", wrong);
	if (!place(s, &line))
		return log_bad(log, "the times sum up to more than 584 years");
	if (line.tid && !s->only_known)
		rc = learn_first(log, s, &line);
	if (rc == 0 && line.tid == 0)
		line.tid = unnamed(s);
	t = rc == 0 ? tracee_of(log, s, line.tid) : NULL;
	if (!t)
		return -ENOMEM;
	if (line.comm && t->location == ETA_NONE && log_name(log, t->tid, line.comm) < 0)
		return -ENOMEM;
	if (strncmp(line.text, "--- ", 4) == 0 || strncmp(line.text, "[ Process PID=", 14) == 0)
		return log_pass(log);
	if (strncmp(line.text, "+++ ", 4) == 0) {
		rc = never_ended(log, t, line.time_ns);
		t->exited = true;
		log_fd_exit(log, t->tid);
		return rc ? rc : log_pass(log);
	}
	t->exited = false;
	if (strncmp(line.text, "<... ", 5) == 0)
		return resumed(log, s, t, &line);
	n = strace_interrupted(line.text);
	if (line.text[n]) {
		s->cut = line.text[strace_noted(line.text)] ? t : NULL;
		return unfinished(log, t, &line, n);
	}
	return finished(log, s, t, line.text, line.time_ns, STRACE_NO_END);
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
	s.only_known = dot && log_u32(dot + 1, &s.only_tid) && s.only_tid > 0;
	if (!s.only_known)
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

/* Inside of the source of strace's logs: a line, a call as it is printed, what it does to files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_STRACE_H
#define ETA_STRACE_H

#include "log-events.h"

/* A line, up to its call. */
struct strace_line {
	uint32_t tid; /* 0: not reported */
	char *comm;   /* -Y; NULL: not reported */
	uint64_t time_ns;
	bool time_of_day; /* TIME_NS is since midnight */
	char *text;	  /* the call, signal or end */
};

/* Takes TEXT to pieces, in place. What is wrong with it (it is as it was then); NULL: nothing. */
const char *strace_take_line(char *text, struct strace_line *line);

/*
 * On a terminal strace's message about a new thread may be in the middle of the line of a call,
 * which goes on in the next line. How much of TEXT is before the message; all: there is none.
 */
size_t strace_noted(const char *text);

/* How much of TEXT is before the mark of an unfinished call; all of it: there is none. */
size_t strace_interrupted(const char *text);

enum { STRACE_ARGUMENTS = 8 };
#define STRACE_NO_END UINT64_MAX

/* "name(argument, ...) = returned ERROR (words) <seconds>" */
struct strace_call {
	const char *name;
	const char *text; /* what stands between the brackets, whole */
	const char *arguments[STRACE_ARGUMENTS];
	unsigned n_arguments;
	int64_t ret;
	bool has_ret;
	const char *ret_text; /* what stands behind "= " */
	uint64_t end_ns;      /* STRACE_NO_END: not reported; as given where no duration is */
};

/*
 * Takes TEXT to pieces, in place, for a call that began at BEGIN_NS. What is wrong with it; NULL:
 * nothing.
 */
const char *strace_parse(char *text, uint64_t begin_ns, struct strace_call *call);

/* FROM up to one of STOPS (or its end), with what strace wrote for other characters undone. */
void strace_unescape(const char *from, const char *stops, char *to, size_t room);

/* "O_WRONLY|O_CREAT" or a number, as flags of open. */
uint32_t strace_open_flags(const char *text);

/* Argument I as the string it quotes, "" where it is none. */
void strace_string(const struct strace_call *call, unsigned i, char *to, size_t room);

/* Of which kind (enum eta_op_kind) system call NAME is; false: none that is on files. */
bool strace_kind(const char *name, uint8_t *kind);

/*
 * What CALL of thread TID does to a file, as descriptors and positions show: 1, and fills GIVE
 * except its times; 0: it is no I/O; -errno.
 */
int strace_files(struct log *log, uint32_t tid, const struct strace_call *call,
		 struct log_call *give);

#endif

/* Logs: the next line, and what is wrong with it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int log_no_memory(const struct log *log, const char *what)
{
	eta_error("%s:%" PRIu64 ": not enough memory for %s", log->trace->path, log->line, what);
	return -ENOMEM;
}

/* Reads one line without its end into log->text: its length, -1 at the end of the file. */
static ssize_t read_line(struct log *log, bool *too_long)
{
	size_t n = 0;
	int c;

	*too_long = false;
	while ((c = getc_unlocked(log->file)) != EOF && c != '\n') {
		if (n == LOG_LINE_MAX) {
			*too_long = true;
			continue;
		}
		if (!ARRAY_FITS(log->text, n + 2, log->room))
			return log_no_memory(log, "a line");
		log->text[n++] = (char)c;
	}
	if (c == EOF && n == 0)
		return -1;
	if (log->room == 0)
		return 0;
	if (n > 0 && log->text[n - 1] == '\r')
		n--;
	log->text[n] = '\0';
	return (ssize_t)n;
}

int log_next_line(struct log *log)
{
	bool too_long;
	ssize_t n;
	int rc;

	for (;;) {
		n = read_line(log, &too_long);
		if (n == -ENOMEM)
			return -ENOMEM;
		if (n < 0)
			break;
		log->line++;
		if (n == 0 || strspn(log->text, " \t") == (size_t)n)
			continue;
		log->trace->counts.records++;
		if (too_long)
			rc = log_bad(log, "a line of more than %d bytes", LOG_LINE_MAX);
		else if (strlen(log->text) < (size_t)n) /* a hole, as a crash leaves it */
			rc = log_bad(log, "a zero byte in the line");
		else
			return 1;
		if (rc)
			return rc;
	}
	if (ferror(log->file)) {
		rc = errno ? -errno : -EIO;
		eta_error("%s:%" PRIu64 ": cannot read on: %s", log->trace->path, log->line,
			  strerror(-rc));
		return rc;
	}
	return 0;
}

int log_bad(struct log *log, const char *format, ...)
{
	struct eta_trace *trace = log->trace;
	char what[512];
	va_list ap;

	trace->counts.bad++;
	if (trace->options.lenient)
		return 0;
	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	eta_error("%s:%" PRIu64 ": %s (--lenient leaves it out and goes on)", trace->path,
		  log->line, what);
	return -EBADMSG;
}

int log_pass(struct log *log)
{
	log->trace->counts.passed++;
	return 0;
}

/* A number beyond is a damaged one; it stays one that can be added to. */
#define LOST_MAX (UINT64_MAX / 100)

void log_lost(struct log *log, const char *text)
{
	uint64_t *lost = &log->trace->counts.lost, n = 0;
	bool known = *text >= '0' && *text <= '9';

	for (; (*text >= '0' && *text <= '9') || *text == ','; text++)
		if (*text != ',')
			n = n < LOST_MAX ? n * 10 + (uint64_t)(*text - '0') : LOST_MAX;
	*lost += known ? n : 1;
	if (*lost > LOST_MAX)
		*lost = LOST_MAX;
}

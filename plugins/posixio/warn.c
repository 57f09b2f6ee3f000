/* Messages of the tracer: written to the recording, never into the program's data. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "core.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/format/own-call.h"
#include "eta-ext/base/printable.h"
#include "text.h"

#define LINE_BYTES 512

/* What descriptor 2 was when the process started. */
static struct {
	bool known, open;
	struct stat st;
} at_start;

static bool ask(struct stat *st)
{
	return own_call(STAT, STDERR_FILENO, "", st, AT_EMPTY_PATH) == 0;
}

static bool (*into)(const char *text); /* writes to the recording, once there is one */

static void note_stderr(void)
{
	if (at_start.known)
		return;
	at_start.known = true;
	at_start.open = ask(&at_start.st);
}

void warn_start(bool (*recording)(const char *text))
{
	into = recording;
	note_stderr();
}

/* Otherwise the program has closed it, and may have a file of its own there. */
static bool is_same(void)
{
	const struct stat *then = &at_start.st;
	struct stat now;

	note_stderr();
	return at_start.open && ask(&now) && now.st_dev == then->st_dev &&
	       now.st_ino == then->st_ino && now.st_rdev == then->st_rdev &&
	       now.st_mode == then->st_mode;
}

/*
 * Makes the N bytes at TEXT, in a buffer of ROOM, printable; returns their new number. Works in
 * place: the stack may be small.
 */
static size_t make_printable(char *text, size_t n, size_t room)
{
	for (size_t at = 0; at < n;) {
		char step[PRINTABLE_STEP];
		const size_t used = printable_step(text + at, n - at, step), shown = strlen(step);

		if (n - used + shown > room)
			return at;
		memmove(text + at + shown, text + at + used, n - at - used);
		/* N bytes, no text. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
		memcpy(text + at, step, shown);
		n += shown - used;
		at += shown;
	}
	return n;
}

void tracer_warn(const char *format, ...)
{
	char line[LINE_BYTES];
	const size_t prefix = text_format(line, sizeof(line), "%s: ", tracer_name);
	va_list args;
	size_t n;

	va_start(args, format);
	n = prefix + text_format_list(line + prefix, sizeof(line) - prefix - 1, format, args);
	va_end(args);
	if ((into && into(line + prefix)) || !is_same())
		return;
	/* it may name a path */
	n = prefix + make_printable(line + prefix, n - prefix, sizeof(line) - prefix - 1);
	line[n++] = '\n';
	own_call(WRITE, STDERR_FILENO, line, n);
}

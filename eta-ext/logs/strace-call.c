/* Source of strace's logs: taking a printed call to pieces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-text.h"
#include "strace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Behind a string that begins at TEXT; NULL: it does not end. */
static char *skip_string(char *text)
{
	for (text++; *text && *text != '"'; text++)
		if (*text == '\\' && text[1])
			text++;
	return *text ? text + 1 : NULL;
}

/*
 * Behind "<...>", what -y puts behind a descriptor. Brackets nest ("<char 1:3>"); an arrow between
 * the ends of a connection is none.
 */
static char *skip_decoration(char *text)
{
	int depth = 0;

	for (; *text; text++) {
		if (*text == '<')
			depth++;
		else if (*text == '>' && text[-1] != '-' && --depth == 0)
			return text + 1;
	}
	return NULL;
}

/* A descriptor or AT_FDCWD stands before TEXT, so '<' there is a decoration and no comparison. */
static bool decorates(const char *start, const char *text)
{
	return text > start && ((text[-1] >= '0' && text[-1] <= '9') || text[-1] == 'D') &&
	       text[1] != '<';
}

/* Behind "name=", which -N puts before an argument. */
static const char *skip_name(const char *argument)
{
	size_t n;

	argument += strspn(argument, " ");
	n = strspn(argument, "abcdefghijklmnopqrstuvwxyz_0123456789");
	return n > 0 && argument[n] == '=' && argument[n + 1] != '=' ? argument + n + 1 : argument;
}

/* The arguments from START on; behind their ')', or NULL. */
static char *split_arguments(char *start, struct strace_call *call)
{
	char *text = start, *argument = start;
	int depth = 0;

	while (*text) {
		bool end = depth == 0 && *text == ')';

		if (*text == '"') {
			text = skip_string(text);
			if (!text)
				return NULL;
			continue;
		}
		if (*text == '<' && decorates(start, text)) {
			text = skip_decoration(text);
			if (!text)
				return NULL;
			continue;
		}
		if (end || (depth == 0 && *text == ',')) {
			if (call->n_arguments < STRACE_ARGUMENTS && (!end || text > start))
				call->arguments[call->n_arguments++] = skip_name(argument);
			if (end)
				return text + 1;
			argument = text + 1;
		}
		if (*text == '(' || *text == '[' || *text == '{')
			depth++;
		else if (*text == ')' || *text == ']' || *text == '}')
			depth--;
		text++;
	}
	return NULL;
}

static void take_ret(struct strace_call *call, const char *text)
{
	const char *name;
	char *end;

	call->ret_text = text;
	if (*text == '?')
		return; /* it did not return, or was begun anew */
	errno = 0;
	call->ret = strncmp(text, "0x", 2) == 0 ? (int64_t)strtoull(text, &end, 16)
						: strtoll(text, &end, 10);
	call->has_ret = end != text && errno == 0;
	name = end + strspn(end, " ");
	if (call->ret == -1 && *name == 'E')
		call->ret = -log_error_number(name, strcspn(name, " "), strerrorname_np);
}

const char *strace_parse(char *text, uint64_t begin_ns, struct strace_call *call)
{
	/* a call that strace could not look up is "????" */
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789?");
	char *rest, *last;
	uint64_t duration_ns;

	if (n == 0 || text[n] != '(')
		return "no call NAME(...)";
	call->name = text;
	text[n] = '\0';
	call->text = text + n + 1;
	rest = split_arguments(text + n + 1, call);
	if (!rest)
		return "the arguments do not end";
	rest[-1] = '\0';
	rest += strspn(rest, " ");
	if (*rest != '=')
		return "no \"= RETURNED\" behind the arguments";
	rest += 1 + strspn(rest + 1, " ");
	last = strrchr(rest, '<');
	if (last && last > rest && last[-1] == ' ') {
		const char *number = last + 1;

		/* it can be "<unavailable>" */
		if (log_seconds(&number, &duration_ns) && *number == '>' &&
		    __builtin_add_overflow(begin_ns, duration_ns, &call->end_ns))
			return "it lasts longer than any clock counts";
		last[-1] = '\0';
	}
	take_ret(call, rest);
	return NULL;
}

void strace_unescape(const char *from, const char *stops, char *to, size_t room)
{
	static const char letters[] = "abfnrtv", meant[] = "\a\b\f\n\r\t\v";
	size_t n = 0;

	for (; *from && !strchr(stops, *from) && n + 1 < room; from++) {
		const char *letter;
		unsigned value = 0;
		int digits = 0;

		if (*from != '\\' || !from[1]) {
			to[n++] = *from;
			continue;
		}
		from++;
		if (*from == 'x' && sscanf(from + 1, "%2x%n", &value, &digits) == 1) { /* -x */
			from += digits;
			to[n++] = (char)value;
			continue;
		}
		digits = 0;
		while (digits < 3 && from[digits] >= '0' && from[digits] <= '7')
			value = value * 8 + (unsigned)(from[digits++] - '0');
		letter = strchr(letters, *from);
		if (digits) {
			from += digits - 1;
			to[n++] = (char)value;
		} else {
			to[n++] = letter ? meant[letter - letters] : *from;
		}
	}
	to[n] = '\0';
}

void strace_string(const struct strace_call *call, unsigned i, char *to, size_t room)
{
	const char *from = i < call->n_arguments ? call->arguments[i] : "";

	to[0] = '\0';
	if (*from == '"')
		strace_unescape(from + 1, "\"", to, room);
}

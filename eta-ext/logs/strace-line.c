/* Source of strace's logs: what stands in a line before the call, and whether the line is whole. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-text.h"
#include "strace.h"

#include <string.h>

/* "12:34:56.789" or "1700000000.123456"; moves TEXT behind it. */
static bool take_time(char **text, struct strace_line *line)
{
	const char *at = *text;
	uint64_t parts[3] = { 0 };
	int n = 0;

	while (n < 3 && log_seconds(&at, &parts[n]) && ++n < 3 && *at == ':')
		at++;
	if (n == 3) {
		line->time_of_day = true;
		/* a second may be a leap second */
		if (parts[0] >= 24000000000000 || parts[1] >= 60000000000000 ||
		    parts[2] >= 61000000000)
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

/* The name of a thread behind its number (-Y), "<dd>", which is not ended yet. */
static char *take_comm(char *text, struct strace_line *line)
{
	char *end = *text == '<' ? strchr(text, '>') : NULL;

	if (!end)
		return text;
	line->comm = text + 1;
	return end + 1;
}

/* Behind "[pid 12]", "12" or neither; NULL: not understood. */
static char *take_thread(char *text, struct strace_line *line)
{
	bool brackets = strncmp(text, "[pid", 4) == 0;
	size_t digits;
	uint64_t tid;
	char *end, after;

	if (brackets)
		text += 4 + strspn(text + 4, " ");
	digits = strspn(text, "0123456789");
	after = text[digits];
	if (!brackets && (digits == 0 || (after != ' ' && after != '<')))
		return text;
	text[digits] = '\0';
	if (!log_u64(text, &tid) || tid > UINT32_MAX)
		tid = 0;
	text[digits] = after;
	if (tid == 0)
		return NULL;
	line->tid = (uint32_t)tid;
	end = take_comm(text + digits, line);
	if (brackets ? *end != ']' : *end != ' ')
		return NULL;
	end++;
	/* --secontext */
	if (end[strspn(end, " ")] == '[' && strchr(end, ']'))
		end = strchr(end, ']') + 1;
	return end;
}

/*
 * Behind what stands between time and call: the time since the line before ("-tt -r": "(+ 0.1)"),
 * number and address of the call ("[  1] [00007f01]", -n and -i).
 */
static char *skip_extras(char *text)
{
	char *end;

	text += strspn(text, " ");
	if (strncmp(text, "(+", 2) == 0 && (end = strchr(text, ')')))
		text = end + 1 + strspn(end + 1, " ");
	while (*text == '[') {
		end = text + 1 + strspn(text + 1, " 0123456789abcdef?");
		if (*end != ']')
			break;
		text = end + 1 + strspn(end + 1, " ");
	}
	return text;
}

const char *strace_take_line(char *text, struct strace_line *line)
{
	text = take_thread(text + strspn(text, " "), line);
	if (!text)
		return "no thread's number at its beginning";
	text += strspn(text, " ");
	line->text = text;
	if (!take_time(&text, line))
		return "no time before the call (record with strace -f -ttt -T)";
	line->text = skip_extras(text);
	if (*line->text == '\0')
		return "no call";
	if (line->comm)
		line->comm[strcspn(line->comm, ">")] = '\0';
	return NULL;
}

size_t strace_noted(const char *text)
{
	static const char note[] = "strace: Process ", end[] = " attached";
	size_t n = strlen(text);
	const char *at = n > strlen(end) && strcmp(text + n - strlen(end), end) == 0
				 ? strstr(text, note)
				 : NULL;

	return at ? (size_t)(at - text) : n;
}

size_t strace_interrupted(const char *text)
{
	static const char *const marks[] = { "<unfinished ...>", "<detached ...>" };
	size_t n = strlen(text);

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		size_t length = strlen(marks[i]);

		if (n >= length && strcmp(text + n - length, marks[i]) == 0)
			return n - length;
	}
	return strace_noted(text);
}

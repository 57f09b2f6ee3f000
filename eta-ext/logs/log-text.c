/* Logs: fields and numbers of a line. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "log-text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

char *log_trim(char *text)
{
	size_t n;

	while (blank(*text))
		text++;
	n = strlen(text);
	while (n > 0 && blank(text[n - 1]))
		text[--n] = '\0';
	return text;
}

size_t log_split(char *text, char separator, char **fields, size_t max)
{
	size_t n = 0;

	while (n < max) {
		char *end;

		if (separator == ' ') {
			while (blank(*text))
				text++;
			if (!*text)
				break;
			end = text + strcspn(text, " \t");
			if (!*end)
				end = NULL;
		} else {
			end = strchr(text, separator);
		}
		fields[n++] = text;
		if (!end)
			break;
		if (n < max)
			*end = '\0';
		text = end + 1;
	}
	for (size_t i = 0; i < n; i++)
		fields[i] = log_trim(fields[i]);
	return n;
}

bool log_u64(const char *text, uint64_t *number)
{
	int base = 10;
	char *end;

	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
		if (!strchr("0123456789abcdefABCDEF", *text))
			return false;
	} else if (*text < '0' || *text > '9') {
		return false;
	}
	errno = 0;
	*number = strtoull(text, &end, base);
	return *text && *end == '\0' && errno == 0;
}

bool log_u32(const char *text, uint32_t *number)
{
	uint64_t wide;

	if (!log_u64(text, &wide) || wide > UINT32_MAX)
		return false;
	*number = (uint32_t)wide;
	return true;
}

bool log_i64(const char *text, int64_t *number)
{
	bool negative = *text == '-';
	uint64_t magnitude;

	if (!log_u64(text + negative, &magnitude) || magnitude > INT64_MAX)
		return false;
	*number = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

/* What stands behind the '.' of seconds at *TEXT, if it is there, in ns; *TEXT moves behind it. */
static uint64_t take_fraction(const char **text)
{
	uint64_t ns = 0, digit = 100000000;
	const char *at = *text;

	if (*at == '.')
		for (at++; *at >= '0' && *at <= '9'; at++, digit /= 10)
			ns += digit * (uint64_t)(*at - '0');
	*text = at;
	return ns;
}

bool log_seconds(const char **text, uint64_t *ns)
{
	const uint64_t most = UINT64_MAX / 1000000000 - 1;
	const char *at = *text;
	uint64_t seconds = 0;

	if (*at < '0' || *at > '9')
		return false;
	for (; *at >= '0' && *at <= '9'; at++) {
		seconds = seconds * 10 + (uint64_t)(*at - '0');
		if (seconds > most)
			return false;
	}
	*ns = seconds * 1000000000 + take_fraction(&at);
	*text = at;
	return true;
}

bool log_time(const char *text, uint64_t *ns)
{
	return log_seconds(&text, ns) && *text == '\0';
}

bool log_date(const char *text, uint64_t *ns)
{
	struct tm tm = { 0 };
	uint64_t fraction;
	time_t seconds;

	text = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!text)
		return false;
	fraction = take_fraction(&text);
	seconds = timegm(&tm);
	if (seconds < 0 || (uint64_t)seconds > UINT64_MAX / 1000000000 - 1)
		return false;
	*ns = (uint64_t)seconds * 1000000000 + fraction;
	return *text == '\0' || strcmp(text, "Z") == 0;
}

int log_error_number(const char *text, size_t n, const char *(*text_of)(int error))
{
	enum { ERRORS = 134 }; /* Linux has no higher ones */

	for (int i = 1; i < ERRORS; i++) {
		const char *known = text_of(i);

		if (known && strlen(known) == n && strncmp(known, text, n) == 0)
			return i;
	}
	return EIO;
}

bool log_probe_lines(const unsigned char *head, size_t head_bytes, unsigned lines,
		     bool (*knows)(char *line))
{
	const char *at = (const char *)head, *end = at + head_bytes;
	char line[1024];

	while (lines > 0 && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((stop ? stop : end) - at);

		/*
		 * The head may end inside of a line, the file may not end in one. Of a long line
		 * its beginning is all that is shown.
		 */
		if (!stop && head_bytes >= 4096 && n < sizeof(line))
			break;
		if (n >= sizeof(line))
			n = sizeof(line) - 1;
		memcpy(line, at, n);
		line[n] = '\0';
		if (n > 0 && line[n - 1] == '\r')
			line[n - 1] = '\0';
		if (line[strspn(line, " \t")]) {
			if (knows(line))
				return true;
			lines--;
		}
		if (!stop)
			break;
		at = stop + 1;
	}
	return false;
}

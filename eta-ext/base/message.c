/* Messages of the library and the commands: one line each, to stderr or to a function. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "printable.h"

static eta_message_fn message_fn;
static void *message_arg;

void eta_set_message_fn(eta_message_fn fn, void *arg)
{
	message_fn = fn;
	message_arg = arg;
}

__attribute__((format(printf, 2, 0))) static void message(enum eta_severity severity,
							  const char *format, va_list ap)
{
	static const char *const prefix[] = { "", "warning: ", "" };
	char some[4096], program[64], *all = NULL;
	const char *text = some;
	va_list again;
	size_t n;

	/* what it names may be called anything, and be long */
	va_copy(again, ap);
	n = printable_format(some, sizeof(some), format, ap);
	if (n >= sizeof(some) && (all = malloc(n + 1))) {
		printable_format(all, n + 1, format, again);
		text = all;
	}
	va_end(again);
	if (message_fn) {
		message_fn(message_arg, severity, text);
	} else {
		eta_printable(program_invocation_short_name, program, sizeof(program));
		fprintf(stderr, "%s: %s%s\n", program, prefix[severity], text);
	}
	free(all);
}

#define MESSAGE(name, severity)                                                                    \
	void name(const char *format, ...)                                                         \
	{                                                                                          \
		va_list ap;                                                                        \
		va_start(ap, format);                                                              \
		message(severity, format, ap);                                                     \
		va_end(ap);                                                                        \
	}

MESSAGE(eta_note, ETA_NOTE)
MESSAGE(eta_warn, ETA_WARNING)
MESSAGE(eta_error, ETA_ERROR)

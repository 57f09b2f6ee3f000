/* What libotf2 says about errors, kept for our own messages. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "archive.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Small on purpose: it lives in every thread of a program that links the library. */
static __thread char first_error[200];
static __thread char taken[240];

__attribute__((format(printf, 6, 0))) static OTF2_ErrorCode
keep(void *arg, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code,
     const char *format, va_list ap)
{
	(void)arg;
	(void)file;
	(void)line;
	(void)function;
	/* The first one is nearest to the cause; what follows is each caller's echo. */
	if (!*first_error && code != OTF2_SUCCESS) {
		char detail[128] = "";

		if (format)
			vsnprintf(detail, sizeof(detail), format, ap);
		snprintf(first_error, sizeof(first_error), "%s%s%.100s",
			 OTF2_Error_GetDescription(code), *detail ? ": " : "", detail);
	}
	return code;
}

static void catch_once(void)
{
	OTF2_Error_RegisterCallback(keep, NULL);
}

void archive_errors_catch(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, catch_once);
	*first_error = '\0';
}

const char *archive_error_take(OTF2_ErrorCode code)
{
	snprintf(taken, sizeof(taken), "%s",
		 *first_error ? first_error : OTF2_Error_GetDescription(code));
	*first_error = '\0';
	for (char *c = taken; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return taken;
}

/* A library to preload in which the kernel says of its wall clock what the variable CLOCK_ERROR_US
 * says: how wrong it may be; "unknown": nobody synchronises it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

__attribute__((visibility("default"))) int adjtimex(struct timex *timex)
{
	const char *error = getenv("CLOCK_ERROR_US");

	memset(timex, 0, sizeof(*timex));
	if (!error || strcmp(error, "unknown") == 0) {
		timex->status = STA_UNSYNC;
		timex->maxerror = 16000000;
		return TIME_ERROR;
	}
	timex->maxerror = strtol(error, NULL, 10);
	return TIME_OK;
}

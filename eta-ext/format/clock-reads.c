/* Reads by which a guest's clock is compared with its host's, as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock-reads.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool clock_reads_is(const struct eta_property *property)
{
	return property->process == ETA_NONE &&
	       strncmp(property->name, CLOCK_READS_PROPERTY, strlen(CLOCK_READS_PROPERTY)) == 0;
}

bool clock_reads_parse(const char *text, uint32_t *dev, const char **next)
{
	int n = 0;

	*next = text;
	if (sscanf(text, "%" SCNu32 "%n", dev, &n) != 1)
		return false;
	*next += n;
	return true;
}

bool clock_reads_next(const char **next, struct clock_read *read)
{
	int n = 0;

	if (sscanf(*next, " %" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64 "%n", &read->offset,
		   &read->bytes, &read->begin_ns, &read->end_ns, &n) != 4 ||
	    read->end_ns <= read->begin_ns || !read->bytes)
		return false;
	*next += n;
	return true;
}

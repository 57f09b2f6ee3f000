/* How much of a machine's page cache was dirty, over time, as text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "dirty.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool dirty_is(const struct eta_property *property)
{
	return property->process == ETA_NONE &&
	       strncmp(property->name, DIRTY_PROPERTY, strlen(DIRTY_PROPERTY)) == 0;
}

/* Reads a number that ends with END; NULL: there is none. */
static const char *number(const char *text, char end, uint64_t *value)
{
	char *behind;

	if (!isdigit((unsigned char)*text))
		return NULL;
	*value = strtoull(text, &behind, 10);
	return *behind == end ? behind + 1 : NULL;
}

bool dirty_parse(const char *text, struct dirty_samples *samples)
{
	const char *host = strstr(text, DIRTY_HOST);

	samples->next = number(text, ' ', &samples->since_ns);
	samples->host = host ? host + strlen(DIRTY_HOST) : NULL;
	return samples->next && samples->host;
}

bool dirty_next(struct dirty_samples *samples, uint64_t *time_ns, uint64_t *bytes)
{
	uint64_t ms, kib;
	const char *at = number(samples->next, ':', &ms);

	at = at ? number(at, ' ', &kib) : NULL;
	/* what does not fit is damage */
	if (!at || ms > UINT64_MAX / 2000000 || samples->since_ns > UINT64_MAX / 2 ||
	    kib > UINT64_MAX / 1024)
		return false;
	*time_ns = samples->since_ns + ms * 1000000;
	*bytes = kib * 1024;
	samples->next = at;
	return true;
}

/* What threads waited for between their calls: others that were in one, as the kernel tracer saw.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAITED_BETWEEN "SCI::WAITED_BETWEEN" /* "CALL|NS|N|TID; ..." */

/* The last location with TID, of a thread itself; ETA_NONE: it is not in the trace. */
static uint32_t location_with(const struct eta_defs *defs, uint32_t tid)
{
	for (uint32_t i = defs->n_locations; tid && i-- > 0;)
		if (defs->locations[i].tid == tid && !defs->locations[i].track)
			return i;
	return ETA_NONE;
}

/* Reads ENTRY, which is modified. False: it is malformed, and ignored. */
static bool take(const struct eta_defs *defs, char *entry, struct between *b)
{
	uint32_t tid;
	int end = 0;
	char *numbers = strchr(entry, '|');

	if (!numbers)
		return false;
	*numbers++ = '\0';
	if (sscanf(numbers, "%" SCNu64 "|%" SCNu64 "|%" SCNu32 "%n", &b->ns, &b->n, &tid, &end) !=
		    3 ||
	    numbers[end] || !b->n || !*entry)
		return false;
	b->function = entry;
	b->longest = location_with(defs, tid);
	return true;
}

static int by_time(const void *left, const void *right)
{
	const struct between *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->function, b->function);
}

int engine_between(const struct engine *e, struct analysis *a)
{
	const char *text = engine_property(e, WAITED_BETWEEN);
	char *rest, *entry;
	size_t n = 1;

	for (const char *c = text; *c; c++)
		n += *c == ';';
	a->between = calloc(n, sizeof(*a->between));
	a->between_text = rest = strdup(text);
	if (!a->between || !rest)
		return -ENOMEM;
	while ((entry = strsep(&rest, ";"))) {
		entry += strspn(entry, " ");
		a->n_between += take(e->defs, entry, &a->between[a->n_between]);
	}
	qsort(a->between, a->n_between, sizeof(*a->between), by_time);
	return 0;
}

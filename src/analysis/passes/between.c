/* What threads waited for between their calls, and where they slept, as the kernel tracer saw. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/machines.h"

#define WAITED_BETWEEN "SCI::WAITED_BETWEEN" /* "CALL|NS|N|TID; ..." */
#define ASLEEP "SCI::ASLEEP_%u"		     /* the same, from 1 on: one may not be enough */

/*
 * The last location with TID, of a thread itself; ETA_NONE: it is not in the trace, or of several
 * machines.
 */
static uint32_t location_with(const struct eta_defs *defs, uint32_t tid)
{
	uint32_t found = ETA_NONE;

	for (uint32_t i = defs->n_locations; tid && i-- > 0;) {
		if (defs->locations[i].tid != tid || defs->locations[i].track)
			continue;
		if (found == ETA_NONE)
			found = i;
		else if (location_machine(defs, i) != location_machine(defs, found))
			return ETA_NONE;
	}
	return found;
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
	b->location = location_with(defs, tid);
	return true;
}

static int by_time(const void *left, const void *right)
{
	const struct between *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->function, b->function);
}

/* The entries of TEXT, which is modified and has to stay. *LIST: the caller frees it. */
static int read_entries(const struct engine *e, char *text, struct between **list, uint32_t *count)
{
	char *rest = text, *entry;
	size_t n = 1;

	for (const char *c = text; *c; c++)
		n += *c == ';';
	*list = calloc(n, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	while ((entry = strsep(&rest, ";"))) {
		entry += strspn(entry, " ");
		*count += take(e->defs, entry, &(*list)[*count]);
	}
	qsort(*list, *count, sizeof(**list), by_time);
	return 0;
}

/* All properties of ASLEEP, one behind the other; NULL without memory. The caller frees it. */
static char *asleep_text(const struct engine *e)
{
	char *text = strdup(""), *longer, name[32];
	const char *part;

	for (unsigned i = 1; text; i++) {
		snprintf(name, sizeof(name), ASLEEP, i);
		part = engine_property(e, name);
		if (!*part)
			break;
		if (asprintf(&longer, "%s%s;", text, part) < 0)
			longer = NULL;
		free(text);
		text = longer;
	}
	return text;
}

int engine_between(const struct engine *e, struct analysis *a)
{
	int rc;

	a->between_text = strdup(engine_property(e, WAITED_BETWEEN));
	a->asleep_text = asleep_text(e);
	if (!a->between_text || !a->asleep_text)
		return -ENOMEM;
	rc = read_entries(e, a->between_text, &a->between, &a->n_between);
	return rc ? rc : read_entries(e, a->asleep_text, &a->asleep, &a->n_asleep);
}

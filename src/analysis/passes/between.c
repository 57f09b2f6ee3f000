/* What threads waited for between their calls, and where they slept, as the kernel tracer saw. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/search.h"
#include "src/common/machines.h"

#define WAITED_BETWEEN "SCI::WAITED_BETWEEN" /* "CALL|NS|N|TID; ..." */
#define ASLEEP "SCI::ASLEEP_%u"		     /* the same, from 1 on: one may not be enough */

/* The threads themselves, by tid and in the order of the trace. */
struct threads {
	const struct eta_defs *defs;
	uint32_t *location, n;
};

static int by_tid(const void *left, const void *right, void *arg)
{
	const struct eta_location *locations = arg;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (locations[a].tid != locations[b].tid)
		return locations[a].tid < locations[b].tid ? -1 : 1;
	return (a > b) - (a < b);
}

static int threads_make(struct threads *t, const struct eta_defs *defs)
{
	t->defs = defs;
	t->n = 0;
	t->location = malloc(((size_t)defs->n_locations + 1) * sizeof(*t->location));
	if (!t->location)
		return -ENOMEM;
	for (uint32_t i = 0; i < defs->n_locations; i++)
		if (defs->locations[i].tid && !defs->locations[i].track)
			t->location[t->n++] = i;
	qsort_r(t->location, t->n, sizeof(*t->location), by_tid, defs->locations);
	return 0;
}

/* The last with TID; ETA_NONE: it is not in the trace, or of several machines. */
static uint32_t location_with(const struct threads *t, uint32_t tid)
{
	const struct eta_location *l = t->defs->locations;
	uint32_t first = PARTITION_POINT(0U, t->n, i, (l[t->location[i]].tid < tid));
	uint32_t last = PARTITION_POINT(first, t->n, i, (l[t->location[i]].tid <= tid));

	if (first == last)
		return ETA_NONE;
	for (uint32_t i = first + 1; i < last; i++)
		if (location_machine(t->defs, t->location[i]) !=
		    location_machine(t->defs, t->location[first]))
			return ETA_NONE;
	return t->location[last - 1];
}

/* Reads ENTRY, which is modified. False: it is malformed, and ignored. */
static bool take(const struct threads *t, char *entry, struct between *b)
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
	b->location = location_with(t, tid);
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
static int read_entries(const struct threads *t, char *text, struct between **list, uint32_t *count)
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
		*count += take(t, entry, &(*list)[*count]);
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
	struct threads t;
	int rc;

	a->between_text = strdup(engine_property(e, WAITED_BETWEEN));
	a->asleep_text = asleep_text(e);
	if (!a->between_text || !a->asleep_text)
		return -ENOMEM;
	if (!*a->between_text && !*a->asleep_text)
		return 0;
	rc = threads_make(&t, e->defs);
	if (rc)
		return rc;
	rc = read_entries(&t, a->between_text, &a->between, &a->n_between);
	if (rc == 0)
		rc = read_entries(&t, a->asleep_text, &a->asleep, &a->n_asleep);
	free(t.location);
	return rc;
}

int engine_reaped(struct engine *e, const struct analysis *a)
{
	uint64_t *ns = calloc((size_t)e->defs->n_locations + 1, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_asleep; i++)
		if (a->asleep[i].location != ETA_NONE && call_reaps(a->asleep[i].function))
			ns[a->asleep[i].location] += a->asleep[i].ns;
	for (uint32_t l = 0; l < e->defs->n_locations; l++)
		if (ns[l] > e->locations[l].reaped_ns)
			e->locations[l].reaped_ns = ns[l];
	free(ns);
	return 0;
}

void between_free(struct analysis *a)
{
	free(a->between);
	free(a->between_text);
	free(a->asleep);
	free(a->asleep_text);
}

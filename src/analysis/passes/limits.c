/* The limits that threads waited for, as the kernel tracer recorded them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMITS "SCI::LIMITS"	       /* "REGION|NS|WHAT; ..." */
#define EVICTED_FOR "SCI::EVICTED_FOR" /* "PAGES|WHAT": most of them */
#define OVERWRITTEN "SCI::RECORDS_OVERWRITTEN"
#define SUSPENDED "SCI::SUSPENDED_NS"

const char *engine_property(const struct engine *e, const char *name)
{
	const struct eta_defs *defs = e->defs;

	for (uint32_t i = 0; i < defs->n_properties; i++)
		if (defs->properties[i].process == ETA_NONE &&
		    strcmp(defs->properties[i].name, name) == 0)
			return defs->properties[i].value;
	return "";
}

static int by_time(const void *left, const void *right)
{
	const struct limit *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->what, b->what);
}

/* Reads TEXT, which is modified; malformed entries are ignored. */
static void take(struct analysis *a, char *text)
{
	char *rest = text, *entry, *ns, *what, *end;

	while ((entry = strsep(&rest, ";"))) {
		struct limit *l = &a->limits[a->n_limits];

		entry += strspn(entry, " ");
		ns = strchr(entry, '|');
		what = ns ? strchr(ns + 1, '|') : NULL;
		if (!what)
			continue;
		*ns++ = *what++ = '\0';
		l->ns = strtoull(ns, &end, 10);
		eta_region_name_split(entry, &l->level, &l->reason);
		if (*end || end == ns || l->level == ETA_LEVEL_NONE || l->reason == ETA_REASON_NONE)
			continue;
		l->what = what;
		a->n_limits++;
	}
}

static int add_advice(struct analysis *a, const char *what)
{
	if (asprintf(&a->limit_advice, "%s Here it is %s.", a->verdict.advice, what) < 0) {
		a->limit_advice = NULL;
		return -ENOMEM;
	}
	a->verdict.advice = a->limit_advice;
	return 0;
}

/* If the verdict is eviction by others, puts the control group whose memory was full into the
 * advice. */
static int name_evicting(const struct engine *e, struct analysis *a)
{
	const char *what = strchr(engine_property(e, EVICTED_FOR), '|');

	if (!what || strcmp(a->verdict.level, eta_level_name(ETA_LEVEL_PAGECACHE)) != 0 ||
	    strcmp(a->verdict.reason, eta_reason_name(ETA_REASON_EVICTION)) != 0)
		return 0;
	return add_advice(a, what + 1);
}

/* If the verdict is a limit, puts that limit into the advice. */
static int name_limit(struct analysis *a)
{
	for (uint32_t i = 0; i < a->n_limits; i++) {
		const struct limit *l = &a->limits[i];

		if (strcmp(eta_level_name(l->level), a->verdict.level) != 0 ||
		    strcmp(eta_reason_name(l->reason), a->verdict.reason) != 0)
			continue;
		return add_advice(a, l->what);
	}
	return 0;
}

int engine_limits(const struct engine *e, struct analysis *a)
{
	const char *text = engine_property(e, LIMITS);
	size_t n = 1;

	for (const char *c = text; *c; c++)
		n += *c == ';';
	a->limits = calloc(n, sizeof(*a->limits));
	a->limits_text = strdup(text);
	a->suspended_ns = strtoull(engine_property(e, SUSPENDED), NULL, 10);
	a->overwritten = strtoull(engine_property(e, OVERWRITTEN), NULL, 10);
	a->light = e->regions.light;
	if (!a->limits || !a->limits_text)
		return -ENOMEM;
	take(a, a->limits_text);
	qsort(a->limits, a->n_limits, sizeof(*a->limits), by_time);
	return a->verdict.own_limit ? name_limit(a) : name_evicting(e, a);
}

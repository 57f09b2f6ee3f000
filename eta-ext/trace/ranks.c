/* Which ranks of MPI jobs the processes of a trace are, as their launcher gives them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "source.h"

/* A process that called exec has several values, a line each: the first one. */
static bool read_number(const char *text, uint32_t *number)
{
	char *end;
	unsigned long value;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || value > INT32_MAX || (*end && *end != '\n'))
		return false;
	*number = (uint32_t)value;
	return true;
}

struct rank *ranks_new(const struct eta_defs *defs)
{
	struct rank *ranks = calloc((size_t)defs->n_processes + 1, sizeof(*ranks));

	for (uint32_t p = 0; ranks && p < defs->n_processes; p++)
		ranks[p].job = "";
	for (uint32_t i = 0; ranks && i < defs->n_properties; i++) {
		const struct eta_property *p = &defs->properties[i];
		struct rank *r;

		if (p->process >= defs->n_processes)
			continue;
		r = &ranks[p->process];
		if (strcmp(p->name, RANK_PROPERTY) == 0)
			r->known = read_number(p->value, &r->rank);
		else if (strcmp(p->name, RANKS_PROPERTY) == 0)
			read_number(p->value, &r->ranks);
		else if (strcmp(p->name, JOB_PROPERTY) == 0)
			r->job = p->value;
	}
	return ranks;
}

int ranks_name_threads(struct eta_trace *trace)
{
	struct rank *ranks = ranks_new(&trace->defs);
	int rc = ranks ? 0 : -ENOMEM;

	for (uint32_t l = 0; rc == 0 && l < trace->defs.n_locations; l++) {
		struct eta_location *location = &trace->defs.locations[l];
		const char *tid = strstr(location->name, " tid ");
		char name[256];

		if (location->kind != ETA_LOCATION_THREAD || location->process == ETA_NONE ||
		    !ranks[location->process].known || !tid || strstr(location->name, " rank "))
			continue;
		snprintf(name, sizeof(name), "%.*s rank %" PRIu32 "%s", (int)(tid - location->name),
			 location->name, ranks[location->process].rank, tid);
		location->name = eta_trace_string(trace, name);
		if (!location->name)
			rc = -ENOMEM;
	}
	free(ranks);
	return rc;
}

static int by_job(const void *left, const void *right)
{
	const struct rank *a = left, *b = right;
	int order = strcmp(a->job, b->job);

	return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* The N processes are all that is there of a job, by rank. */
static uint64_t missing_of(const struct rank *of_job, size_t n)
{
	enum { NAMED = 8 };
	uint32_t ranks = 0, next = 0;
	uint64_t missing = 0;
	char list[128];
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		if (of_job[i].ranks > ranks)
			ranks = of_job[i].ranks;
	for (size_t i = 0; i <= n; i++) {
		uint32_t until = i < n ? of_job[i].rank : ranks;

		for (; next < until; next++)
			if (++missing <= NAMED)
				used += (size_t)snprintf(list + used, sizeof(list) - used,
							 "%s%" PRIu32, used ? ", " : "", next);
		if (next == until)
			next++;
	}
	if (missing)
		eta_warn("job %s: %" PRIu64 " of its %" PRIu32 " ranks left no trace: %s%s",
			 *of_job->job ? of_job->job : "without a name", missing, ranks, list,
			 missing > NAMED ? ", ..." : "");
	return missing;
}

uint64_t ranks_missing(const struct eta_defs *defs)
{
	struct rank *ranks = ranks_new(defs);
	size_t n = 0;
	uint64_t missing = 0;

	for (uint32_t p = 0; ranks && p < defs->n_processes; p++)
		if (ranks[p].known)
			ranks[n++] = ranks[p];
	if (n)
		qsort(ranks, n, sizeof(*ranks), by_job);
	for (size_t first = 0, next; first < n; first = next) {
		for (next = first + 1; next < n; next++)
			if (strcmp(ranks[next].job, ranks[first].job) != 0)
				break;
		missing += missing_of(&ranks[first], next - first);
	}
	free(ranks);
	return missing;
}

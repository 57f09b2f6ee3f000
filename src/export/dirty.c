/* How much of the machines' page caches was dirty, for the counters of viewers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "dirty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/format/samples.h"
#include "src/common/machines.h"

struct sample {
	uint32_t location;
	uint64_t time_ns, bytes;
};

struct looks {
	struct sample *list;
	size_t n, room;
};

/* The first location of HOST's machine; the first of all where none is. */
static uint32_t location_of(const struct eta_defs *defs, const char *host)
{
	uint32_t machine = eta_machine(defs, host);

	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (location_machine(defs, l) == machine)
			return l;
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct sample *a = left, *b = right;

	if (a->location != b->location)
		return a->location > b->location ? 1 : -1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool is_dirty(const struct eta_property *property)
{
	return samples_kind(property) == SAMPLES_DIRTY;
}

static int gather(const struct export *e, struct looks *samples)
{
	for (uint32_t p = 0; p < e->defs->n_properties; p++) {
		struct samples part;
		struct sample sample;

		if (!is_dirty(&e->defs->properties[p]) ||
		    !samples_parse(e->defs->properties[p].value, &part))
			continue;
		sample.location = location_of(e->defs, part.host);
		while (samples_dirty(&part, &sample.time_ns, &sample.bytes)) {
			if (!ARRAY_FITS(samples->list, samples->n + 1, samples->room))
				return -ENOMEM;
			samples->list[samples->n++] = sample;
		}
	}
	return 0;
}

int export_dirty(const struct export *e, dirty_fn fn, void *arg)
{
	struct looks samples = { 0 };
	int rc = e->defs->n_locations ? gather(e, &samples) : 0;

	if (rc)
		eta_error("not enough memory for %zu samples of the page cache", samples.n);
	if (samples.n)
		qsort(samples.list, samples.n, sizeof(*samples.list), by_time);
	for (size_t i = 0; rc == 0 && i < samples.n; i++) {
		const struct sample *s = &samples.list[i], *next = s + 1;

		/* of those before the first event the last: it holds then */
		if (i + 1 < samples.n && next->location == s->location &&
		    next->time_ns <= e->start_ns)
			continue;
		rc = fn(arg, s->location, s->time_ns > e->start_ns ? s->time_ns : e->start_ns,
			s->bytes);
	}
	free(samples.list);
	return rc;
}

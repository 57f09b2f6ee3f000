/* The machines of a trace: to which one something belongs, and its name. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "machines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/search.h"
#include "eta-ext/format/archive.h"

bool machines_differ(const struct eta_defs *defs)
{
	return machines_several(defs);
}

const char *machine_name(const struct eta_defs *defs, uint32_t machine)
{
	for (uint32_t p = machine; p < defs->n_processes; p++)
		if (*defs->processes[p].host)
			return defs->processes[p].host;
	return "";
}

const char *location_host(const struct eta_defs *defs, uint32_t location)
{
	const struct eta_location *l = &defs->locations[location];

	if (l->process != ETA_NONE)
		return defs->processes[l->process].host;
	return l->kind == ETA_LOCATION_DEVICE ? l->host : "";
}

uint32_t location_machine(const struct eta_defs *defs, uint32_t location)
{
	return eta_machine(defs, location_host(defs, location));
}

uint32_t *machines_new(const struct eta_defs *defs, uint32_t *n)
{
	uint32_t *machines = calloc((size_t)defs->n_locations + 1, sizeof(*machines));
	uint32_t *numbers = calloc((size_t)defs->n_processes + 1, sizeof(*numbers));
	uint32_t machine = 0;
	const char *host = NULL;

	*n = 0;
	for (uint32_t l = 0; machines && numbers && l < defs->n_locations; l++) {
		const char *its = location_host(defs, l);

		/* equal texts are one */
		if (its != host) {
			host = its;
			machine = eta_machine(defs, host);
		}
		if (!numbers[machine])
			numbers[machine] = ++*n;
		machines[l] = numbers[machine] - 1;
	}
	if (!numbers) {
		free(machines);
		machines = NULL;
	}
	free(numbers);
	return machines;
}

static int by_dev(const void *a, const void *b)
{
	const struct device_location *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->location > y->location) - (x->location < y->location);
}

int device_locations_new(const struct eta_defs *defs, struct device_locations *out)
{
	out->n = 0;
	out->list = calloc((size_t)defs->n_locations + 1, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_DEVICE)
			out->list[out->n++] = (struct device_location){
				machine_dev(location_machine(defs, l), defs->locations[l].dev), l
			};
	qsort(out->list, out->n, sizeof(*out->list), by_dev);
	return 0;
}

uint32_t device_location(const struct device_locations *devices, uint32_t machine, uint32_t dev)
{
	uint64_t wanted = machine_dev(machine, dev);
	uint32_t low = PARTITION_POINT((uint32_t)0, devices->n, i, devices->list[i].dev <= wanted);

	return dev && low && devices->list[low - 1].dev == wanted ? devices->list[low - 1].location
								  : ETA_NONE;
}

struct machine_suffix machine_suffix(const struct eta_defs *defs, const char *host)
{
	struct machine_suffix suffix = { "" };

	if (*host && machines_differ(defs))
		snprintf(suffix.text, sizeof(suffix.text), " on %.64s", host);
	return suffix;
}

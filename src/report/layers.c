/* Guests with their hosts: where the time of each went, inside and outside. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "layers.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/archive.h"
#include "src/common/machines.h"

static void text_of(const json_t *told, const char *key, char *text, size_t size)
{
	const char *value = json_string_value(json_object_get(told, key));

	snprintf(text, size, "%s", value ? value : "");
}

static void take_property(const struct analysis *a, const struct eta_property *property,
			  struct layers *layers)
{
	json_t *told = json_loads(property->value, 0, NULL);

	*layers = (struct layers){ 0 };
	text_of(told, "guest", layers->guest, sizeof(layers->guest));
	layers->machine = eta_machine(a->defs, layers->guest);
	text_of(told, "host", layers->host, sizeof(layers->host));
	text_of(told, "name", layers->name, sizeof(layers->name));
	layers->pid = (uint32_t)json_integer_value(json_object_get(told, "pid"));
	json_decref(told);
}

static void add_thread(struct layers *layers, const struct thread_score *t)
{
	for (int c = 0; c < N_CELLS; c++)
		layers->inside_ns[cell_table[c].level] += (int64_t)t->time_ns[c];
	for (int l = 0; l < ETA_N_LEVELS; l++) {
		layers->inside_ns[l] -= (int64_t)t->host_ns[l];
		layers->outside_ns[l] += (int64_t)t->host_ns[l];
	}
}

static int by_name(const void *a, const void *b)
{
	const struct layers *x = a, *y = b;

	return strcmp(x->guest, y->guest);
}

int layers_new(const struct analysis *a, struct layers **list, uint32_t *n)
{
	const struct eta_defs *defs = a->defs;

	*n = 0;
	*list = calloc((size_t)defs->n_properties + 1, sizeof(**list));
	if (!*list)
		return -ENOMEM;
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (machines_is_guest(&defs->properties[p]))
			take_property(a, &defs->properties[p], &(*list)[(*n)++]);
	for (uint32_t i = 0; *n && i < a->n_threads; i++) {
		uint32_t machine = location_machine(defs, a->threads[i].location);

		for (uint32_t g = 0; a->threads[i].scored && g < *n; g++)
			if ((*list)[g].machine == machine)
				add_thread(&(*list)[g], &a->threads[i]);
	}
	if (*n)
		qsort(*list, *n, sizeof(**list), by_name);
	return 0;
}

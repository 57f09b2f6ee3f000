/* Prints the messages that the tracer recorded in the traced processes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "tracer-warnings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME "WARNING_" /* and a number: plugins/posixio/spool/sink.c */

/* Behind "IMAGE_N::" where the process has called exec since. */
static bool is_warning(const struct eta_property *property)
{
	return property->process != ETA_NONE && strstr(property->name, NAME);
}

/* By text, and the order of the trace. */
static int by_text(const void *left, const void *right)
{
	const struct eta_property *a = *(const struct eta_property *const *)left;
	const struct eta_property *b = *(const struct eta_property *const *)right;
	int order = strcmp(a->value, b->value);

	return order ? order : (a > b) - (a < b);
}

void tracer_warnings_print(const struct eta_defs *defs)
{
	const struct eta_property **warnings =
		calloc((size_t)defs->n_properties + 1, sizeof(*warnings));
	size_t n = 0;

	for (uint32_t i = 0; warnings && i < defs->n_properties; i++)
		if (is_warning(&defs->properties[i]))
			warnings[n++] = &defs->properties[i];
	if (n)
		qsort(warnings, n, sizeof(*warnings), by_text);
	for (size_t first = 0, next; first < n; first = next) {
		const struct eta_process *process = &defs->processes[warnings[first]->process];

		for (next = first + 1; next < n; next++)
			if (strcmp(warnings[next]->value, warnings[first]->value) != 0)
				break;
		if (next == first + 1)
			eta_warn("pid %u (%s): %s", process->pid, process->name,
				 warnings[first]->value);
		else
			eta_warn("pid %u (%s) and %zu more: %s", process->pid, process->name,
				 next - first - 1, warnings[first]->value);
	}
	free(warnings);
}

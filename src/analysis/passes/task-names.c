/* Names of untraced tasks that are too many to have a location each. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes.h"

/* For each machine "TID|NAME;...". What no ';' ends was cut off. */
#define UNTRACED_TASKS "SCI::UNTRACED_TASKS"

static int by_tid(const void *a, const void *b)
{
	const struct task_name *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* An id that stands for two names, of two machines or one after the other, says nothing. */
static uint32_t leave_sure(struct task_name *list, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0, end; i < n; i = end) {
		bool sure = true;

		for (end = i + 1; end < n && list[end].tid == list[i].tid; end++)
			sure &= strcmp(list[end].name, list[i].name) == 0;
		if (sure)
			list[kept++] = list[i];
	}
	return kept;
}

int engine_task_names(const struct engine *e, struct analysis *a)
{
	const char *text = engine_property(e, UNTRACED_TASKS);
	size_t room = 1;

	for (const char *at = text; *at; at++)
		room += *at == ';';
	a->task_names = calloc(room, sizeof(*a->task_names));
	for (const char *end; a->task_names && (end = strchr(text, ';')); text = end + 1) {
		struct task_name *name = &a->task_names[a->n_task_names];

		if (sscanf(text, " %" SCNu32 "|%15[^;]", &name->tid, name->name) != 2)
			continue;
		snprintf(name->thread, sizeof(name->thread), "%s tid %" PRIu32, name->name,
			 name->tid);
		a->n_task_names++;
	}
	if (!a->task_names)
		return -ENOMEM;
	qsort(a->task_names, a->n_task_names, sizeof(*a->task_names), by_tid);
	a->n_task_names = leave_sure(a->task_names, a->n_task_names);
	return 0;
}

const struct task_name *analysis_task_name(const struct analysis *a, uint32_t tid)
{
	const struct task_name wanted = { .tid = tid };

	return a->n_task_names
		       ? bsearch(&wanted, a->task_names, a->n_task_names, sizeof(wanted), by_tid)
		       : NULL;
}

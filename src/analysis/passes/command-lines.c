/* The command lines of processes whose name alone does not distinguish them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct called {
	const char *name, *line;
	uint32_t process;
};

static int by_line(const void *a, const void *b)
{
	const struct called *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (!order)
		order = strcmp(x->line, y->line);
	return order ? order : (x->process > y->process) - (x->process < y->process);
}

static size_t same_begin(const struct called *a, const struct called *b)
{
	size_t n = 0;

	if (strcmp(a->name, b->name) != 0)
		return 0;
	while (a->line[n] && a->line[n] == b->line[n])
		n++;
	return n;
}

/* The place two words before character LENGTH of LINE, so that what differs has some context. */
static const char *some_before(const char *line, size_t length)
{
	for (int words = 0; words < 2 && length; words++) {
		length -= line[length - 1] == ' ';
		while (length && line[length - 1] != ' ')
			length--;
	}
	return line + length;
}

/*
 * Finds what distinguishes processes of one name, which are sorted: what a neighbour begins with,
 * too, is left out.
 */
static void find_differences(struct analysis *a, const struct called *list, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		bool before = i && strcmp(list[i - 1].name, list[i].name) == 0;
		bool after = i + 1 < n && strcmp(list[i + 1].name, list[i].name) == 0;
		size_t same = before ? same_begin(&list[i - 1], &list[i]) : 0;
		size_t other = after ? same_begin(&list[i], &list[i + 1]) : 0;

		if (!*list[i].line || (!before && !after))
			continue;
		a->command_lines[list[i].process] =
			some_before(list[i].line, same > other ? same : other);
		a->any_command_line = true;
	}
}

int analysis_command_lines(struct analysis *a)
{
	const struct eta_defs *defs = a->defs;
	struct called *list = calloc(defs->n_processes + 1, sizeof(*list));

	a->command_lines = calloc(defs->n_processes + 1, sizeof(*a->command_lines));
	if (!list || !a->command_lines) {
		free(list);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < defs->n_processes; i++)
		list[i] = (struct called){ defs->processes[i].name, "", i };
	for (uint32_t i = 0; i < defs->n_properties; i++) {
		const struct eta_property *p = &defs->properties[i];

		if (p->process < defs->n_processes && strcmp(p->name, "ARGV") == 0)
			list[p->process].line = p->value;
	}
	qsort(list, defs->n_processes, sizeof(*list), by_line);
	find_differences(a, list, defs->n_processes);
	free(list);
	return 0;
}

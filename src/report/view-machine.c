/* The machines: hosts and their guests, with the time of each in operations inside and outside. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "layers.h"
#include "process-sums.h"

#define PROCESS ((const struct process_sum *)((const struct score_row *)row)->item)

/* The layers of the guest that the row is of; false: it is none. */
static bool find_layers(const void *context, const void *row, struct layers *out)
{
	const struct analysis *a = context;
	struct layers *list;
	uint32_t n, machine = eta_machine(a->defs, PROCESS->process->host);
	bool found = false;

	if (layers_new(a, &list, &n) < 0)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (list[i].machine == machine) {
			*out = list[i];
			found = true;
		}
	free(list);
	return found;
}

static int64_t sum_of(const int64_t level_ns[ETA_N_LEVELS])
{
	int64_t sum = 0;

	for (int l = 0; l < ETA_N_LEVELS; l++)
		sum += level_ns[l];
	return sum;
}

static void get_inside(const void *context, const void *row, struct value *v)
{
	struct layers layers;

	if (find_layers(context, row, &layers))
		value_whole(v, sum_of(layers.inside_ns));
}

static void get_outside(const void *context, const void *row, struct value *v)
{
	struct layers layers;

	if (find_layers(context, row, &layers))
		value_whole(v, sum_of(layers.outside_ns));
}

static void get_guest_of(const void *context, const void *row, struct value *v)
{
	struct layers layers;

	if (!find_layers(context, row, &layers))
		return;
	snprintf(v->shown.text, sizeof(v->shown.text), "%.40s (QEMU pid %u) on %.48s", layers.name,
		 layers.pid, layers.host);
	v->known = true;
}

static const struct column columns[] = {
	PROCESS_NUMBERS,
	{ "inside", "in L1", UNIT_NS, 3, get_inside,
	  "of a guest: time in operations that it spent itself" },
	{ "outside", "in L0", UNIT_NS, 3, get_outside,
	  "of a guest: time in operations that its host and QEMU took" },
	{ "processes", "processes", UNIT_COUNT, 4, NULL, "processes seen on it",
	  ITEM(struct process_sum, processes) },
	{ "threads", "threads", UNIT_COUNT, 5, NULL, "threads with I/O",
	  ITEM(struct process_sum, threads) },
	SCORE_VERDICT,
	{ "machine", "machine", UNIT_TEXT, 0, process_sums_get_host, "the name of the machine" },
	{ "guest_of", "guest of", UNIT_TEXT, 0, get_guest_of,
	  "the virtual machine whose guest it is, and where that ran" },
	SCORE_DETAILS,
};

static int fill(const struct analysis *a, struct table *t)
{
	return view_node.fill(a, t);
}

const struct view view_machine = {
	.name = "machine", .rows = "machines", COLUMNS_OF(columns), .of_jobs = true, .fill = fill
};

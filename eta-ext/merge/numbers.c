/* Threads of pid namespaces: from their numbers in there to those that the outside knows. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"
#include "eta-ext/base/search.h"

#include <errno.h>
#include <stdlib.h>

static int by_inner(const void *left, const void *right)
{
	const struct merge_number *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->ns_tid != b->ns_tid)
		return a->ns_tid < b->ns_tid ? -1 : 1;
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

bool merge_is_inside(const struct eta_trace *trace, const struct merge_input *input,
		     uint32_t location)
{
	const struct eta_location *l = &input->trace->defs.locations[location];
	const struct eta_process *process;

	/* the one input that nothing changes of has no maps */
	if (!input->processes || l->process == ETA_NONE || l->kind == ETA_LOCATION_DEVICE)
		return false;
	process = &input->trace->defs.processes[l->process];
	return eta_inner_numbers(process) &&
	       trace->defs.processes[input->processes[l->process]].pid != process->pid;
}

/* Both tids of the thread, as LOCATION of INPUT has them; false: it has not. */
static bool find_number(const struct merge_input *input, uint32_t location,
			struct merge_number *number)
{
	const struct eta_location *l = &input->trace->defs.locations[location];

	if (l->process == ETA_NONE || !l->tid || !l->ns_tid || l->track ||
	    eta_inner_numbers(&input->trace->defs.processes[l->process]))
		return false;
	*number = (struct merge_number){
		.process = input->processes[l->process],
		.ns_tid = l->ns_tid,
		.tid = l->tid,
		.start_ns = l->start_ns ? eta_clock_convert(&input->clock, l->start_ns) : 0,
	};
	return true;
}

int merge_numbers(const struct eta_trace *trace, struct merge *merge)
{
	size_t room = 0;
	bool sought = false;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];

		room += input->trace->defs.n_locations;
		for (uint32_t l = 0; !sought && l < input->trace->defs.n_locations; l++)
			sought = merge_is_inside(trace, input, l);
	}
	if (!sought)
		return 0;
	merge->numbers = calloc(room, sizeof(*merge->numbers));
	if (!merge->numbers)
		return -ENOMEM;
	for (size_t i = 0; i < merge->n_inputs; i++)
		for (uint32_t l = 0; l < merge->inputs[i].trace->defs.n_locations; l++)
			merge->n_numbers += find_number(&merge->inputs[i], l,
							&merge->numbers[merge->n_numbers]);
	qsort(merge->numbers, merge->n_numbers, sizeof(*merge->numbers), by_inner);
	return 0;
}

uint32_t merge_outer_tid(const struct merge *merge, uint32_t process, uint32_t ns_tid,
			 uint64_t time_ns)
{
	const struct merge_number *numbers = merge->numbers;
	size_t low =
		PARTITION_POINT((size_t)0, merge->n_numbers, i,
				numbers[i].process < process || (numbers[i].process == process &&
								 numbers[i].ns_tid < ns_tid));
	uint32_t found = 0;

	/* the last one that had begun, else the first */
	for (; low < merge->n_numbers; low++) {
		const struct merge_number *n = &merge->numbers[low];

		if (n->process != process || n->ns_tid != ns_tid ||
		    (found && n->start_ns > time_ns))
			break;
		found = n->tid;
	}
	return found;
}

/* Inputs that do not say which machine they are of: the one that has their threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process of INPUT that says where it ran; NULL: none does. */
static const struct eta_process *home_of(const struct merge_input *input)
{
	for (uint32_t p = 0; p < input->trace->defs.n_processes; p++) {
		const struct eta_process *process = &input->trace->defs.processes[p];

		if (*process->host || *process->boot)
			return process;
	}
	return NULL;
}

static bool same_home(const struct eta_process *a, const struct eta_process *b)
{
	if (*a->boot && *b->boot)
		return strcmp(a->boot, b->boot) == 0;
	return strcmp(a->host, b->host) == 0;
}

/* Does LIST, of pairs whose second is a thread, have TID? */
static bool has_thread(const json_t *list, uint32_t tid)
{
	const json_t *pair;
	size_t i;

	json_array_foreach (list, i, pair)
		if (json_integer_value(json_array_get(pair, 1)) == (json_int_t)tid)
			return true;
	return false;
}

uint32_t merge_vm_pid(const struct eta_property *property)
{
	unsigned pid;
	int n = 0;

	if (property->process != ETA_NONE ||
	    sscanf(property->name, MERGE_VM_PREFIX "%u%n", &pid, &n) != 1 || property->name[n])
		return 0;
	return pid;
}

static bool is_vm_thread(const struct eta_property *property, uint32_t tid)
{
	uint32_t pid = merge_vm_pid(property);
	json_t *vm = pid && pid != tid ? json_loads(property->value, 0, NULL) : NULL;
	bool found = pid == tid || has_thread(json_object_get(vm, "vcpus"), tid) ||
		     has_thread(json_object_get(vm, "iothreads"), tid);

	json_decref(vm);
	return pid && found;
}

/* What can tell where an input belongs, the surest first. */
enum sign {
	SIGN_VM_THREADS, /* its threads are those of a machine's virtual machines */
	SIGN_THREADS,	 /* the machine has threads of these numbers */
	SIGN_VMS,	 /* a log of QEMU's, and the machine has virtual machines */
	N_SIGNS,
};

/* Has INPUT the thread TID (of PID, where that is known)? */
static bool knows(const struct merge_input *input, enum sign sign, uint32_t pid, uint32_t tid)
{
	const struct eta_defs *defs = &input->trace->defs;

	for (uint32_t i = 0; sign == SIGN_VM_THREADS && i < defs->n_properties; i++)
		if (is_vm_thread(&defs->properties[i], tid))
			return true;
	for (uint32_t l = 0; sign == SIGN_THREADS && l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];
		uint32_t its =
			location->process == ETA_NONE ? 0 : defs->processes[location->process].pid;

		if (location->tid == tid && (!pid || !its || pid == its))
			return true;
	}
	return false;
}

/* How much SIGN says for LOST being of the machine of INPUT. */
static uint64_t weigh(const struct merge_input *lost, const struct merge_input *input,
		      enum sign sign)
{
	const struct eta_defs *defs = &lost->trace->defs;
	uint64_t n = 0;

	if (sign == SIGN_VMS) {
		for (uint32_t i = 0; i < input->trace->defs.n_properties; i++)
			n += merge_vm_pid(&input->trace->defs.properties[i]) != 0;
		return strcmp(lost->trace->ops->name, "qemu") == 0 && n;
	}
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->tid)
			n += knows(input, sign,
				   location->process == ETA_NONE
					   ? 0
					   : defs->processes[location->process].pid,
				   location->tid);
	}
	return n;
}

/* The home that SIGN says is LOST's; NULL: none, or several as much. */
static const struct eta_process *find_home(const struct merge *merge,
					   const struct merge_input *lost, enum sign sign)
{
	const struct eta_process *best = NULL;
	uint64_t most = 0;
	bool several = false;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct eta_process *home = home_of(&merge->inputs[i]);
		uint64_t n = home ? weigh(lost, &merge->inputs[i], sign) : 0;

		if (n > most) {
			several = false;
			best = home;
			most = n;
		} else if (n && n == most) {
			several |= !same_home(best, home);
		}
	}
	return several ? NULL : best;
}

/* All that INPUT has is of the machine of HOME from here on. */
static int set_home(struct merge_input *input, const struct eta_process *home)
{
	struct eta_defs *defs = &input->trace->defs;
	const char *host = eta_trace_string(input->trace, home->host);
	const char *boot = eta_trace_string(input->trace, home->boot);

	if (!host || !boot)
		return -ENOMEM;
	for (uint32_t i = 0; i < defs->n_processes; i++) {
		defs->processes[i].host = host;
		defs->processes[i].boot = boot;
	}
	for (uint32_t i = 0; i < defs->n_locations; i++)
		if (defs->locations[i].kind == ETA_LOCATION_DEVICE)
			defs->locations[i].host = host;
	for (uint32_t i = 0; i < defs->n_handles; i++)
		if (defs->handles[i].device)
			defs->handles[i].host = host;
	for (uint32_t i = 0; i < defs->n_files; i++)
		defs->files[i].host = host;
	return 0;
}

static bool several_machines(const struct merge *merge)
{
	const struct eta_process *first = NULL;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct eta_process *home = home_of(&merge->inputs[i]);

		if (home && first && !same_home(first, home))
			return true;
		first = first ? first : home;
	}
	return false;
}

const struct eta_process *merge_home(const struct merge *merge, uint32_t input)
{
	return home_of(&merge->inputs[input]);
}

bool merge_same_home(const struct merge *merge, uint32_t a, uint32_t b)
{
	const struct eta_process *first = merge_home(merge, a), *second = merge_home(merge, b);

	return first && second && same_home(first, second);
}

int merge_homes(struct merge *merge)
{
	bool several = several_machines(merge);
	int rc = 0;

	for (size_t i = 0; rc == 0 && several && i < merge->n_inputs; i++) {
		struct merge_input *input = &merge->inputs[i];
		const struct eta_process *home = NULL;

		if (home_of(input))
			continue;
		for (int sign = 0; !home && sign < N_SIGNS; sign++)
			home = find_home(merge, input, (enum sign)sign);
		if (home)
			rc = set_home(input, home);
		else
			eta_warn("%s: does not say which of the machines merged it is of, and "
				 "none alone has its threads: its clock may be taken for another's "
				 "(--clock says which it is)",
				 input->trace->path);
	}
	return rc;
}

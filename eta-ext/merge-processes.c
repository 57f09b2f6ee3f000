/* Which processes of several traces are the same: host and pid, or pid namespace and number in it.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"
#include "known.h"

/* A start that was read from /proc is true to a tick, and the clocks to less. */
#define START_TOLERANCE_NS 20000000

struct processes {
	struct eta_trace *trace;
	struct known *numbers; /* struct number -> index */
};

/* Several processes may have a number: on other hosts, in other pid namespaces, one after another.
 */
struct number {
	uint32_t pid_ns, pid; /* pid_ns 0: as seen from the outside */
	uint32_t which;	      /* from 0 on */
};

static bool has_own_numbers(const struct eta_process *process)
{
	return process->pid_ns && process->ns_pid;
}

/* Without a pid only the kernel's threads are known to belong together. */
static bool has_number(const struct eta_process *process)
{
	return process->pid != 0 || strcmp(process->name, "kernel") == 0;
}

/* An unknown host is any host. A container may call itself what it likes: the boot tells. */
static bool same_machine(const struct eta_process *a, const struct eta_process *b)
{
	if (*a->boot && *b->boot)
		return strcmp(a->boot, b->boot) == 0;
	return !*a->host || !*b->host || strcmp(a->host, b->host) == 0;
}

/* The same as seen from the outside, or from two places of which nothing is known. */
static bool same_pid(const struct eta_process *a, const struct eta_process *b)
{
	if (!same_machine(a, b) || a->pid != b->pid)
		return false;
	if (has_own_numbers(a) && has_own_numbers(b) &&
	    (eta_inner_numbers(a) || eta_inner_numbers(b) || a->pid_ns != b->pid_ns))
		return false;
	return has_number(a) && has_number(b);
}

/* Is HOST another machine's name already? Both are texts of TRACE, where equal ones are one. */
static bool is_taken(const struct eta_trace *trace, const char *host, const char *boot)
{
	/* all of one name are of one boot: the others have been numbered */
	const char *taken_by = *host && *boot ? machines_boot(&trace->defs, host) : NULL;

	return taken_by && taken_by != boot;
}

/*
 * What the host of PROCESS is called in the result; NULL without memory. Names tell machines apart
 * there, so of several with one name all but the first are numbered.
 */
static const char *host_name(struct eta_trace *trace, const struct eta_process *process)
{
	const char *host = eta_trace_string(trace, process->host);
	const char *boot = eta_trace_string(trace, process->boot);

	for (unsigned n = 2; host && boot && is_taken(trace, host, boot); n++) {
		char numbered[80];

		snprintf(numbered, sizeof(numbered), "%.64s (%u)", process->host, n);
		host = eta_trace_string(trace, numbered);
	}
	return boot ? host : NULL;
}

/* The same number in the same namespace, of two that both are known from the inside alone. */
static bool same_start(const struct eta_process *a, const struct eta_process *b)
{
	uint64_t from = a->start_ns < b->start_ns ? a->start_ns : b->start_ns;
	uint64_t to = a->start_ns < b->start_ns ? b->start_ns : a->start_ns;

	return from == 0 || to - from <= START_TOLERANCE_NS;
}

/*
 * The process of the result that PROCESS, known by its number in its namespace, is. Numbers of
 * namespaces are used again as soon as one ends: of those that the kernel's side knows the newest
 * that had begun at SEEN_NS, when PROCESS was first traced.
 */
static uint32_t find_inner(const struct processes *all, const struct eta_process *process,
			   uint64_t seen_ns)
{
	struct number key = { process->pid_ns, process->ns_pid, 0 };
	uint32_t index, found = ETA_NONE;
	uint64_t best_ns = 0;

	for (; (index = known_find(all->numbers, &key, sizeof(key))) != ETA_NONE; key.which++) {
		const struct eta_process *other = &all->trace->defs.processes[index];

		if (!same_machine(process, other))
			continue;
		if (eta_inner_numbers(other)) {
			if (found == ETA_NONE && same_start(process, other))
				found = index;
		} else if (other->start_ns <= seen_ns && other->start_ns >= best_ns) {
			best_ns = other->start_ns;
			found = index;
		}
	}
	return found;
}

static uint32_t find_outer(const struct processes *all, const struct eta_process *process)
{
	struct number key = { 0, process->pid, 0 };
	uint32_t index;

	if (!has_number(process))
		return ETA_NONE;
	for (; (index = known_find(all->numbers, &key, sizeof(key))) != ETA_NONE; key.which++)
		if (same_pid(&all->trace->defs.processes[index], process))
			return index;
	return ETA_NONE;
}

static int add_number(struct processes *all, uint32_t pid_ns, uint32_t pid, uint32_t index)
{
	struct number key = { pid_ns, pid, 0 };

	while (known_find(all->numbers, &key, sizeof(key)) != ETA_NONE)
		key.which++;
	return known_add(&all->numbers, &key, sizeof(key), index);
}

/* Joins PROCESS of a later input to OLD. */
static int join(struct processes *all, uint32_t index, const struct eta_process *process)
{
	struct eta_trace *trace = all->trace;
	struct eta_process *old = &trace->defs.processes[index];
	bool inside = eta_inner_numbers(process) && old->pid != process->pid;
	bool told = !has_own_numbers(old) && has_own_numbers(process);

	/* the program's name, where the kernel's side knows its first thread's */
	if (!*old->name || (inside && *process->name))
		old->name = eta_trace_string(trace, process->name);
	if (!*old->host)
		old->host = eta_trace_string(trace, process->host);
	if (!*old->boot)
		old->boot = eta_trace_string(trace, process->boot);
	/* who its parent is, as it is counted in there, says nothing out here */
	if (!old->ppid && !inside)
		old->ppid = process->ppid;
	if (!old->parent_tid && !inside)
		old->parent_tid = process->parent_tid;
	if (!old->cgroup)
		old->cgroup = process->cgroup;
	if (!old->start_ns)
		old->start_ns = process->start_ns;
	if (told) {
		old->pid_ns = process->pid_ns;
		old->ns_pid = process->ns_pid;
	}
	if (!old->ns_pid)
		old->ns_pid = process->ns_pid;
	if (!old->name || !old->host || !old->boot || machines_add(&trace->defs, index) < 0)
		return -ENOMEM;
	return told ? add_number(all, old->pid_ns, old->ns_pid, index) : 0;
}

static int add(struct processes *all, const struct eta_process *process, uint32_t *index)
{
	int rc;

	*index = eta_defs_process(all->trace, process);
	if (*index == ETA_NONE)
		return -ENOMEM;
	rc = has_number(process) ? add_number(all, 0, process->pid, *index) : 0;
	if (rc == 0 && has_own_numbers(process))
		rc = add_number(all, process->pid_ns, process->ns_pid, *index);
	return rc;
}

/* When process P of INPUT was first traced; its start by the result's clock is in PROCESS. */
static uint64_t first_seen(const struct merge_input *input, uint32_t p)
{
	const struct eta_defs *defs = &input->trace->defs;
	uint64_t first_ns = UINT64_MAX;

	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->process == p && location->start_ns && location->start_ns < first_ns)
			first_ns = location->start_ns;
	}
	return first_ns == UINT64_MAX ? first_ns : eta_clock_convert(&input->clock, first_ns);
}

/* The processes of INPUT that are known from the outside, or those INSIDE a namespace of their own.
 */
static int merge_input_processes(struct processes *all, struct merge_input *input, bool inside)
{
	const struct eta_defs *defs = &input->trace->defs;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < defs->n_processes; i++) {
		struct eta_process process = defs->processes[i];
		uint32_t index;

		if (eta_inner_numbers(&process) != inside)
			continue;
		process.host = host_name(all->trace, &process);
		if (!process.host)
			return -ENOMEM;
		if (process.start_ns)
			process.start_ns = eta_clock_convert(&input->clock, process.start_ns);
		index = inside ? find_inner(all, &process, first_seen(input, i)) : ETA_NONE;
		if (index == ETA_NONE)
			index = find_outer(all, &process);
		if (index == ETA_NONE)
			rc = add(all, &process, &index);
		else
			rc = join(all, index, &process);
		input->processes[i] = index;
	}
	return rc;
}

int merge_processes(struct eta_trace *trace, struct merge *merge)
{
	struct processes all = { .trace = trace };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++)
		rc = merge_new_map(&merge->inputs[i].processes,
				   merge->inputs[i].trace->defs.n_processes);
	/* those from the inside look for who they are on the outside */
	for (int inside = 0; inside < 2; inside++)
		for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++)
			rc = merge_input_processes(&all, &merge->inputs[i], inside);
	known_free(&all.numbers);
	return rc;
}

const char *merge_host(const struct eta_trace *trace, const struct merge_input *input,
		       const char *host)
{
	const struct eta_defs *defs = &input->trace->defs;

	for (uint32_t p = 0; *host && p < defs->n_processes; p++)
		if (strcmp(defs->processes[p].host, host) == 0)
			return trace->defs.processes[input->processes[p]].host;
	return host;
}

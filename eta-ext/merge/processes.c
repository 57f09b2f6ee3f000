/* Which processes of several traces are the same: host and pid, or pid namespace and number. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/trace/machines.h"
#include "eta-ext/base/known.h"

/* A start that was read from /proc is true to a tick, and the clocks to less. */
#define START_TOLERANCE_NS 20000000

struct processes {
	struct eta_trace *trace;
	struct known *names;   /* host and boot -> how many hosts of that name came before; or host
				  alone -> so many at least */
	struct known *numbers; /* struct number -> chain */
	struct chain *chains;
	struct link *links;
	uint32_t n_chains, chains_room, n_links, links_room;
};

/*
 * Several processes may have a number: on other machines, in other pid namespaces, one after
 * another. Those that may be the same are found by all that they have to agree in.
 */
enum seen {
	SEEN_OUTSIDE,  /* a pid of any process */
	SEEN_PLAIN,    /* of those that have no number of their own in a pid namespace */
	SEEN_NUMBERED, /* of those that also have one, in PID_NS */
	SEEN_INSIDE,   /* a number in PID_NS */
};

enum machine {
	OF_BOOT,	 /* TEXT */
	OF_HOST,	 /* TEXT, in whatever boot */
	OF_HOST_NO_BOOT, /* TEXT, in an unknown boot */
	OF_NO_HOST,	 /* of an unknown one */
	OF_NO_HOST_NO_BOOT,
	OF_NO_BOOT,
	OF_ANY,
};

struct number {
	const char *text; /* of the result, where equal ones are one */
	uint32_t seen, machine, pid_ns, pid;
};

struct chain {
	uint32_t first, last; /* links */
};

struct link {
	uint32_t process, next; /* ETA_NONE */
};

/* ---- chains ---- */

static int chain_add(struct processes *all, const struct number *key, uint32_t process)
{
	uint32_t c = known_find(all->numbers, key, sizeof(*key));

	if (!ARRAY_FITS(all->links, all->n_links + 1, all->links_room))
		return -ENOMEM;
	all->links[all->n_links] = (struct link){ process, ETA_NONE };
	if (c != ETA_NONE) {
		all->links[all->chains[c].last].next = all->n_links;
		all->chains[c].last = all->n_links++;
		return 0;
	}
	if (!ARRAY_FITS(all->chains, all->n_chains + 1, all->chains_room))
		return -ENOMEM;
	all->chains[all->n_chains] = (struct chain){ all->n_links, all->n_links };
	all->n_links++;
	return known_add(&all->numbers, key, sizeof(*key), all->n_chains++);
}

/* The first link of those with KEY, or ETA_NONE. */
static uint32_t chain_find(const struct processes *all, const struct number *key)
{
	uint32_t c = known_find(all->numbers, key, sizeof(*key));

	return c == ETA_NONE ? ETA_NONE : all->chains[c].first;
}

/* PROCESS, at INDEX of the result, under all that one on the same machine may look for. */
static int add_machine(struct processes *all, struct number key, const struct eta_process *process,
		       uint32_t index)
{
	bool boot = *process->boot, host = *process->host;
	const struct {
		bool is;
		uint32_t machine;
		const char *text;
	} list[] = {
		{ boot, OF_BOOT, process->boot },
		{ host, OF_HOST, process->host },
		{ host && !boot, OF_HOST_NO_BOOT, process->host },
		{ !host, OF_NO_HOST, NULL },
		{ !host && !boot, OF_NO_HOST_NO_BOOT, NULL },
		{ !boot, OF_NO_BOOT, NULL },
		{ true, OF_ANY, NULL },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(list) / sizeof(*list); i++) {
		key.machine = list[i].machine;
		key.text = list[i].text;
		if (list[i].is)
			rc = chain_add(all, &key, index);
	}
	return rc;
}

/* Under which MACHINE those are that may be on the machine of PROCESS: how many. */
static int machines_like(const struct eta_process *process, struct number like[3])
{
	bool boot = *process->boot, host = *process->host;
	int n = 0;

	if (boot) {
		like[n].text = process->boot;
		like[n++].machine = OF_BOOT;
	}
	if (host) {
		like[n].text = process->host;
		like[n++].machine = boot ? OF_HOST_NO_BOOT : OF_HOST;
		like[n].text = NULL;
		like[n++].machine = boot ? OF_NO_HOST_NO_BOOT : OF_NO_HOST;
	} else {
		like[n].text = NULL;
		like[n++].machine = boot ? OF_NO_BOOT : OF_ANY;
	}
	return n;
}

/* ---- what makes two the same ---- */

static bool has_own_numbers(const struct eta_process *process)
{
	return process->pid_ns && process->ns_pid;
}

/* Without a pid only the kernel's threads are known to belong together. */
static bool has_number(const struct eta_process *process)
{
	return process->pid != 0 || strcmp(process->name, "kernel") == 0;
}

/* An unknown host is any host. A container may call itself what it likes: the boot decides. */
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

/* The N-th of those called HOST: all but the first are numbered. NULL without memory. */
static const char *numbered_host(struct eta_trace *trace, const char *host, uint32_t n)
{
	char numbered[80];

	if (n == 0)
		return host;
	snprintf(numbered, sizeof(numbered), "%.64s (%" PRIu32 ")", host, n + 1);
	return eta_trace_string(trace, numbered);
}

/*
 * What the host of PROCESS is called in the result; NULL without memory. Names distinguish machines
 * there, so of several with one name all but the first are numbered.
 */
static const char *host_name(struct processes *all, const struct eta_process *process)
{
	const char *given = eta_trace_string(all->trace, process->host);
	const char *boot = eta_trace_string(all->trace, process->boot), *host;
	const char *key[2] = { given, boot };
	uint32_t n;

	if (!given || !boot)
		return NULL;
	n = known_find(all->names, key, sizeof(key));
	host = n == ETA_NONE ? NULL : numbered_host(all->trace, given, n);
	if (host && !is_taken(all->trace, host, boot))
		return host;
	/* the names before are others' */
	n = known_find(all->names, key, sizeof(*key));
	n = n == ETA_NONE ? 0 : n;
	host = numbered_host(all->trace, given, n);
	while (host && is_taken(all->trace, host, boot))
		host = numbered_host(all->trace, given, ++n);
	if (!host || known_set(&all->names, key, sizeof(key), n) < 0 ||
	    known_set(&all->names, key, sizeof(*key), n) < 0)
		return NULL;
	return host;
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
	struct number like[3];
	uint32_t found = ETA_NONE;
	uint64_t best_ns = 0;
	int n = machines_like(process, like);

	for (int i = 0; i < n; i++) {
		uint32_t l;

		like[i].seen = SEEN_INSIDE;
		like[i].pid_ns = process->pid_ns;
		like[i].pid = process->ns_pid;
		for (l = chain_find(all, &like[i]); l != ETA_NONE; l = all->links[l].next) {
			uint32_t index = all->links[l].process;
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
	}
	return found;
}

/* The first one that is the same as PROCESS, among those that are SEEN in PID_NS. */
static uint32_t find_seen(const struct processes *all, const struct eta_process *process,
			  enum seen seen, uint32_t pid_ns)
{
	struct number like[3];
	uint32_t found = ETA_NONE;
	int n = machines_like(process, like);

	for (int i = 0; i < n; i++) {
		uint32_t l;

		like[i].seen = seen;
		like[i].pid_ns = pid_ns;
		like[i].pid = process->pid;
		l = chain_find(all, &like[i]);
		/* those of which more was learned since then may be others now */
		while (l != ETA_NONE &&
		       !same_pid(&all->trace->defs.processes[all->links[l].process], process))
			l = all->links[l].next;
		if (l != ETA_NONE && all->links[l].process < found)
			found = all->links[l].process;
	}
	return found;
}

static uint32_t find_outer(const struct processes *all, const struct eta_process *process)
{
	uint32_t plain, numbered;

	if (!has_number(process))
		return ETA_NONE;
	if (!has_own_numbers(process))
		return find_seen(all, process, SEEN_OUTSIDE, 0);
	plain = find_seen(all, process, SEEN_PLAIN, 0);
	if (eta_inner_numbers(process))
		return plain;
	numbered = find_seen(all, process, SEEN_NUMBERED, process->pid_ns);
	return plain < numbered ? plain : numbered;
}

/* What is known of the process at INDEX is what it is found by. */
static int add_numbers(struct processes *all, uint32_t index)
{
	/* chains grow, definitions stay */
	const struct eta_process *process = &all->trace->defs.processes[index];
	bool own = has_own_numbers(process);
	struct number key = { .seen = SEEN_OUTSIDE, .pid = process->pid };
	int rc = 0;

	if (has_number(process)) {
		rc = add_machine(all, key, process, index);
		key.seen = own ? SEEN_NUMBERED : SEEN_PLAIN;
		key.pid_ns = own ? process->pid_ns : 0;
		if (rc == 0 && !eta_inner_numbers(process))
			rc = add_machine(all, key, process, index);
	}
	key = (struct number){ .seen = SEEN_INSIDE,
			       .pid_ns = process->pid_ns,
			       .pid = process->ns_pid };
	return rc == 0 && own ? add_machine(all, key, process, index) : rc;
}

/* Joins PROCESS of a later input to OLD. */
static int join(struct processes *all, uint32_t index, const struct eta_process *process)
{
	struct eta_trace *trace = all->trace;
	struct eta_process *old = &trace->defs.processes[index];
	bool inside = eta_inner_numbers(process) && old->pid != process->pid;
	struct eta_process before = *old;
	bool is_new = !has_own_numbers(old) && has_own_numbers(process);

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
	if (is_new) {
		old->pid_ns = process->pid_ns;
		old->ns_pid = process->ns_pid;
	}
	if (!old->ns_pid)
		old->ns_pid = process->ns_pid;
	if (!old->name || !old->host || !old->boot || machines_add(&trace->defs, index) < 0)
		return -ENOMEM;
	if (old->host != before.host || old->boot != before.boot || old->pid_ns != before.pid_ns ||
	    old->ns_pid != before.ns_pid || has_number(old) != has_number(&before))
		return add_numbers(all, index);
	return 0;
}

static int add(struct processes *all, const struct eta_process *process, uint32_t *index)
{
	*index = eta_defs_process(all->trace, process);
	return *index == ETA_NONE ? -ENOMEM : add_numbers(all, *index);
}

/* When each process of INPUT was first traced, by the result's clock; UINT64_MAX: unknown. */
static uint64_t *first_seen(const struct merge_input *input)
{
	const struct eta_defs *defs = &input->trace->defs;
	uint64_t *first_ns = calloc((size_t)defs->n_processes + 1, sizeof(*first_ns));

	for (uint32_t p = 0; first_ns && p < defs->n_processes; p++)
		first_ns[p] = UINT64_MAX;
	for (uint32_t l = 0; first_ns && l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->process != ETA_NONE && location->start_ns &&
		    location->start_ns < first_ns[location->process])
			first_ns[location->process] = location->start_ns;
	}
	for (uint32_t p = 0; first_ns && p < defs->n_processes; p++)
		if (first_ns[p] != UINT64_MAX)
			first_ns[p] = eta_clock_convert(&input->clock, first_ns[p]);
	return first_ns;
}

/* The processes of INPUT known from the outside, or those INSIDE a namespace of their own. */
static int merge_input_processes(struct processes *all, struct merge_input *input, bool inside)
{
	const struct eta_defs *defs = &input->trace->defs;
	uint64_t *seen_ns = inside ? first_seen(input) : NULL;
	int rc = inside && !seen_ns ? -ENOMEM : 0;

	for (uint32_t i = 0; rc == 0 && i < defs->n_processes; i++) {
		struct eta_process process = defs->processes[i];
		uint32_t index;

		if (eta_inner_numbers(&process) != inside)
			continue;
		process.host = host_name(all, &process);
		process.boot = eta_trace_string(all->trace, process.boot);
		if (!process.host || !process.boot) {
			rc = -ENOMEM;
			break;
		}
		if (process.start_ns)
			process.start_ns = eta_clock_convert(&input->clock, process.start_ns);
		index = inside ? find_inner(all, &process, seen_ns[i]) : ETA_NONE;
		if (index == ETA_NONE)
			index = find_outer(all, &process);
		if (index == ETA_NONE)
			rc = add(all, &process, &index);
		else
			rc = join(all, index, &process);
		input->processes[i] = index;
	}
	free(seen_ns);
	return rc;
}

/* The first process on each host. */
static int find_hosts(struct merge_input *input)
{
	const struct eta_defs *defs = &input->trace->defs;
	int rc = 0;

	for (uint32_t p = 0; rc == 0 && p < defs->n_processes; p++) {
		const char *host = defs->processes[p].host;

		if (known_find(input->hosts, host, strlen(host)) == ETA_NONE)
			rc = known_add(&input->hosts, host, strlen(host), p);
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
	/* those from the inside look for themselves on the outside */
	for (int inside = 0; inside < 2; inside++)
		for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++)
			rc = merge_input_processes(&all, &merge->inputs[i], inside);
	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++)
		rc = find_hosts(&merge->inputs[i]);
	known_free(&all.numbers);
	known_free(&all.names);
	free(all.chains);
	free(all.links);
	return rc;
}

const char *merge_host(const struct eta_trace *trace, const struct merge_input *input,
		       const char *host)
{
	uint32_t p = *host ? known_find(input->hosts, host, strlen(host)) : ETA_NONE;

	return p == ETA_NONE ? host : trace->defs.processes[input->processes[p]].host;
}

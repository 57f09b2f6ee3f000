/* Which locations of several traces are the same thread: host, pid, tid, overlapping lifetime. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"
#include "eta-ext/base/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A location of an input, with what it is compared by. */
struct candidate {
	struct merge_part part;
	const struct eta_location *location;
	uint32_t process;	/* of the result */
	struct candidate *next; /* of the same process, until they are sorted */
	uint32_t tid;
	bool inside;	   /* the tid is of a pid namespace, and nobody knows it outside */
	uint32_t machine;  /* a device's */
	const char *host;  /* the same, of the result */
	uint64_t start_ns; /* by the result's clock; 0: unknown */
	uint64_t end_ns;   /* the same */
	uint32_t rank;
	uint32_t alone;	   /* no other location can be the same: a number of its own, else 0 */
	uint32_t lifetime; /* of the same (process, tid): which of its lifetimes */
	uint64_t lifetime_start_ns;
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* Threads before devices, then what makes two locations the same. */
static int compare_keys(const struct candidate *a, const struct candidate *b)
{
	bool a_device = a->location->kind == ETA_LOCATION_DEVICE;
	bool b_device = b->location->kind == ETA_LOCATION_DEVICE;
	int order = compare(a_device, b_device);

	if (order == 0)
		order = compare(a->process, b->process);
	if (order == 0)
		order = compare(a->tid, b->tid);
	if (order == 0)
		order = compare(a->location->track, b->location->track);
	if (order == 0)
		order = compare(a->location->dev, b->location->dev);
	if (order == 0)
		order = compare(a->machine, b->machine);
	if (order == 0)
		order = compare(a->inside, b->inside);
	if (order == 0)
		order = compare(a->alone, b->alone);
	return order;
}

static int by_key(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = compare_keys(a, b);

	if (order == 0)
		order = compare(a->part.input, b->part.input);
	if (order == 0)
		order = compare(a->start_ns, b->start_ns);
	if (order == 0)
		order = compare(a->part.location, b->part.location);
	return order;
}

/* Parts of one lifetime next to each other, outermost first. */
static int by_lifetime(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = compare_keys(a, b);

	if (order == 0)
		order = compare(a->lifetime, b->lifetime);
	if (order == 0)
		order = compare(a->rank, b->rank);
	if (order == 0)
		order = by_key(left, right);
	return order;
}

/*
 * The thread of an input without tids is known all the same where its process has one thread in
 * this input, and every other input that knows the process has one and the same.
 */
static void name_the_only_thread(struct candidate *nameless, const struct candidate *of_process)
{
	uint32_t tid = 0;

	for (const struct candidate *c = of_process; c; c = c->next) {
		if (c == nameless || c->location->track || c->location->kind != ETA_LOCATION_THREAD)
			continue;
		if (c->part.input == nameless->part.input || c->tid == 0 ||
		    (tid != 0 && c->tid != tid))
			return;
		tid = c->tid;
	}
	nameless->tid = tid;
}

static int name_threads(const struct eta_trace *trace, struct candidate *all, size_t n)
{
	struct candidate **first = calloc((size_t)trace->defs.n_processes + 1, sizeof(*first));
	uint32_t alone = 0;

	if (!first)
		return -ENOMEM;
	for (struct candidate *c = all + n; c-- > all;)
		if (c->process != ETA_NONE) {
			c->next = first[c->process];
			first[c->process] = c;
		}
	for (struct candidate *c = all; c < all + n; c++) {
		if (c->location->kind == ETA_LOCATION_DEVICE || c->tid != 0)
			continue;
		if (c->process != ETA_NONE && trace->defs.processes[c->process].pid != 0)
			name_the_only_thread(c, first[c->process]);
	}
	free(first);
	/* without a pid or a tid there is nothing to compare by */
	for (struct candidate *c = all; c < all + n; c++) {
		bool device = c->location->kind == ETA_LOCATION_DEVICE;
		bool kernel = c->location->kind == ETA_LOCATION_KERNEL_THREAD;

		if (device ? c->location->dev == 0
			   : c->tid == 0 || c->process == ETA_NONE ||
				     (!kernel && trace->defs.processes[c->process].pid == 0))
			c->alone = ++alone;
	}
	return 0;
}

/* The last of N lifetimes that had begun at START_NS, or the first. */
static uint32_t lifetime_at(const struct candidate *lifetimes, size_t n, uint64_t start_ns)
{
	size_t low = PARTITION_POINT((size_t)1, n, i, lifetimes[i].start_ns <= start_ns);

	return (uint32_t)(low - 1);
}

/*
 * The N candidates are of one (process, tid). The one with the earliest first start separates the
 * lifetimes: the kernel's side, which knows the fork, and sees one lifetime where a program
 * that calls exec leaves several locations. Each other location belongs to the newest lifetime
 * begun when it starts.
 */
static void find_lives(struct candidate *group, size_t n)
{
	const struct candidate *guide = group;
	size_t n_guide = 0;

	for (size_t i = 1; i < n; i++)
		if (group[i].part.input != group[i - 1].part.input &&
		    group[i].start_ns < guide->start_ns)
			guide = &group[i];
	while (guide + n_guide < group + n && guide[n_guide].part.input == guide->part.input)
		n_guide++;
	for (size_t i = 0; i < n; i++) {
		struct candidate *c = &group[i];

		if (c->part.input == guide->part.input) {
			c->lifetime = (uint32_t)(c - guide);
		} else {
			c->lifetime = lifetime_at(guide, n_guide, c->start_ns);
		}
		c->lifetime_start_ns = guide[c->lifetime].start_ns;
	}
}

/* Order of the result: by host, pid, start, tid; devices behind. */
struct order {
	const struct candidate *first; /* of the location, in lifetime order */
	uint32_t n;
	const struct eta_process *process;
};

static int by_place(const void *left, const void *right)
{
	static const struct eta_process nowhere = { .name = "", .host = "" };
	const struct order *a = left, *b = right;
	const struct eta_process *p = a->process ? a->process : &nowhere;
	const struct eta_process *q = b->process ? b->process : &nowhere;
	int order = compare(a->first->location->kind == ETA_LOCATION_DEVICE,
			    b->first->location->kind == ETA_LOCATION_DEVICE);

	if (order == 0)
		order = strcmp(p->host, q->host);
	if (order == 0)
		order = compare(p->pid, q->pid);
	if (order == 0)
		order = compare(a->first->lifetime_start_ns, b->first->lifetime_start_ns);
	if (order == 0)
		order = compare(a->first->tid, b->first->tid);
	if (order == 0)
		order = compare(a->first->location->track, b->first->location->track);
	return order ? order : by_lifetime(a->first, b->first);
}

/* "comm tid N" of the last part that has it: the innermost, whose comm is the newest. */
static const char *name_of(const struct order *order)
{
	for (uint32_t i = order->n; i-- > 0;) {
		const char *name = order->first[i].location->name;

		if (strstr(name, " tid ") && *name != '?')
			return name;
	}
	return order->first->location->name;
}

/* ---- threads that one input alone has ---- */

static bool is_single(const struct order *order)
{
	return order->first->part.input == order->first[order->n - 1].part.input;
}

/* What the inputs know of a process. */
struct process_sides {
	uint32_t n_inputs, last_input; /* how many know it, and which was counted last */
	bool open; /* a thread was found in programs' calls only, not in the kernel's trace */
};

static int find_sides(const struct eta_trace *trace, const struct merge *merge,
		      const struct order *orders, size_t n, struct process_sides **out)
{
	struct process_sides *sides = calloc((size_t)trace->defs.n_processes + 1, sizeof(*sides));

	*out = sides;
	if (!sides)
		return -ENOMEM;
	for (uint32_t i = 0; i < merge->n_inputs; i++)
		for (uint32_t p = 0; p < merge->inputs[i].trace->defs.n_processes; p++) {
			struct process_sides *s = &sides[merge->inputs[i].processes[p]];

			s->n_inputs += !s->n_inputs || s->last_input != i;
			s->last_input = i;
		}
	for (size_t i = 0; i < n; i++)
		if (orders[i].process && orders[i].first->rank == 0 && is_single(&orders[i]))
			sides[orders[i].first->process].open = true;
	return 0;
}

/* Sides that inputs know of a machine: programs' calls, and the kernel. */
#define SIDE(rank) (1u << ((rank) != 0))
#define BOTH_SIDES (SIDE(0) | SIDE(1))

/* Those of each machine of the result. */
static int find_machine_sides(const struct eta_trace *trace, const struct merge *merge,
			      uint32_t **out)
{
	const struct eta_defs *defs = &trace->defs;
	uint32_t *sides = calloc((size_t)defs->n_processes + 1, sizeof(*sides));

	*out = sides;
	for (uint32_t i = 0; sides && i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];

		for (uint32_t p = 0; p < input->trace->defs.n_processes; p++) {
			const char *host = defs->processes[input->processes[p]].host;

			sides[eta_machine(defs, host)] |= SIDE(input->rank);
		}
	}
	return sides ? 0 : -ENOMEM;
}

/*
 * Is the other side of it missing? A thread without a library call leaves nothing there: the
 * kernel's side alone has it, while another input knows its process, and each thread of that has
 * been found.
 */
static bool is_unmatched(const struct merge *merge, const struct order *order,
			 const struct process_sides *sides)
{
	const struct candidate *first = order->first;

	if (merge->n_inputs < 2 || !is_single(order) || first->location->track ||
	    first->location->kind != ETA_LOCATION_THREAD || first->location->only_requests)
		return false;
	return first->rank == 0 || !order->process || !order->process->pid ||
	       sides[first->process].n_inputs < 2 || sides[first->process].open;
}

/* Of its machine there is one side only, or both as one: nothing can match it. */
static bool is_alone(const struct eta_trace *trace, const struct order *order,
		     const uint32_t *machine_sides)
{
	return order->process && *order->process->host &&
	       machine_sides[eta_machine(&trace->defs, order->process->host)] != BOTH_SIDES;
}

/* Is the location that was added last a thread that made a traced call, or may have? */
static bool is_newest_thread(const struct eta_trace *trace)
{
	const struct eta_location *newest = &trace->defs.locations[trace->defs.n_locations - 1];

	return newest->kind == ETA_LOCATION_THREAD && !newest->only_requests;
}

static int add_location(struct eta_trace *trace, struct merge *merge, const struct order *order)
{
	const struct candidate *first = order->first;
	struct eta_location location = *first->location;

	location.id = trace->defs.n_locations;
	location.name = name_of(order);
	location.process = first->process;
	location.tid = first->tid;
	location.start_ns = first->start_ns;
	location.end_ns = 0;
	if (location.kind == ETA_LOCATION_DEVICE)
		location.host = first->host;
	for (uint32_t i = 0; i < order->n; i++) {
		const struct eta_location *part = first[i].location;

		if (first[i].start_ns &&
		    (first[i].start_ns < location.start_ns || !location.start_ns))
			location.start_ns = first[i].start_ns;
		if (first[i].end_ns > location.end_ns)
			location.end_ns = first[i].end_ns;
		if (!location.ns_tid)
			location.ns_tid = part->ns_tid;
		if (part->kind == ETA_LOCATION_KERNEL_THREAD ||
		    location.kind == ETA_LOCATION_UNTRACED)
			location.kind = part->kind;
		if (i > 0)
			location.events = part->events && location.events
						  ? location.events + part->events
						  : 0;
		merge->parts[merge->n_parts++] = first[i].part;
	}
	if (eta_defs_location(trace, &location) == ETA_NONE)
		return -ENOMEM;
	merge->first[trace->defs.n_locations] = merge->n_parts;
	return 0;
}

/* What is known of LOCATION of input number I. */
static struct candidate candidate_of(const struct eta_trace *trace, const struct merge *merge,
				     uint32_t i, uint32_t l)
{
	const struct merge_input *input = &merge->inputs[i];
	const struct eta_location *location = &input->trace->defs.locations[l];
	const struct merge_name *name = input->names ? &input->names[l] : NULL;
	struct candidate c = {
		.part = { .input = i, .location = l },
		.location = location,
		.process = location->process == ETA_NONE ? ETA_NONE
							 : input->processes[location->process],
		.tid = location->tid,
		.start_ns = location->start_ns
				    ? eta_clock_convert(&input->clock, location->start_ns)
				    : 0,
		.end_ns = location->end_ns ? eta_clock_convert(&input->clock, location->end_ns) : 0,
		.rank = input->rank,
	};

	if (name && name->tid) {
		c.process = name->process;
		c.tid = name->tid;
	} else if (merge_is_inside(trace, input, l)) {
		uint32_t tid = merge_outer_tid(merge, c.process, location->tid, c.start_ns);

		c.inside = tid == 0;
		if (tid)
			c.tid = tid;
	}
	if (location->kind == ETA_LOCATION_DEVICE) {
		c.host = merge_host(trace, input, location->host);
		c.machine = eta_machine(&trace->defs, c.host);
	}
	return c;
}

static size_t gather(const struct eta_trace *trace, const struct merge *merge,
		     struct candidate *all)
{
	size_t n = 0;

	for (uint32_t i = 0; i < merge->n_inputs; i++)
		for (uint32_t l = 0; l < merge->inputs[i].trace->defs.n_locations; l++)
			all[n++] = candidate_of(trace, merge, i, l);
	return n;
}

/* The locations of one input as they are. */
static int single(const struct eta_trace *trace, struct merge *merge)
{
	for (uint32_t l = 0; l < trace->defs.n_locations; l++) {
		merge->first[l + 1] = l + 1;
		merge->parts[merge->n_parts++] = (struct merge_part){ .location = l };
	}
	return 0;
}

int merge_threads(struct eta_trace *trace, struct merge *merge)
{
	struct candidate *all = NULL;
	struct order *orders = NULL;
	struct process_sides *sides = NULL;
	uint32_t *machine_sides = NULL;
	size_t n = 0, n_orders = 0;
	int rc = -ENOMEM;

	for (size_t i = 0; i < merge->n_inputs; i++)
		n += merge->inputs[i].trace->defs.n_locations;
	/* services_nameless() may add one for each input */
	merge->first = calloc(n + merge->n_inputs + 1, sizeof(*merge->first));
	merge->parts = calloc(n + 1, sizeof(*merge->parts));
	all = calloc(n + 1, sizeof(*all));
	orders = calloc(n + 1, sizeof(*orders));
	if (!merge->first || !merge->parts || !all || !orders)
		goto out;
	if (merge->as_is) {
		rc = single(trace, merge);
		goto out;
	}
	rc = merge_numbers(trace, merge);
	if (rc)
		goto out;
	gather(trace, merge, all);
	rc = name_threads(trace, all, n);
	if (rc)
		goto out;
	qsort(all, n, sizeof(*all), by_key);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && compare_keys(&all[i], &all[next]) == 0;)
			next++;
		find_lives(&all[i], next - i);
	}
	qsort(all, n, sizeof(*all), by_lifetime);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || compare_keys(&all[i - 1], &all[i]) != 0 ||
		    all[i - 1].lifetime != all[i].lifetime)
			orders[n_orders++] = (struct order){
				.first = &all[i],
				.process = all[i].process == ETA_NONE
						   ? NULL
						   : &trace->defs.processes[all[i].process],
			};
		orders[n_orders - 1].n++;
	}
	qsort(orders, n_orders, sizeof(*orders), by_place);
	rc = find_sides(trace, merge, orders, n_orders, &sides);
	if (rc == 0)
		rc = find_machine_sides(trace, merge, &machine_sides);
	for (size_t i = 0; rc == 0 && i < n_orders; i++) {
		bool alone = is_alone(trace, &orders[i], machine_sides) && is_single(&orders[i]);
		bool unmatched = !alone && is_unmatched(merge, &orders[i], sides);

		rc = add_location(trace, merge, &orders[i]);
		trace->counts.unmatched += unmatched;
		trace->counts.matched += rc == 0 && !alone && !unmatched && is_newest_thread(trace);
	}
	if (rc == 0)
		rc = merge_refuse_doubles(trace, merge);
out:
	free(machine_sides);
	free(sides);
	free(all);
	free(orders);
	return rc;
}

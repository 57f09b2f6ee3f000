/* When a guest's CPUs had none of its host's: the threads of QEMU that they are stood ready. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "services.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/paged-array.h"
#include "eta-ext/base/search.h"

static int add_vcpu(struct services *s, size_t guest, uint32_t number, uint32_t tid)
{
	if (!ARRAY_FITS(s->vcpus, s->n_vcpus + 1, s->vcpus_room))
		return -ENOMEM;
	s->vcpus[s->n_vcpus++] =
		(struct service_vcpu){ .guest = (uint32_t)guest, .number = number, .tid = tid };
	return 0;
}

/* Is LOCATION a thread of GUEST's process? */
static bool is_of_guest(const struct services *s, const struct eta_defs *defs, size_t guest,
			const struct eta_location *location)
{
	return location->kind == ETA_LOCATION_THREAD && !location->track &&
	       location->process != ETA_NONE &&
	       defs->processes[location->process].pid == s->guests[guest].pid;
}

/* Those that were plugged in later have their names only ("CPU 2/KVM"); FIRST: of the guest's. */
static int add_later_vcpus(struct services *s, const struct eta_defs *defs, size_t guest,
			   size_t first)
{
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];
		bool known = false;
		unsigned number;
		int n = 0;

		if (!is_of_guest(s, defs, guest, location) ||
		    sscanf(location->name, "CPU %u/%n", &number, &n) != 1 || !n)
			continue;
		for (size_t v = first; v < s->n_vcpus; v++)
			known |= s->vcpus[v].tid == location->tid;
		if (!known)
			rc = add_vcpu(s, guest, number, location->tid);
	}
	return rc;
}

/* Adds the virtual CPUs that the host's recording has of PID. */
static int add_vcpus(struct services *s, const struct eta_defs *defs, size_t guest)
{
	size_t first = s->n_vcpus;
	char name[64];
	json_t *told = NULL, *pair;
	size_t i;
	int rc = 0;

	snprintf(name, sizeof(name), MERGE_VM_PREFIX "%" PRIu32, s->guests[guest].pid);
	for (uint32_t p = 0; p < defs->n_properties && !told; p++)
		if (defs->properties[p].process == ETA_NONE &&
		    strcmp(defs->properties[p].name, name) == 0)
			told = json_loads(defs->properties[p].value, 0, NULL);
	json_array_foreach (json_object_get(told, "vcpus"), i, pair) {
		const json_t *number = json_array_get(pair, 0), *tid = json_array_get(pair, 1);

		if (json_is_integer(tid) && rc == 0)
			rc = add_vcpu(s, guest,
				      json_is_integer(number) ? (uint32_t)json_integer_value(number)
							      : SERVICE_ALL_VCPUS,
				      (uint32_t)json_integer_value(tid));
	}
	json_decref(told);
	return rc ? rc : add_later_vcpus(s, defs, guest, first);
}

/* Is a thread in REGION ready to run, while others or a limit keep it from a CPU? */
static bool is_kept(const struct eta_region *region)
{
	return region->level == ETA_LEVEL_CPU &&
	       (region->reason == ETA_REASON_RUN_QUEUE || region->reason == ETA_REASON_OWN_WORK ||
		region->reason == ETA_REASON_QUOTA || region->reason == ETA_REASON_STOPPED);
}

static int take_events(struct thread_steals *t, const struct eta_defs *defs,
		       const struct eta_event *events, size_t n)
{
	struct service_steal *open = &t->open;

	for (size_t i = 0; i < n; i++) {
		const struct eta_event *e = &events[i];

		if (e->kind > ETA_LEAVE || !is_kept(&defs->regions[e->region]))
			continue;
		if (e->kind == ETA_ENTER) {
			bool others = defs->regions[e->region].reason == ETA_REASON_RUN_QUEUE;

			*open = (struct service_steal){
				.begin_ns = e->time_ns,
				.region = others ? ETA_NONE : e->region,
				.who = e->has & ETA_HAS_WHO ? (uint32_t)e->who : 0,
			};
			continue;
		}
		open->end_ns = e->time_ns;
		if (open->begin_ns == 0 || open->end_ns <= open->begin_ns)
			continue;
		if (!PAGED_FITS(t->list, t->n + 1, t->room))
			return -ENOMEM;
		t->list[t->n++] = *open;
		open->begin_ns = 0;
	}
	return 0;
}

/* ---- while a virtual machine's calls are read ---- */

static struct thread_steals *find_thread(const struct steal_store *store,
					 const struct eta_trace *trace, uint32_t location)
{
	for (size_t i = 0; i < store->n; i++)
		if (store->list[i].trace == trace && store->list[i].location == location)
			return &store->list[i];
	return NULL;
}

int steals_take(void *arg, struct eta_trace *trace, uint32_t location,
		const struct eta_event *events, size_t n)
{
	struct steal_store *store = arg;
	struct thread_steals *t;
	unsigned number;
	int behind = 0;

	/* those whose threads have no such names are read when the guest is known */
	if (sscanf(trace->defs.locations[location].name, "CPU %u/%n", &number, &behind) != 1 ||
	    !behind)
		return 0;
	t = find_thread(store, trace, location);
	if (!t) {
		if (!ARRAY_FITS(store->list, store->n + 1, store->room))
			return -ENOMEM;
		t = &store->list[store->n++];
		*t = (struct thread_steals){ .trace = trace, .location = location };
	}
	return take_events(t, &trace->defs, events, n);
}

void steal_store_free(struct steal_store *store)
{
	for (size_t i = 0; i < store->n; i++)
		paged_free(store->list[i].list);
	free(store->list);
	*store = (struct steal_store){ 0 };
}

/* ---- when it is known to be a guest ---- */

static int append(struct services *s, const struct thread_steals *t)
{
	if (!PAGED_FITS(s->steals, s->n_steals + t->n, s->steals_room))
		return -ENOMEM;
	if (t->n)
		memcpy(s->steals + s->n_steals, t->list, t->n * sizeof(*t->list));
	s->n_steals += t->n;
	return 0;
}

static int add_steals(struct merge *merge, struct eta_trace *trace, uint32_t location)
{
	const struct thread_steals *kept = find_thread(&merge->steals, trace, location);
	struct thread_steals own = { 0 };
	struct eta_cursor *cursor;
	const struct eta_event *batch;
	ssize_t n = 0;
	int rc;

	if (kept)
		return append(merge->services, kept);
	rc = eta_cursor_open(trace, location, &cursor);
	if (rc)
		return rc;
	while (rc == 0 && (n = eta_cursor_read(cursor, &batch)) > 0)
		rc = take_events(&own, &trace->defs, batch, (size_t)n);
	eta_cursor_drop(cursor);
	if (rc == 0)
		rc = n < 0 ? (int)n : append(merge->services, &own);
	paged_free(own.list);
	return rc;
}

int services_steals(struct merge *merge, size_t guest)
{
	struct services *s = merge->services;
	struct eta_trace *trace = merge->inputs[s->guests[guest].host].trace;
	const struct eta_defs *defs = &trace->defs;
	size_t first = s->n_vcpus;
	int rc = add_vcpus(s, defs, guest);

	for (size_t v = first; rc == 0 && v < s->n_vcpus; v++) {
		s->vcpus[v].first = s->n_steals;
		for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
			const struct eta_location *location = &defs->locations[l];

			if (location->tid == s->vcpus[v].tid &&
			    is_of_guest(s, defs, guest, location))
				rc = add_steals(merge, trace, l);
		}
		s->vcpus[v].n = s->n_steals - s->vcpus[v].first;
	}
	if (rc == 0 && first == s->n_vcpus)
		eta_warn("%s: the threads of virtual machine %s (pid %" PRIu32 ") had no names, so "
			 "it is not known when its CPUs had none of the host's: cpu:steal is not "
			 "in the result (QEMU's -name NAME,debug-threads=on)",
			 trace->path, s->guests[guest].name, s->guests[guest].pid);
	return rc;
}

void services_convert_steals(const struct merge *merge)
{
	const struct services *s = merge->services;

	for (size_t v = 0; v < s->n_vcpus; v++) {
		const struct service_vcpu *vcpu = &s->vcpus[v];
		const struct merge_input *host = &merge->inputs[s->guests[vcpu->guest].host];

		for (size_t i = vcpu->first; i < vcpu->first + vcpu->n; i++) {
			s->steals[i].begin_ns =
				eta_clock_convert(&host->clock, s->steals[i].begin_ns);
			s->steals[i].end_ns = eta_clock_convert(&host->clock, s->steals[i].end_ns);
		}
	}
}

/* Did GUEST wait for a task of its host, machine number MACHINE of the result, that has no
 * location? */
static bool has_nameless(const struct services *s, size_t guest, uint32_t machine)
{
	for (size_t v = 0; v < s->n_vcpus; v++) {
		const struct service_vcpu *vcpu = &s->vcpus[v];

		for (size_t i = vcpu->first; vcpu->guest == guest && i < vcpu->first + vcpu->n; i++)
			if (s->steals[i].who && services_thread(s, machine, s->steals[i].who,
								s->steals[i].begin_ns) == ETA_NONE)
				return true;
	}
	for (size_t c = 0; c < s->n_calls; c++) {
		const struct service_call *call = &s->calls[c];

		for (size_t i = 0; call->input == s->guests[guest].host && i < call->n_pieces;
		     i++) {
			const struct service_piece *piece = &s->pieces[call->first_piece + i];

			if (piece->who &&
			    services_thread(s, machine, piece->who, piece->begin_ns) == ETA_NONE)
				return true;
		}
	}
	return false;
}

/* That of another guest before GUEST on the same host; ETA_NONE. */
static uint32_t nameless_before(const struct services *s, size_t guest)
{
	for (size_t i = 0; i < guest; i++)
		if (s->guests[i].host == s->guests[guest].host && s->guests[i].nameless != ETA_NONE)
			return s->guests[i].nameless;
	return ETA_NONE;
}

static uint32_t add_nameless(struct eta_trace *trace, struct merge *merge, const char *host)
{
	const struct eta_process process = { .name = "", .host = host, .boot = "" };
	const struct eta_location location = { .id = trace->defs.n_locations,
					       .name = "tasks without a name",
					       .kind = ETA_LOCATION_UNTRACED,
					       .process = eta_defs_process(trace, &process) };
	uint32_t added;

	if (location.process == ETA_NONE)
		return ETA_NONE;
	added = eta_defs_location(trace, &location);
	if (added != ETA_NONE)
		merge->first[trace->defs.n_locations] = merge->n_parts;
	return added;
}

int services_nameless(struct eta_trace *trace, struct merge *merge)
{
	struct services *s = merge->services;

	for (size_t i = 0; i < s->n_guests; i++) {
		const struct eta_process *home = merge_home(merge, s->guests[i].host);
		const char *host =
			home ? merge_host(trace, &merge->inputs[s->guests[i].host], home->host)
			     : "";

		s->guests[i].nameless = nameless_before(s, i);
		if (s->guests[i].nameless != ETA_NONE || !*host ||
		    !has_nameless(s, i, eta_machine(&trace->defs, host)))
			continue;
		s->guests[i].nameless = add_nameless(trace, merge, host);
		if (s->guests[i].nameless == ETA_NONE)
			return -ENOMEM;
	}
	return 0;
}

const struct service_guest *services_guest(const struct merge *merge, uint32_t input)
{
	const struct services *s = merge->services;

	for (size_t i = 0; i < s->n_guests; i++)
		if (s->guests[i].guest == input ||
		    merge_same_home(merge, s->guests[i].guest, input))
			return &s->guests[i];
	return NULL;
}

/* A guest with one CPU has no other. */
static const struct service_vcpu *vcpu_of(const struct services *s, uint32_t guest, uint32_t cpu)
{
	const struct service_vcpu *found = NULL;
	size_t n = 0;

	for (size_t v = 0; v < s->n_vcpus; v++) {
		if (s->vcpus[v].guest != guest)
			continue;
		if (s->vcpus[v].number == SERVICE_ALL_VCPUS || s->vcpus[v].number + 1 == cpu)
			return &s->vcpus[v];
		found = &s->vcpus[v];
		n++;
	}
	return n == 1 ? found : NULL;
}

const struct service_steal *services_steals_of(const struct services *s,
					       const struct service_guest *guest, uint32_t cpu,
					       uint64_t time_ns, size_t *n)
{
	const struct service_vcpu *vcpu = vcpu_of(s, (uint32_t)(guest - s->guests), cpu);
	size_t low = PARTITION_POINT((size_t)0, vcpu ? vcpu->n : 0, i,
				     s->steals[vcpu->first + i].end_ns <= time_ns);

	*n = vcpu ? vcpu->n - low : 0;
	return *n ? s->steals + vcpu->first + low : NULL;
}

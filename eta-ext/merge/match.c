/* Threads without a name and clocks without a base, found by what was called: kind, bytes,
 * intervals. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "match-calls.h"

/* How many threads must give the same base before it is believed without asking the others. */
enum { ENOUGH_BASES = 3 };

/* The calls of a location that may be matched. */
struct candidate {
	struct calls calls;
	uint32_t input, location;
	uint32_t process; /* of the result */
	bool claimed;
};

struct match {
	struct eta_trace *trace;
	struct merge *merge;
	struct merge_input *input; /* whose threads or clock are sought */
	struct candidate *own, *others;
	size_t n_own, n_others;
	bool input_is_outer;
};

static void candidates_free(struct candidate *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i].calls.v);
	free(all);
}

/* Threads of INPUT with their calls, behind the *N of ALL. */
static int load(const struct match *m, uint32_t input_index, size_t max_calls,
		struct candidate **all, size_t *n)
{
	const struct merge_input *input = &m->merge->inputs[input_index];
	const struct eta_defs *defs = &input->trace->defs;
	struct candidate *more = reallocarray(*all, *n + defs->n_locations + 1, sizeof(*more));
	int rc = 0;

	if (!more)
		return -ENOMEM;
	*all = more;
	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		struct candidate *c = &more[*n];

		if (defs->locations[l].kind != ETA_LOCATION_THREAD ||
		    defs->locations[l].process == ETA_NONE)
			continue;
		*c = (struct candidate){
			.input = input_index,
			.location = l,
			.process = input->processes[defs->locations[l].process],
		};
		rc = calls_load(input->trace, l, &input->clock, max_calls, &c->calls);
		*n += rc == 0;
	}
	return rc;
}

static uint32_t tid_of(const struct match *m, const struct candidate *c)
{
	return m->merge->inputs[c->input].trace->defs.locations[c->location].tid;
}

static bool is_nameless(const struct match *m, const struct candidate *c)
{
	const struct merge_input *input = &m->merge->inputs[c->input];

	return !(input->names && input->names[c->location].tid) &&
	       (tid_of(m, c) == 0 || m->trace->defs.processes[c->process].pid == 0);
}

/* May OWN and OTHER be the same thread, by what is known of them? */
static bool compatible(const struct match *m, const struct candidate *own,
		       const struct candidate *other)
{
	uint32_t pid = m->trace->defs.processes[own->process].pid;

	if (other->claimed || tid_of(m, other) == 0)
		return false;
	if (is_nameless(m, own))
		return pid == 0 || other->process == own->process;
	return other->process == own->process && tid_of(m, other) == tid_of(m, own);
}

/* The base that OWN's calls give with those of one thread, and clearly with no other. */
static bool find_base(const struct match *m, const struct candidate *own, struct calls_window *base,
		      size_t *matched)
{
	size_t second = 0;

	*matched = 0;
	for (size_t k = 0; k < m->n_others; k++)
		if (compatible(m, own, &m->others[k]))
			calls_find_base(&own->calls, &m->others[k].calls, m->input_is_outer, base,
					matched, &second);
	return *matched >= 3 && *matched * 5 >= own->calls.n * 4 && second * 8 < *matched * 7;
}

/* The base of the input's clock, as most of its calls say. */
static bool recover_base(const struct match *m, struct calls_window *base)
{
	struct calls_window bases[ENOUGH_BASES], all;
	size_t weights[ENOUGH_BASES], n = 0, best = 0;

	for (size_t u = 0; u < m->n_own && n < ENOUGH_BASES; u++)
		if (find_base(m, &m->own[u], &bases[n], &weights[n]))
			n++;
	for (size_t i = 0; i < n; i++) {
		size_t weight = weights[i];

		all = bases[i];
		for (size_t j = 0; j < n; j++)
			if (j != i && calls_narrow(&all, &bases[j]))
				weight += weights[j];
		if (weight > best) {
			best = weight;
			*base = all;
		}
	}
	return best > 0;
}

/* OTHER is who OWN is. */
static int name_one_thread(const struct match *m, const struct candidate *own,
			   struct candidate *other)
{
	struct merge_input *input = m->input;

	if (!input->names)
		input->names = calloc(input->trace->defs.n_locations, sizeof(*input->names));
	if (!input->names)
		return -ENOMEM;
	other->claimed = true;
	input->names[own->location] =
		(struct merge_name){ .process = other->process, .tid = tid_of(m, other) };
	return 0;
}

/*
 * A thread without calls to match (one that only starts the others) has a name where there is no
 * choice: it is the only one of its process without, all the others are threads of one process,
 * and that has a single thread more.
 */
static int name_last_thread(const struct match *m, const struct candidate *own)
{
	uint32_t process = ETA_NONE;
	struct candidate *last = NULL;

	for (size_t u = 0; u < m->n_own; u++) {
		const struct candidate *c = &m->own[u];
		const struct merge_name *name =
			m->input->names ? &m->input->names[c->location] : NULL;

		if (c == own || c->process != own->process)
			continue;
		if (!name || !name->tid || (process != ETA_NONE && process != name->process))
			return 0;
		process = name->process;
	}
	for (size_t k = 0; process != ETA_NONE && k < m->n_others; k++) {
		struct candidate *other = &m->others[k];

		if (other->process != process || other->claimed || tid_of(m, other) == 0)
			continue;
		if (last)
			return 0;
		last = other;
	}
	return last ? name_one_thread(m, own, last) : 0;
}

/* Which thread each nameless one is, once the clocks agree to within WINDOW. */
static int name_threads(const struct match *m, const struct calls_window *window)
{
	int rc = 0;

	for (size_t u = 0; u < m->n_own; u++) {
		struct candidate *own = &m->own[u], *best = NULL;
		size_t most = 0, second = 0;

		if (!is_nameless(m, own) || own->calls.n == 0)
			continue;
		for (size_t k = 0; k < m->n_others; k++) {
			struct calls_window narrowed = *window;
			size_t n;

			if (!compatible(m, own, &m->others[k]))
				continue;
			n = calls_match(&own->calls, &m->others[k].calls, m->input_is_outer,
					&narrowed, NULL);
			if (n > most) {
				second = most;
				most = n;
				best = &m->others[k];
			} else if (n > second) {
				second = n;
			}
		}
		if (!best || most * 5 < own->calls.n * 4 || second == most)
			continue;
		if (name_one_thread(m, own, best) < 0)
			return -ENOMEM;
	}
	for (size_t u = 0; rc == 0 && u < m->n_own; u++)
		if (is_nameless(m, &m->own[u]) && m->own[u].calls.n == 0)
			rc = name_last_thread(m, &m->own[u]);
	return rc;
}

/* All pairs of calls that are matched now make the conversion. */
static int synchronise(const struct match *m, const struct calls_window *base)
{
	bool same_rate = m->input->own_clock != ETA_CLOCK_TSC;
	struct eta_sync_result result;
	struct eta_sync *sync;
	int rc = eta_sync_new(same_rate ? 0 : ETA_SYNC_MAX_RATE_PPM, &sync);

	if (rc)
		return rc;
	for (size_t u = 0; rc == 0 && u < m->n_own; u++)
		for (size_t k = 0; rc == 0 && k < m->n_others; k++) {
			const struct candidate *own = &m->own[u], *other = &m->others[k];
			const struct merge_name *name =
				m->input->names ? &m->input->names[own->location] : NULL;
			struct calls_window narrowed = *base;
			uint32_t tid = name && name->tid ? name->tid : tid_of(m, own);
			uint32_t process = name && name->tid ? name->process : own->process;

			if (tid && tid == tid_of(m, other) && process == other->process)
				rc = calls_match(&own->calls, &other->calls, m->input_is_outer,
						 &narrowed, sync) == SIZE_MAX
					     ? -ENOMEM
					     : 0;
		}
	if (rc == 0 && eta_sync_result(sync, &result) == 0) {
		/* from the outer clock to the inner one: turned round where the input is inside */
		int64_t low = result.offset_low_ns, high = result.offset_high_ns;

		m->input->clock = result.map;
		if (!m->input_is_outer)
			m->input->clock =
				eta_clock_offset(-(low + (high - low) / 2), result.map.error_ns);
		if (m->input->own_clock == ETA_CLOCK_UNKNOWN && low <= 0 && high >= 0)
			m->input->clock = eta_clock_offset(0, 0); /* it is the same clock */
		else
			eta_note("%s: its clock was found from %" PRIu64 " calls, to +-%" PRIu64
				 " ns",
				 m->input->trace->path, result.pairs, m->input->clock.error_ns);
		m->input->clock_is_known = true;
	}
	eta_sync_free(sync);
	return rc;
}

static bool has_nameless(const struct eta_trace *trace, const struct merge_input *input)
{
	const struct eta_defs *defs = &input->trace->defs;

	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		if (location->kind == ETA_LOCATION_THREAD && location->process != ETA_NONE &&
		    !(input->names && input->names[l].tid) &&
		    (location->tid == 0 ||
		     trace->defs.processes[input->processes[location->process]].pid == 0))
			return true;
	}
	return false;
}

/* Threads that stay unmatched although there are candidates. */
static void report_nameless(const struct match *m)
{
	const struct eta_defs *defs = &m->input->trace->defs;
	const char *first = NULL;
	size_t n = 0;

	for (size_t u = 0; u < m->n_own && m->n_others > 0; u++)
		if (is_nameless(m, &m->own[u]) && n++ == 0)
			first = defs->locations[m->own[u].location].name;
	if (n > 0)
		eta_warn("%s: %zu of its threads have no id and are not found among the others by "
			 "their calls: \"%s\"%s (--tid-map says who they are)",
			 m->input->trace->path, n, first, n > 1 ? ", ..." : "");
}

static int match_input(struct match *m)
{
	uint32_t index = (uint32_t)(m->input - m->merge->inputs);
	bool base_is_sought = !m->input->clock_is_known;
	int64_t error =
		m->input->clock.error_ns < INT64_MAX ? (int64_t)m->input->clock.error_ns : 0;
	struct calls_window window = { -error, error };
	int rc = load(m, index, 256, &m->own, &m->n_own);

	m->input_is_outer = m->input->rank == 0;
	for (uint32_t i = 0; rc == 0 && i < m->merge->n_inputs; i++) {
		const struct merge_input *other = &m->merge->inputs[i];

		if (i != index && other->clock_is_known && other->rank != m->input->rank)
			rc = load(m, i, 1024, &m->others, &m->n_others);
	}
	if (rc)
		return rc;
	if (base_is_sought && !recover_base(m, &window)) {
		eta_warn("%s: its clock (%s) is not that of the others, and no thread "
			 "shows their difference: its times stay as they are (--clock; or "
			 "--tid-map, where it "
			 "has threads without an id)",
			 m->input->trace->path, eta_clock_name(m->input->own_clock));
		return 0;
	}
	rc = name_threads(m, &window);
	if (rc == 0 && base_is_sought)
		rc = synchronise(m, &window);
	if (rc == 0)
		report_nameless(m);
	return rc;
}

int merge_match(struct eta_trace *trace, struct merge *merge)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++) {
		struct match m = { .trace = trace, .merge = merge, .input = &merge->inputs[i] };

		if (m.input->clock_is_known && !has_nameless(trace, m.input))
			continue;
		rc = match_input(&m);
		candidates_free(m.own, m.n_own);
		candidates_free(m.others, m.n_others);
	}
	return rc;
}

/* The result's process of PID, made where no input knows it. */
static uint32_t process_of_pid(struct eta_trace *trace, uint32_t pid, const char *name)
{
	for (uint32_t p = 0; p < trace->defs.n_processes; p++)
		if (trace->defs.processes[p].pid == pid)
			return p;
	return eta_defs_process(trace, &(struct eta_process){ .name = name, .pid = pid });
}

static int name_one(struct eta_trace *trace, struct merge *merge,
		    const struct eta_thread_name *given)
{
	bool found = false;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		struct merge_input *input = &merge->inputs[i];
		const struct eta_defs *defs = &input->trace->defs;

		for (uint32_t l = 0; l < defs->n_locations; l++) {
			const struct eta_location *location = &defs->locations[l];

			if (location->tid || location->process == ETA_NONE ||
			    strcmp(location->name, given->location) != 0)
				continue;
			if (!input->names)
				input->names = calloc(defs->n_locations, sizeof(*input->names));
			if (!input->names)
				return -ENOMEM;
			input->names[l].tid = given->tid;
			input->names[l].process = process_of_pid(
				trace, given->pid, defs->processes[location->process].name);
			if (input->names[l].process == ETA_NONE)
				return -ENOMEM;
			found = true;
		}
	}
	if (found)
		return 0;
	eta_error("no input has a thread \"%s\" without an id (the map of threads names it)",
		  given->location);
	return -ENOENT;
}

int merge_names(struct eta_trace *trace, struct merge *merge,
		const struct eta_merge_options *options)
{
	int rc = 0;

	for (size_t i = 0; options && rc == 0 && i < options->n_threads; i++)
		rc = name_one(trace, merge, &options->threads[i]);
	return rc;
}

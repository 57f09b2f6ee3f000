/* The clocks of the inputs of a merge: conversions to the clock of the result. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/archive.h"

/* Two clocks read one after the other by a tracer, and what NTP slews in a short run. */
enum { READ_ERROR_NS = 1000 };

const char *merge_property(const struct eta_trace *trace, const char *name)
{
	for (uint32_t i = 0; i < trace->defs.n_properties; i++)
		if (trace->defs.properties[i].process == ETA_NONE &&
		    strcmp(trace->defs.properties[i].name, name) == 0)
			return trace->defs.properties[i].value;
	return NULL;
}

/* What an input ran on; each "" where it is not known or there are several. */
struct machine {
	const char *host, *boot;
};

static bool differ(const char *a, const char *b)
{
	return *a && *b && strcmp(a, b) != 0;
}

static struct machine machine_of(const struct eta_trace *input)
{
	struct machine m = { "", "" };
	bool hosts = false, boots = false;

	for (uint32_t p = 0; p < input->defs.n_processes; p++) {
		const struct eta_process *process = &input->defs.processes[p];

		hosts |= differ(m.host, process->host);
		boots |= differ(m.boot, process->boot);
		if (*process->host)
			m.host = process->host;
		if (*process->boot)
			m.boot = process->boot;
	}
	if (hosts || boots)
		m.host = "";
	if (boots)
		m.boot = "";
	return m;
}

/* Containers have names of their own and the clock of their machine; that ends with a boot. */
static bool same_machine(struct machine a, struct machine b)
{
	return *a.boot && *b.boot ? !differ(a.boot, b.boot) : !differ(a.host, b.host);
}

/* The property SCI::CLOCK_WHAT ("SCI::TSC_OFFSET"), of INPUT or another of its machine; NULL. */
static const char *stated_by(const struct merge *merge, const struct merge_input *input,
			     enum eta_clock clock, const char *what)
{
	const struct machine machine = machine_of(input->trace);
	const char *name = eta_clock_name(clock), *value;
	char property[64];

	if (strncmp(name, "CLOCK_", 6) == 0)
		name += 6;
	snprintf(property, sizeof(property), "SCI::%s_%s", name, what);
	value = merge_property(input->trace, property);
	for (size_t i = 0; !value && i < merge->n_inputs; i++)
		if (same_machine(machine, machine_of(merge->inputs[i].trace)))
			value = merge_property(merge->inputs[i].trace, property);
	return value;
}

/* CLOCK minus CLOCK_MONOTONIC on the host of INPUT, as it or another input of that host says. */
static bool offset_of(const struct merge *merge, const struct merge_input *input,
		      enum eta_clock clock, int64_t *offset_ns)
{
	const char *value =
		clock == ETA_CLOCK_MONOTONIC ? "0" : stated_by(merge, input, clock, "OFFSET");

	*offset_ns = value ? strtoll(value, NULL, 10) : 0;
	return value;
}

/*
 * "TIME MONOTONIC ERROR; ...": readings of both clocks, TIME right to within ERROR. Each is a pair
 * whose inside has no length; far enough from each other they give the rate, too.
 */
static int read_calibration(const char *text, struct eta_clock_map *map)
{
	struct eta_sync_result result;
	struct eta_sync *sync;
	int rc = eta_sync_new(ETA_SYNC_MAX_RATE_PPM, &sync);

	while (rc == 0 && *text) {
		uint64_t time, monotonic, error;
		int n = 0;

		if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &time, &monotonic, &error,
			   &n) != 3 ||
		    error > time || time > INT64_MAX || monotonic > INT64_MAX) {
			rc = -EINVAL;
			break;
		}
		rc = eta_sync_add(sync, &(struct eta_sync_pair){ time - error, time + error,
								 monotonic, monotonic });
		rc = rc < 0 ? rc : 0;
		text += n;
		text += strspn(text, "; ");
	}
	if (rc == 0)
		rc = eta_sync_result(sync, &result);
	if (rc == 0)
		*map = result.map;
	eta_sync_free(sync);
	return rc;
}

/* By readings of INPUT's clock and CLOCK_MONOTONIC, where it or another of its host has some. */
static bool calibrated(const struct merge *merge, struct merge_input *input)
{
	const char *value = stated_by(merge, input, input->own_clock, "CALIBRATION");

	if (!value || merge->clock != ETA_CLOCK_MONOTONIC)
		return false;
	if (read_calibration(value, &input->clock) == 0)
		return true;
	input->clock = eta_clock_offset(0, 0);
	eta_warn("%s: the calibration of its clock (%s), \"%.60s\", is no list of \"time monotonic "
		 "error;\" that agrees: it is not used",
		 input->trace->path, eta_clock_name(input->own_clock), value);
	return false;
}

/*
 * CLOCK of INPUT's host minus what all inputs have in common: CLOCK_MONOTONIC, if they are of one
 * host; two hosts have nothing but their wall clocks.
 */
static bool between(const struct merge *merge, const struct merge_input *input,
		    enum eta_clock clock, bool one_host, int64_t *offset_ns)
{
	int64_t real = 0;
	bool known = one_host || clock == ETA_CLOCK_REALTIME ||
		     offset_of(merge, input, ETA_CLOCK_REALTIME, &real);

	*offset_ns = 0;
	if (!one_host && clock == ETA_CLOCK_REALTIME)
		return true;
	known = known && offset_of(merge, input, clock, offset_ns);
	*offset_ns -= real;
	return known;
}

bool merge_realtime_offset(const struct merge *merge, const struct merge_input *input,
			   int64_t *offset_ns)
{
	return offset_of(merge, input, ETA_CLOCK_REALTIME, offset_ns);
}

/* By how much the wall clocks of two machines may differ, as their kernels say. */
static uint64_t wall_clock_error(const struct merge *merge, const struct merge_input *a,
				 const struct merge_input *b)
{
	const char *of_a = stated_by(merge, a, ETA_CLOCK_REALTIME, "ERROR");
	const char *of_b = stated_by(merge, b, ETA_CLOCK_REALTIME, "ERROR");

	if (!of_a || !of_b)
		return ETA_CLOCK_ERROR_UNKNOWN;
	return strtoull(of_a, NULL, 10) + strtoull(of_b, NULL, 10) + READ_ERROR_NS;
}

/* From INPUT's clock to the one of REFERENCE, by what the tracers recorded; false: they did not. */
static bool declared(const struct merge *merge, struct merge_input *input,
		     const struct merge_input *reference)
{
	const struct machine machine = machine_of(input->trace);
	const struct machine other = machine_of(reference->trace);
	bool here = same_machine(machine, other);
	int64_t own, its;

	if (here && input->own_clock == merge->clock)
		return true;
	if (input->own_clock != ETA_CLOCK_UNKNOWN && here && calibrated(merge, input))
		return true;
	if (!here && input->own_clock == ETA_CLOCK_MONOTONIC &&
	    merge->clock == ETA_CLOCK_MONOTONIC &&
	    merge_measured(
		    input, stated_by(merge, input, ETA_CLOCK_MONOTONIC, "READINGS"), machine.boot,
		    stated_by(merge, reference, ETA_CLOCK_MONOTONIC, "READINGS"), other.boot))
		return true;
	if (input->own_clock == ETA_CLOCK_UNKNOWN ||
	    !between(merge, input, input->own_clock, here, &own) ||
	    !between(merge, reference, merge->clock, here, &its))
		return false;
	input->clock = eta_clock_offset(
		its - own, here ? READ_ERROR_NS : wall_clock_error(merge, input, reference));
	input->is_far = !here;
	return true;
}

/* One line, however many machines a job has. */
static void warn_of_wall_clocks(const struct merge *merge, const struct merge_input *reference)
{
	const struct merge_input *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < merge->n_inputs; i++)
		if (merge->inputs[i].is_far && n++ == 0)
			first = &merge->inputs[i];
	if (n == 1)
		eta_warn("%s: was recorded on %s, %s on %s: their times are compared by the wall "
			 "clocks, and are as far apart as those (--clock says better)",
			 first->trace->path, machine_of(first->trace).host, reference->trace->path,
			 machine_of(reference->trace).host);
	else if (n)
		eta_warn(
			"%s and %zu more: were recorded on other machines than %s: their times are "
			"compared by the wall clocks, and are as far apart as those (--clock says "
			"better)",
			first->trace->path, n - 1, reference->trace->path);
}

void merge_clocks(struct merge *merge, const struct eta_merge_options *options)
{
	const struct merge_input *reference = NULL;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		struct merge_input *input = &merge->inputs[i];

		input->own_clock = eta_clock_by_name(merge_property(input->trace, "SCI::CLOCK"));
		if (input->host_input != ETA_NONE)
			continue;
		input->clock = eta_clock_offset(0, 0);
		if (options && options->clocks && options->clocks[i]) {
			input->clock = *options->clocks[i];
			input->clock_is_given = true;
			continue;
		}
		if (input->own_clock == ETA_CLOCK_UNKNOWN || input->own_clock == ETA_CLOCK_RELATIVE)
			continue;
		if (!reference || (reference->own_clock != ETA_CLOCK_MONOTONIC &&
				   input->own_clock == ETA_CLOCK_MONOTONIC))
			reference = input;
	}
	if (reference)
		merge->clock = reference->own_clock;
	for (size_t i = 0; i < merge->n_inputs; i++) {
		struct merge_input *input = &merge->inputs[i];

		/* without any clock that is known they are taken for the same */
		input->clock_is_known = input->clock_is_given || !reference || input == reference ||
					declared(merge, input, reference);
	}
	if (reference)
		warn_of_wall_clocks(merge, reference);
}

/* Converts what is in TRACE's definitions already, once all conversions are known. */
static void convert_modules(struct eta_trace *trace, const struct merge *merge)
{
	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];
		const uint32_t n = input->trace->defs.n_modules;

		if (eta_clock_is_identity(&input->clock))
			continue;
		for (uint32_t m = input->first_module; m < input->first_module + n; m++)
			trace->defs.modules[m].since_ns =
				eta_clock_convert(&input->clock, trace->defs.modules[m].since_ns);
	}
}

/* The larger of *ERROR and what TEXT, of ARCHIVE_CLOCK_ERROR, says. */
static void take_error(uint64_t *error, const char *text)
{
	uint64_t its =
		*text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : ETA_CLOCK_ERROR_UNKNOWN;

	*error = its > *error ? its : *error;
}

/*
 * Where all inputs of other machines were measured: each against the clock of the result, so two of
 * them by both errors. 0: not all were, or there is none.
 */
static uint64_t measured_error(const struct merge *merge)
{
	uint64_t worst = 0, second = 0;
	bool any = false;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];
		uint64_t error = input->measured_ns;

		if (!input->clock_is_known || input->is_far)
			return 0;
		if (!input->is_measured)
			continue;
		any = true;
		if (error > worst) {
			second = worst;
			worst = error;
		} else if (error > second) {
			second = error;
		}
	}
	return any ? worst + second + READ_ERROR_NS : 0;
}

/* By how much the clocks may differ: of any two machines, of which the two count that are known
 * worst; of inputs whose clock is another and nothing showed how far it is away, nobody knows. */
static uint64_t worst_error(const struct merge *merge)
{
	struct {
		struct machine machine;
		uint64_t error;
	} worst = { { "", "" }, 0 };
	uint64_t second = 0;
	bool any = false;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];
		const struct machine machine = machine_of(input->trace);
		const char *text = stated_by(merge, input, ETA_CLOCK_REALTIME, "ERROR");
		uint64_t error = text ? strtoull(text, NULL, 10) : 0;

		if (!input->clock_is_known ||
		    (input->is_far && input->clock.error_ns == ETA_CLOCK_ERROR_UNKNOWN))
			return ETA_CLOCK_ERROR_UNKNOWN;
		any |= input->is_far;
		if (error > worst.error) {
			if (!same_machine(machine, worst.machine))
				second = worst.error;
			worst.machine = machine;
			worst.error = error;
		} else if (error > second && !same_machine(machine, worst.machine)) {
			second = error;
		}
	}
	return any ? worst.error + second + READ_ERROR_NS : 0;
}

static int error_property(struct eta_trace *trace, const struct merge *merge)
{
	uint64_t measured = measured_error(merge);
	uint64_t error = measured ? measured : worst_error(merge);
	char text[32] = "unknown";

	/* what was merged before is no better */
	for (size_t i = 0; i < merge->n_inputs; i++) {
		const char *before = merge_property(merge->inputs[i].trace, ARCHIVE_CLOCK_ERROR);

		if (before)
			take_error(&error, before);
	}
	if (error == 0)
		return 0;
	if (error != ETA_CLOCK_ERROR_UNKNOWN)
		snprintf(text, sizeof(text), "%" PRIu64, error);
	return eta_defs_property(trace, ARCHIVE_CLOCK_ERROR, text) == ETA_NONE ? -ENOMEM : 0;
}

int merge_clock_properties(struct eta_trace *trace, const struct merge *merge)
{
	const char *names[ETA_N_CLOCKS] = { NULL };
	char all[128] = "", text[160], name[48];
	int n = 0;

	convert_modules(trace, merge);
	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];
		enum eta_clock clock = input->clock_is_known ? merge->clock : input->own_clock;

		if (!names[clock])
			n += snprintf(all + n, sizeof(all) - (size_t)n, "%s%s", n ? "; " : "",
				      eta_clock_name(clock));
		names[clock] = all;
		if (eta_clock_is_identity(&input->clock))
			continue;
		/* as "SCI::SOURCES" counts them */
		snprintf(name, sizeof(name), "SCI::CLOCK_OF_%zu", i + 1);
		eta_clock_map_print(&input->clock, text, sizeof(text));
		if (eta_defs_property(trace, name, text) == ETA_NONE)
			return -ENOMEM;
		if (input->clock.error_ns == ETA_CLOCK_ERROR_UNKNOWN ||
		    input->clock.num != input->clock.den)
			continue;
		snprintf(text, sizeof(text), "%" PRId64 " %" PRId64,
			 input->clock.to_ns - input->clock.from_ns - (int64_t)input->clock.error_ns,
			 input->clock.to_ns - input->clock.from_ns +
				 (int64_t)input->clock.error_ns);
		if (!merge_property(trace, "SCI::OFFSET_INTERVAL") &&
		    eta_defs_property(trace, "SCI::OFFSET_INTERVAL", text) == ETA_NONE)
			return -ENOMEM;
	}
	if (eta_defs_property(trace, "SCI::CLOCK", all) == ETA_NONE)
		return -ENOMEM;
	return error_property(trace, merge);
}

/* ---- guests of guests ---- */

/* FIRST, then SECOND. */
static struct eta_clock_map compose(const struct eta_clock_map *first,
				    const struct eta_clock_map *second)
{
	struct eta_clock_map map = *first;

	map.to_ns = (int64_t)eta_clock_convert(second, (uint64_t)first->to_ns);
	map.error_ns = first->error_ns + second->error_ns;
	map.rate_error_ppb = first->rate_error_ppb + second->rate_error_ppb;
	if (first->num == first->den) {
		map.num = second->num;
		map.den = second->den;
	} else if (second->num != second->den) {
		map.num = (uint64_t)((unsigned __int128)first->num * second->num / second->den);
	}
	return map;
}

int merge_guests_settle(struct merge *merge)
{
	struct eta_clock_map *maps = calloc(merge->n_inputs, sizeof(*maps));

	if (!maps)
		return -ENOMEM;
	for (uint32_t i = 0; i < merge->n_inputs; i++) {
		uint32_t host = merge->inputs[i].host_input;

		maps[i] = merge->inputs[i].clock;
		for (size_t n = 0; host != ETA_NONE && n < merge->n_inputs; n++) {
			maps[i] = compose(&maps[i], &merge->inputs[host].clock);
			host = merge->inputs[host].host_input;
		}
	}
	for (uint32_t i = 0; i < merge->n_inputs; i++)
		merge->inputs[i].clock = maps[i];
	free(maps);
	return 0;
}

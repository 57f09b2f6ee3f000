/* Guests among the inputs: which virtual machine each is, and its clock, by requests. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "guests.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/format/clock-reads.h"
#include "request-streams.h"
#include "services.h"

/* Further apart by the wall clocks, they are two runs that did the same. */
enum { APART_S = 60 };

/* ---- a guest's devices ---- */

static void free_devices(struct guests *g)
{
	for (size_t i = 0; i < g->n_devices; i++)
		free(g->devices[i].sample.v);
	free(g->devices);
	g->devices = NULL;
	g->n_devices = 0;
}

static void add_device(struct guests *g, uint32_t dev, const char *name)
{
	struct device *device = &g->devices[g->n_devices++];

	*device = (struct device){ .dev = dev };
	snprintf(device->name, sizeof(device->name), "%s", name);
}

/* What is compared of their requests; FOR_CLOCK: also of those of its tracer, for the clock. */
static int sample_devices(struct guests *g, bool for_clock)
{
	struct eta_trace *trace = g->merge->inputs[g->input].trace;
	uint32_t *devs = calloc(g->n_devices + 1, sizeof(*devs));
	int rc = devs ? 0 : -ENOMEM;

	for (size_t d = 0; rc == 0 && d < g->n_devices; d++)
		devs[d] = g->devices[d].dev;
	if (rc == 0)
		rc = request_streams_keep_devices(&g->merge->requests, trace, devs, g->n_devices);
	free(devs);
	for (size_t d = 0; rc == 0 && d < g->n_devices; d++) {
		struct device *device = &g->devices[d];
		struct request_stream *stream;

		rc = request_stream_device(&g->merge->requests, trace, device->dev, for_clock,
					   &stream);
		if (rc)
			return rc;
		rc = requests_sample(&(struct requests){ request_stream_next, stream },
				     &device->sample);
		request_stream_free(stream);
		g->has_requests |= device->sample.n > 0;
	}
	return rc;
}

static bool has_device(const struct guests *g, uint32_t dev)
{
	for (size_t d = 0; d < g->n_devices; d++)
		if (g->devices[d].dev == dev)
			return true;
	return false;
}

/* A guest that has done nothing else is known by what its tracer read to compare clocks. */
static int add_idle_devices(struct guests *g)
{
	const struct eta_defs *defs = &g->merge->inputs[g->input].trace->defs;

	free_devices(g);
	g->devices = calloc((size_t)defs->n_properties + 1, sizeof(*g->devices));
	if (!g->devices)
		return -ENOMEM;
	for (uint32_t p = 0; p < defs->n_properties; p++) {
		const char *reads;
		uint32_t dev;
		char name[32];

		if (!clock_reads_is(&defs->properties[p]) ||
		    !clock_reads_parse(defs->properties[p].value, &dev, &reads) ||
		    has_device(g, dev))
			continue;
		snprintf(name, sizeof(name), "%" PRIu32 ":%" PRIu32, dev >> 20, dev & 0xfffff);
		add_device(g, dev, name);
	}
	return sample_devices(g, true);
}

/* Those of the input that is looked at. */
static int load_devices(struct guests *g)
{
	const struct eta_defs *defs = &g->merge->inputs[g->input].trace->defs;
	int rc;

	g->has_requests = false;
	g->devices = calloc((size_t)defs->n_locations + 1, sizeof(*g->devices));
	if (!g->devices)
		return -ENOMEM;
	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_DEVICE)
			add_device(g, defs->locations[l].dev, defs->locations[l].name);
	rc = sample_devices(g, false);
	return rc || g->has_requests ? rc : add_idle_devices(g);
}

/* ---- its clock ---- */

static void append(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, format);
	vsnprintf(text + n, size - n, format, ap);
	va_end(ap);
}

/* All of the guest's machine has the clock of RESULT. */
static void set_clock(struct guests *g, uint32_t vm, const struct eta_sync_result *result)
{
	for (uint32_t i = 0; i < g->merge->n_inputs; i++) {
		struct merge_input *input = &g->merge->inputs[i];

		if (input->clock_is_given || !merge_same_home(g->merge, g->input, i))
			continue;
		input->clock = result->map;
		input->host_input = g->hosts.vms[vm].input;
		input->clock_is_given = true;
	}
}

/* What the host did for each request, now that the clock is known. */
static int assign_devices(struct guests *g, uint32_t vm)
{
	struct service_pair pair = { .guest = g->input,
				     .host = g->hosts.vms[vm].input,
				     .image.pid = g->hosts.vms[vm].pid,
				     .name = g->hosts.vms[vm].name };
	int rc = services_begin(g->merge, &pair);

	for (size_t d = 0; rc == 0 && d < g->n_devices; d++) {
		const struct device *device = &g->devices[d];

		if (!device->disk)
			continue;
		pair.device = device->dev;
		pair.disk = device->disk->number;
		pair.image = guest_image_of(device->disk);
		rc = services_match(g->merge, &pair);
	}
	return rc;
}

/* By how many seconds the wall clocks differ, if the guest's clock is MAP; 0: they do not say. */
static int64_t apart_s(const struct guests *g, uint32_t vm, const struct eta_clock_map *map)
{
	const struct merge_input *guest = &g->merge->inputs[g->input];
	const struct merge_input *host = &g->merge->inputs[g->hosts.vms[vm].input];
	uint64_t at = (uint64_t)map->from_ns;
	int64_t guest_ns, host_ns;

	if (!merge_realtime_offset(g->merge, guest, &guest_ns) ||
	    !merge_realtime_offset(g->merge, host, &host_ns))
		return 0;
	host_ns += (int64_t)eta_clock_convert(map, at);
	guest_ns += (int64_t)at;
	return (host_ns > guest_ns ? host_ns - guest_ns : guest_ns - host_ns) / 1000000000;
}

/* The virtual machine was not named, and its requests may be those of another time. */
static bool is_another_run(const struct guests *g, uint32_t vm, const struct eta_clock_map *map)
{
	bool given = g->options && g->options->guests && g->options->guests[g->input];
	int64_t apart = given ? 0 : apart_s(g, vm, map);

	if (apart <= APART_S)
		return false;
	eta_warn("%s: has the requests of virtual machine %s (pid %" PRIu32
		 "), but by the wall clocks %" PRId64
		 " s apart: taken for another run, and not linked "
		 "(--guest=%" PRIu32 ":%" PRIu32 " links them)",
		 g->merge->inputs[g->input].trace->path, g->hosts.vms[vm].name,
		 g->hosts.vms[vm].pid, apart, g->input + 1, g->hosts.vms[vm].pid);
	return true;
}

static int find_clock(struct guests *g, uint32_t vm)
{
	const char *path = g->merge->inputs[g->input].trace->path;
	struct requests_found found = { 0 };
	struct eta_sync_result result;
	struct eta_sync *sync;
	char disks[512] = "";
	int rc = eta_sync_new(RATE_PPM, &sync);

	if (rc == 0)
		rc = guest_match_devices(g, sync, &found);
	for (size_t d = 0; rc == 0 && d < g->n_devices; d++) {
		const struct device *device = &g->devices[d];
		const char *image;

		if (!device->disk)
			continue;
		image = json_string_value(json_object_get(device->disk->json, "image"));
		append(disks, sizeof(disks), ", %s is %s", device->name, image ? image : "?");
	}
	if (rc)
		goto out;
	if (eta_sync_result(sync, &result) || result.pairs < PAIRS_MIN) {
		eta_warn("%s: virtual machine %s (pid %" PRIu32 ")%s; %" PRIu64 " of %" PRIu64
			 " requests found, too few that agree: its clock is not known by them",
			 path, g->hosts.vms[vm].name, g->hosts.vms[vm].pid, disks, found.found,
			 found.requests);
		goto out;
	}
	if (is_another_run(g, vm, &result.map))
		goto out;
	set_clock(g, vm, &result);
	rc = assign_devices(g, vm);
	if (rc)
		goto out;
	eta_note("%s: virtual machine %s (pid %" PRIu32 ")%s; %" PRIu64 " of %" PRIu64
		 " requests found, %" PRIu64 " pairs wrong, clock +-%" PRIu64 " ns",
		 path, g->hosts.vms[vm].name, g->hosts.vms[vm].pid, disks, found.found,
		 found.requests, found.dropped + result.bad, result.map.error_ns);
out:
	eta_sync_free(sync);
	return rc;
}

static int find_guest(struct guests *g)
{
	const char *path = g->merge->inputs[g->input].trace->path;
	uint32_t vm = (uint32_t)g->hosts.n_vms;
	bool hosts = false;
	int rc;

	for (size_t v = 0; v < g->hosts.n_vms; v++)
		hosts |= guest_may_run(g, &g->hosts.vms[v]);
	if (!hosts)
		return 0;
	rc = load_devices(g);
	if (rc == 0 && g->has_requests)
		rc = guest_find_vm(g, &vm);
	/* the few that it has made may be of before the host's recording */
	if (rc == 0 && g->has_requests && vm == g->hosts.n_vms) {
		rc = add_idle_devices(g);
		if (rc == 0)
			rc = guest_find_vm(g, &vm);
	}
	if (rc == 0 && vm < g->hosts.n_vms && g->hosts.vms[vm].icount) {
		eta_error("%s: virtual machine %s (pid %" PRIu32 ") runs with -icount: its clock "
			  "counts instructions, and there is no conversion of it (--clock=%" PRIu32
			  ":NS merges it all the same)",
			  path, g->hosts.vms[vm].name, g->hosts.vms[vm].pid, g->input + 1);
		rc = -EINVAL;
	}
	g->not_found[g->input] = g->has_requests && vm == g->hosts.n_vms;
	if (rc == 0 && vm < g->hosts.n_vms)
		rc = find_clock(g, vm);
	free_devices(g);
	return rc;
}

/* Is INPUT of a guest of the machine that HOST is of, or of a guest of such a one? */
static bool is_below(const struct merge *merge, uint32_t input, uint32_t host)
{
	uint32_t next = merge->inputs[input].host_input;

	for (size_t n = 0; next != ETA_NONE && n < merge->n_inputs; n++) {
		if (merge_same_home(merge, next, host))
			return true;
		next = merge->inputs[next].host_input;
	}
	return false;
}

/* Who has guests only that run virtual machines is not expected to be one of these. */
static void say_not_found(struct guests *g)
{
	for (g->input = 0; g->input < g->merge->n_inputs; g->input++) {
		bool expected = false;

		for (size_t v = 0; g->not_found[g->input] && v < g->hosts.n_vms; v++)
			expected |= guest_may_run(g, &g->hosts.vms[v]) &&
				    !is_below(g->merge, g->hosts.vms[v].input, g->input);
		if (expected)
			eta_warn("%s: is of another machine, and its requests are not found in "
				 "what the virtual machines did: its clock is not known by them",
				 g->merge->inputs[g->input].trace->path);
	}
}

/* ---- all ---- */

int merge_guests(struct merge *merge, const struct eta_merge_options *options)
{
	struct guests g = { .merge = merge, .options = options };
	int rc = 0;

	g.not_found = calloc(merge->n_inputs, sizeof(*g.not_found));
	if (!g.not_found)
		return -ENOMEM;
	for (uint32_t i = 0; i < merge->n_inputs; i++) {
		merge->inputs[i].host_input = ETA_NONE;
		merge->inputs[i].clock_is_given = options && options->clocks && options->clocks[i];
	}
	rc = host_vms_read(merge, &g.hosts);
	for (uint32_t i = 0; rc == 0 && g.hosts.n_vms && i < merge->n_inputs; i++) {
		if (merge->inputs[i].clock_is_given || !merge_home(merge, i))
			continue;
		g.input = i;
		rc = find_guest(&g);
	}
	if (rc == 0)
		say_not_found(&g);
	free(g.not_found);
	host_vms_free(&g.hosts);
	return rc;
}

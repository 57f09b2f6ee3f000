/* How much is done, beside the score: bytes, and how long operations and requests take. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rates.h"

#include <errno.h>
#include <stdlib.h>

#include "src/common/machines.h"

struct reading {
	const struct eta_defs *defs;
	struct rates *rates;
	struct device_locations devices;
	uint32_t location, depth;
	uint64_t begin_ns;
	bool sized;  /* the outermost region transfers bytes */
	bool counts; /* it is an operation */
};

/* Up to 15 each has its own; then the upper four bits behind the first count. */
static unsigned size_of(uint64_t ns)
{
	unsigned shift = ns < 16 ? 0 : 59 - (unsigned)__builtin_clzll(ns);

	return ns < 16 ? (unsigned)ns : (shift + 1) * 16 + (unsigned)(ns >> shift & 15);
}

static uint64_t largest_of(unsigned size)
{
	unsigned shift = size / 16;

	return shift == 0 ? size : ((UINT64_C(17) + size % 16) << (shift - 1)) - 1;
}

static void rates_clear(struct rates *rates, const struct eta_defs *defs)
{
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		free(rates->locations[l].sizes);
		rates->locations[l] = (struct rate){ 0 };
	}
	for (uint32_t p = 0; p < defs->n_processes; p++) {
		free(rates->processes[p].sizes);
		rates->processes[p] = (struct rate){ 0 };
	}
}

static int add(struct rate *rate, uint64_t ns, uint64_t bytes)
{
	unsigned at;

	if (!rate->sizes)
		rate->sizes = calloc(RATE_SIZES, sizeof(*rate->sizes));
	if (!rate->sizes)
		return -ENOMEM;
	rate->n++;
	rate->ns += ns;
	rate->bytes += bytes;
	at = size_of(ns);
	rate->sizes[at]++;
	rate->first = rate->n == 1 || at < rate->first ? at : rate->first;
	rate->after = at >= rate->after ? at + 1 : rate->after;
	return 0;
}

static int add_operation(struct reading *r, const struct eta_event *leave)
{
	uint32_t process = r->defs->locations[r->location].process;
	uint64_t ns = leave->time_ns - r->begin_ns, bytes = 0;
	int rc;

	if (r->sized && leave->has & ETA_HAS_RET && leave->ret > 0)
		bytes = (uint64_t)leave->ret;
	rc = add(&r->rates->locations[r->location], ns, bytes);
	return rc || process == ETA_NONE ? rc : add(&r->rates->processes[process], ns, bytes);
}

static int read_event(struct reading *r, const struct eta_event *event)
{
	uint32_t device = ETA_NONE;

	if (event->kind == ETA_ENTER && r->depth++ == 0) {
		r->begin_ns = event->time_ns;
		r->sized = event->has & ETA_HAS_SIZE;
		/* what is outside of all operations is a wait between them */
		r->counts = r->defs->regions[event->region].reason == ETA_REASON_NONE;
	} else if (event->kind == ETA_LEAVE && r->depth > 0 && --r->depth == 0) {
		return r->counts ? add_operation(r, event) : 0;
	} else if (event->kind == ETA_IO_BEGIN && event->has & ETA_EVENT_BLOCK_IO &&
		   event->handle != ETA_NONE && event->has & ETA_HAS_END &&
		   event->end_ns >= event->time_ns) {
		const struct eta_handle *handle = &r->defs->handles[event->handle];

		device = device_location(&r->devices, eta_machine(r->defs, handle->host),
					 handle->device);
	}
	return device == ETA_NONE
		       ? 0
		       : add(&r->rates->locations[device], event->end_ns - event->time_ns,
			     event->has & ETA_HAS_SIZE ? event->size : 0);
}

/* ---- while the analysis reads it ---- */

static int read_begin(void *arg, uint32_t location, void **state)
{
	struct reading *r = arg;

	/* by one thread, so this is where all of it begins, maybe again */
	if (location == 0)
		rates_clear(r->rates, r->defs);
	r->location = location;
	r->depth = 0;
	*state = r;
	return 0;
}

static int read_batch(void *state, const struct eta_event *batch, size_t n)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = read_event(state, &batch[i]);
	return rc;
}

static int read_end(void *state)
{
	(void)state;
	return 0;
}

int rates_analyse(struct eta_trace *trace, const struct analysis_options *options,
		  struct analysis **analysis, struct rates *rates)
{
	struct reading r = { .defs = eta_trace_defs(trace), .rates = rates };
	const struct event_tap tap = { read_begin, read_batch, read_end, &r };
	struct analysis_options with = *options;
	int rc = device_locations_new(r.defs, &r.devices);

	rates->locations = calloc((size_t)r.defs->n_locations + 1, sizeof(*rates->locations));
	rates->processes = calloc((size_t)r.defs->n_processes + 1, sizeof(*rates->processes));
	if (!rates->locations || !rates->processes)
		rc = -ENOMEM;
	if (rc)
		eta_error("not enough memory for the rates of %u threads", r.defs->n_locations);
	with.tap = &tap;
	/* this is to disturb the machine least, and the tap wants the locations in order */
	with.threads = 1;
	if (rc == 0)
		rc = analysis_run(trace, &with, analysis);
	free(r.devices.list);
	return rc;
}

void rates_free(struct rates *rates, const struct eta_defs *defs)
{
	if (rates->locations && rates->processes)
		rates_clear(rates, defs);
	free(rates->locations);
	free(rates->processes);
	*rates = (struct rates){ 0 };
}

uint64_t rate_p99(const struct rate *rate)
{
	uint64_t left = rate->n - rate->n / 100;

	for (unsigned size = 0; rate->n && size < RATE_SIZES; size++) {
		if (rate->sizes[size] >= left)
			return largest_of(size);
		left -= rate->sizes[size];
	}
	return 0;
}

/* The tables of sci-top: the columns of the reports, with rates and culprits. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "frame.h"
#include "src/report/process-sums.h"

#define FRAME ((const struct frame *)context)
#define SUM ((const struct process_sum *)((const struct score_row *)row)->item)
#define THREAD ((const struct thread_score *)((const struct score_row *)row)->item)
#define LOCATION (&FRAME->seen.defs->locations[THREAD->location])

const struct view *const top_views[] = {
#define X(name) &top_##name,
	TOP_VIEWS(X)
#undef X
};

const struct view *top_view_find(const char *name)
{
	for (int i = 0; i < N_TOP_VIEWS; i++)
		if (strcmp(top_views[i]->name, name) == 0)
			return top_views[i];
	return NULL;
}

static double seconds(const void *context)
{
	return (double)FRAME->window_ns / 1e9;
}

static void put_rate(const void *context, const struct rate *rate, struct value *v)
{
	value_real(v, (double)rate->bytes / seconds(context));
}

static void put_p99(const struct rate *rate, struct value *v)
{
	if (rate->n)
		value_whole(v, (int64_t)rate_p99(rate));
}

static void get_calls(const void *context, const void *row, struct value *v)
{
	double calls = (double)((const struct score_row *)row)->operations / seconds(context);

	value_real(v, calls);
	v->shown = report_real(calls, calls < 10 ? 1 : 0);
}

#define CALLS                                                                                      \
	{                                                                                          \
		"calls", "calls/s", UNIT_RATIO, 3, get_calls, "operations a second"                \
	}

/* ---- processes ---- */

static uint32_t process_of(const void *context, const void *row)
{
	return (uint32_t)(SUM->process - FRAME->seen.defs->processes);
}

static void get_process_rate(const void *context, const void *row, struct value *v)
{
	put_rate(context, &FRAME->rates.processes[process_of(context, row)], v);
}

static void get_process_p99(const void *context, const void *row, struct value *v)
{
	put_p99(&FRAME->rates.processes[process_of(context, row)], v);
}

static void get_process_culprit(const void *context, const void *row, struct value *v)
{
	struct blame by[CULPRITS_SHOWN];
	struct report_text room;

	if (frame_culprits_of_process(FRAME, process_of(context, row), by))
		value_text(v, frame_culprit_name(FRAME, &by[0], &room));
}

static const struct column process_columns[] = {
	{ "sci", "SCI", UNIT_RATIO, 0, score_get_sci, "of its threads together" },
	{ "sci_max", "worst", UNIT_RATIO, 5, NULL, "score of its most slowed thread",
	  ITEM(struct process_sum, sci_max) },
	{ "interference", "interference", UNIT_NS, 6, score_get_interference,
	  "time lost to others" },
	CALLS,
	{ "rate", "bytes/s", UNIT_BYTES_PER_S, 2, get_process_rate, "bytes of calls a second" },
	{ "p99", "p99", UNIT_NS, 4, get_process_p99, "99 of 100 calls take no longer" },
	SCORE_VERDICT,
	{ "culprit", "culprit", UNIT_TEXT, 0, get_process_culprit, "who took most of it" },
	{ "pid", "pid", UNIT_COUNT, 0, process_sums_get_pid, "process id" },
	{ "process", "process", UNIT_TEXT, 0, process_sums_get_name, "its name" },
	SCORE_DETAILS,
};

static int fill_processes(const struct analysis *a, struct table *t)
{
	return process_sums_fill(a, t, NULL);
}

const struct view top_process = {
	.name = "process", .rows = "processes", COLUMNS_OF(process_columns), .fill = fill_processes
};

/* ---- threads ---- */

static void get_thread_sci(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (!THREAD->scored)
		return;
	value_real(v, THREAD->sci);
	v->shown = report_score(THREAD->sci);
}

static void get_thread_name(const void *context, const void *row, struct value *v)
{
	value_text(v, LOCATION->name);
}

static void get_tid(const void *context, const void *row, struct value *v)
{
	value_whole(v, LOCATION->tid);
}

static void get_pid(const void *context, const void *row, struct value *v)
{
	if (LOCATION->process != ETA_NONE)
		value_whole(v, FRAME->seen.defs->processes[LOCATION->process].pid);
}

static void get_thread_rate(const void *context, const void *row, struct value *v)
{
	put_rate(context, &FRAME->rates.locations[THREAD->location], v);
}

static void get_thread_p99(const void *context, const void *row, struct value *v)
{
	(void)context;
	put_p99(&FRAME->rates.locations[THREAD->location], v);
}

static void get_thread_culprit(const void *context, const void *row, struct value *v)
{
	struct blame by[CULPRITS_SHOWN];
	struct report_text room;

	if (frame_culprits_of_thread(THREAD, by))
		value_text(v, frame_culprit_name(FRAME, &by[0], &room));
}

static const struct column thread_columns[] = {
	{ "sci", "SCI", UNIT_RATIO, 0, get_thread_sci, "the score: interference / lifetime" },
	{ "interference", "interference", UNIT_NS, 6, score_get_interference,
	  "time lost to others" },
	CALLS,
	{ "rate", "bytes/s", UNIT_BYTES_PER_S, 2, get_thread_rate, "bytes of calls a second" },
	{ "p99", "p99", UNIT_NS, 4, get_thread_p99, "99 of 100 calls take no longer" },
	SCORE_VERDICT,
	{ "culprit", "culprit", UNIT_TEXT, 0, get_thread_culprit, "who took most of it" },
	{ "thread", "thread", UNIT_TEXT, 0, get_thread_name, "its name" },
	{ "tid", "tid", UNIT_COUNT, COLUMN_HIDDEN, get_tid, "thread id" },
	{ "pid", "pid", UNIT_COUNT, COLUMN_HIDDEN, get_pid, "process id" },
	SCORE_DETAILS,
};

static int fill_threads(const struct analysis *a, struct table *t)
{
	return view_thread.fill(a, t);
}

const struct view top_thread = {
	.name = "thread", .rows = "threads", COLUMNS_OF(thread_columns), .fill = fill_threads
};

/* ---- devices ---- */

struct device {
	const struct rate *rate;
	const char *name;
	uint32_t dev, machine;
	uint64_t operations;
	struct slowdown slowdown;
	struct verdict verdict;
};

#define DEVICE ((const struct device *)((const struct score_row *)row)->item)

static void get_requests(const void *context, const void *row, struct value *v)
{
	double requests = (double)DEVICE->rate->n / seconds(context);

	value_real(v, requests);
	v->shown = report_real(requests, requests < 10 ? 1 : 0);
}

static void get_device_rate(const void *context, const void *row, struct value *v)
{
	put_rate(context, DEVICE->rate, v);
}

static void get_device_p99(const void *context, const void *row, struct value *v)
{
	(void)context;
	put_p99(DEVICE->rate, v);
}

/* All the time of requests, side by side: how many there were at a time. */
static void get_queue(const void *context, const void *row, struct value *v)
{
	value_real(v, (double)DEVICE->rate->ns / (double)FRAME->window_ns);
}

static const struct column device_columns[] = {
	{ "interference", "interference", UNIT_NS, 0, score_get_interference,
	  "time lost to others by calls for its files" },
	{ "requests", "requests/s", UNIT_RATIO, 1, get_requests, "requests a second" },
	{ "rate", "bytes/s", UNIT_BYTES_PER_S, 2, get_device_rate, "bytes of requests a second" },
	{ "p99", "p99", UNIT_NS, 3, get_device_p99, "99 of 100 requests take no longer" },
	{ "queue", "queue", UNIT_RATIO, 0, get_queue, "requests in flight, on average" },
	SCORE_VERDICT,
	{ "device", "device", UNIT_TEXT, 0, NULL, "its name", ITEM(struct device, name) },
	SCORE_DETAILS,
};

static struct score_row sum_files(const struct analysis *a, struct device *d)
{
	uint64_t io_ns = 0;

	for (uint32_t i = 0; i < a->n_files; i++) {
		const struct file_score *f = &a->files[i];

		if (f->dev != d->dev)
			continue;
		io_ns += f->io_ns;
		d->operations += f->operations;
		slowdown_add(&d->slowdown, &f->slowdown);
	}
	d->verdict = analysis_verdict(a, &d->slowdown, io_ns);
	return (struct score_row){ .slowdown = &d->slowdown,
				   .verdict = &d->verdict,
				   .operations = d->operations,
				   .io_ns = io_ns,
				   .item = d };
}

static int by_requests(const void *a, const void *b)
{
	const struct device *d = ((const struct score_row *)a)->item;
	const struct device *e = ((const struct score_row *)b)->item;

	if (d->rate->n != e->rate->n)
		return d->rate->n > e->rate->n ? -1 : 1;
	return (d->dev > e->dev) - (d->dev < e->dev);
}

static int fill_devices(const struct analysis *a, struct table *t)
{
	const struct frame *f = (const struct frame *)a;
	uint32_t n_locations = a->defs->n_locations;
	struct device *devices = view_rows_new(t, n_locations, sizeof(*devices));
	size_t n = 0;

	if (!devices)
		return -ENOMEM;
	for (uint32_t l = 0; l < n_locations; l++) {
		if (a->defs->locations[l].kind != ETA_LOCATION_DEVICE)
			continue;
		devices[n] = (struct device){ .rate = &f->rates.locations[l],
					      .name = a->defs->locations[l].name,
					      .dev = a->defs->locations[l].dev };
		view_row_set(t, n, sum_files(a, &devices[n]));
		n++;
	}
	return view_add_sorted(t, n, by_requests);
}

const struct view top_device = {
	.name = "device", .rows = "devices", COLUMNS_OF(device_columns), .fill = fill_devices
};

/* ---- containers ---- */

static int fill_containers(const struct analysis *a, struct table *t)
{
	return view_container.fill(a, t);
}

static void get_cgroup(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (SUM->process->cgroup)
		value_whole(v, (int64_t)SUM->process->cgroup);
	snprintf(v->shown.text, sizeof(v->shown.text), "%" PRIu64, SUM->process->cgroup);
}

static const struct column container_columns[] = {
	{ "sci", "SCI", UNIT_RATIO, 0, score_get_sci, "of its threads together" },
	{ "interference", "interference", UNIT_NS, 4, score_get_interference,
	  "time lost to others" },
	CALLS,
	{ "processes", "processes", UNIT_COUNT, 2, NULL, "processes seen in it",
	  ITEM(struct process_sum, processes) },
	SCORE_VERDICT,
	{ "cgroup", "cgroup", UNIT_COUNT, 0, get_cgroup, "id of the control group" },
	{ "process", "process", UNIT_TEXT, 0, process_sums_get_name,
	  "its process 1, else the first" },
	SCORE_DETAILS,
};

const struct view top_container = { .name = "container",
				    .rows = "containers",
				    COLUMNS_OF(container_columns),
				    .fill = fill_containers };

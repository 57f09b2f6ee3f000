/* The workload of a trace: the pass leaves accesses by location, here they are merged by time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/search.h"
#include "eta-ext/format/archive.h"
#include "src/analysis/tables/accesses.h"
#include "passes.h"
#include "src/analysis/tables/file-names.h"
#include "src/common/machines.h"
#include "src/common/spaces.h"
#include "workload-rows.h"

/* The offset of a handle's next read or write is unknown. */
#define POSITION_UNKNOWN UINT64_MAX

/* One location's operations or requests. */
struct input {
	struct spill_reader reader;
	struct access next;
};

struct access_merge {
	struct engine *engine;
	struct workload *workload;
	struct rows rows;
	struct input *inputs;
	struct input **heap; /* by the next begin, then the order of the inputs */
	uint32_t n;
	uint64_t *positions; /* per handle */
	uint32_t *by_tid;    /* threads, by space, tid, begin */
	uint32_t n_by_tid;
	uint32_t *spaces; /* per process (spaces.h) */
	uint32_t *devs;	  /* per file: the number of its device; by device only */
	bool *virtual;	  /* per device: a log of QEMU's has it, as it shows it to its guest */
	struct device_locations devices;
};

/* ---- who a request is for ---- */

static int by_tid(const void *a, const void *b, void *arg)
{
	const struct access_merge *m = arg;
	const struct eta_defs *defs = m->engine->defs;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct eta_location *x = &defs->locations[i], *y = &defs->locations[j];
	int order = space_compare(m->spaces, defs, i, space_of(m->spaces, defs, j), y->tid);

	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The last thread with TID before TIME_NS; FALLBACK if there is none in the trace. */
static uint32_t owner_of(const struct access_merge *m, uint32_t tid, uint64_t time_ns,
			 uint32_t fallback)
{
	const struct eta_defs *defs = m->engine->defs;
	uint32_t low, found = fallback;
	uint32_t space = space_of(m->spaces, defs, fallback);

	low = PARTITION_POINT((uint32_t)0, m->n_by_tid, i,
			      space_compare(m->spaces, defs, m->by_tid[i], space, tid) < 0);
	for (; low < m->n_by_tid && space_compare(m->spaces, defs, m->by_tid[low], space, tid) == 0;
	     low++)
		if (found == fallback || defs->locations[m->by_tid[low]].start_ns <= time_ns)
			found = m->by_tid[low];
	return found;
}

static int find_owners(struct access_merge *m)
{
	const struct eta_defs *defs = m->engine->defs;

	m->by_tid = calloc(defs->n_locations + 1, sizeof(*m->by_tid));
	m->spaces = spaces_new(defs);
	if (!m->by_tid || !m->spaces)
		return -ENOMEM;
	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].kind == ETA_LOCATION_THREAD && defs->locations[l].tid)
			m->by_tid[m->n_by_tid++] = l;
	qsort_r(m->by_tid, m->n_by_tid, sizeof(*m->by_tid), by_tid, m);
	return 0;
}

/* ---- which device a file is on ---- */

/* DEV: machine_dev(). */
static bool is_virtual(const struct access_merge *m, uint64_t dev)
{
	uint32_t location = device_location(&m->devices, (uint32_t)(dev >> 32), (uint32_t)dev);

	return location != ETA_NONE && strncmp(m->engine->defs->locations[location].name,
					       ARCHIVE_QEMU_DISK, strlen(ARCHIVE_QEMU_DISK)) == 0;
}

/* Files known only by path are on an unknown device of their machine. */
static int find_devices(struct access_merge *m)
{
	struct resources *r = &m->engine->resources;
	struct resource_cache cache = { 0 };
	int rc = 0;

	m->virtual = calloc((size_t)r->n_devs + 1, sizeof(*m->virtual));
	if (!m->virtual || device_locations_new(m->engine->defs, &m->devices) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_devs; i++)
		m->virtual[i] = is_virtual(m, r->devs[i]);
	if (m->workload->options.by != WORKLOAD_BY_DEVICE)
		return 0;
	m->devs = calloc((size_t)r->n_files + 1, sizeof(*m->devs));
	if (!m->devs)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_files && !rc; i++) {
		uint64_t dev = r->files[i].dev;

		if ((uint32_t)dev == DEV_PATH_ONLY)
			dev = machine_dev((uint32_t)(dev >> 32), 0);
		rc = resource_dev(r, &cache, dev, &m->devs[i]);
	}
	return rc;
}

/* ---- accesses in time order ---- */

static bool is_before(const struct input *a, const struct input *b)
{
	if (a->next.begin_ns != b->next.begin_ns)
		return a->next.begin_ns < b->next.begin_ns;
	return a < b;
}

static void sift_down(struct access_merge *m, uint32_t i)
{
	struct input *input = m->heap[i];
	uint32_t child;

	for (; (child = 2 * i + 1) < m->n; i = child) {
		if (child + 1 < m->n && is_before(m->heap[child + 1], m->heap[child]))
			child++;
		if (!is_before(m->heap[child], input))
			break;
		m->heap[i] = m->heap[child];
	}
	m->heap[i] = input;
}

static int add_input(struct access_merge *m, const struct spill_stream *stream)
{
	struct input *input = &m->inputs[m->n];
	int rc;

	if (stream->words == 0)
		return 0;
	spill_reader_begin(&input->reader, &m->engine->spill, stream);
	rc = access_unspill(&input->reader, &input->next);
	m->heap[m->n++] = input;
	return rc;
}

static int open_inputs(struct access_merge *m)
{
	uint32_t n = m->engine->defs->n_locations;
	int rc = 0;

	m->inputs = calloc(2 * (size_t)n + 1, sizeof(*m->inputs));
	m->heap = calloc(2 * (size_t)n + 1, sizeof(struct input *));
	if (!m->inputs || !m->heap)
		return -ENOMEM;
	for (uint32_t l = 0; l < n && !rc; l++) {
		rc = add_input(m, &m->engine->locations[l].operations_stream);
		if (!rc)
			rc = add_input(m, &m->engine->locations[l].bios_stream);
	}
	for (uint32_t i = m->n / 2; i-- > 0;)
		sift_down(m, i);
	return rc;
}

/* Takes an offset that the trace does not have from the handle's position. */
static void find_offset(struct access_merge *m, struct access *a)
{
	uint64_t *position =
		a->handle < m->engine->defs->n_handles ? &m->positions[a->handle] : NULL;

	if (a->mode == MODE_OTHER) {
		if (position)
			*position = a->offset;
		return;
	}
	if (a->has_offset || !a->root || !position || *position == POSITION_UNKNOWN)
		return;
	a->has_offset = true;
	a->offset = *position;
	*position += a->bytes;
}

static uint32_t group_of(const struct access_merge *m, const struct access *a)
{
	const struct engine *e = m->engine;
	uint32_t who = a->location;

	/* of a guest's: its host's request is its host's */
	if (a->owner && !(a->owner & TID_LOCATION))
		who = owner_of(m, a->owner, a->begin_ns, who);
	switch (m->workload->options.by) {
	case WORKLOAD_BY_LEVEL:
		return 0;
	case WORKLOAD_BY_FILE:
		return a->level == ETA_LEVEL_BLOCK ? ETA_NONE : a->file;
	case WORKLOAD_BY_PROCESS:
		return e->defs->locations[who].process;
	case WORKLOAD_BY_MACHINE:
		return location_machine(e->defs, who);
	case WORKLOAD_BY_THREAD:
		return who;
	case WORKLOAD_BY_DEVICE:
		return a->level == ETA_LEVEL_BLOCK ? a->file : m->devs[a->file];
	}
	return 0;
}

/* Not requests of a lower device: the same bytes were counted at the stacked one. */
static bool counts(const struct access_merge *m, const struct access *a)
{
	return a->mode != MODE_OTHER &&
	       (!a->lower || m->workload->options.by == WORKLOAD_BY_DEVICE);
}

static int read_in_order(struct access_merge *m)
{
	struct workload *w = m->workload;
	uint64_t interval_ns = w->options.interval_ns;
	int rc = 0;

	while (m->n && !rc) {
		struct input *input = m->heap[0];
		struct access a = input->next;
		uint32_t group;

		if (input->reader.left)
			rc = access_unspill(&input->reader, &input->next);
		else
			m->heap[0] = m->heap[--m->n];
		if (m->n)
			sift_down(m, 0);
		find_offset(m, &a);
		if (rc < 0 || !counts(m, &a))
			continue;
		w->no_offset += !a.has_offset && !a.failed;
		group = group_of(m, &a);
		if (a.level == ETA_LEVEL_BLOCK && m->virtual[a.file])
			a.level = LEVEL_VIRTUAL_DISK;
		/* block requests belong to no file */
		if (group != ETA_NONE || w->options.by != WORKLOAD_BY_FILE)
			rc = rows_add(&m->rows,
				      interval_ns ? (a.begin_ns - w->origin_ns) / interval_ns : 0,
				      group, &a);
	}
	return rc;
}

/* ---- rows for the outside ---- */

/* DEV: machine_dev(). */
static void name_device(const struct access_merge *m, uint64_t dev, struct workload_row *row)
{
	const struct eta_defs *defs = m->engine->defs;
	uint32_t machine = (uint32_t)(dev >> 32);
	uint32_t location = device_location(&m->devices, machine, (uint32_t)dev);

	row->dev = (uint32_t)dev;
	row->host = machine_name(defs, machine);
	if (location != ETA_NONE)
		row->name = defs->locations[location].name;
}

static void name_row(const struct access_merge *m, const struct file_names *names,
		     struct workload_row *row)
{
	const struct engine *e = m->engine;
	const struct resource_file *file;

	row->name = row->host = "";
	switch (m->workload->options.by) {
	case WORKLOAD_BY_LEVEL:
		break;
	case WORKLOAD_BY_FILE:
		file = &e->resources.files[row->group];
		row->name = file_name(names, file);
		row->host = machine_name(e->defs, (uint32_t)(file->dev >> 32));
		if ((uint32_t)file->dev == DEV_PATH_ONLY)
			break;
		row->dev = (uint32_t)file->dev;
		row->inode = file->inode;
		break;
	case WORKLOAD_BY_PROCESS:
		if (row->group == ETA_NONE)
			break;
		row->name = e->defs->processes[row->group].name;
		row->host = e->defs->processes[row->group].host;
		row->pid = e->defs->processes[row->group].pid;
		break;
	case WORKLOAD_BY_MACHINE:
		row->name = row->host = machine_name(e->defs, row->group);
		break;
	case WORKLOAD_BY_THREAD:
		row->name = e->defs->locations[row->group].name;
		row->host = location_host(e->defs, row->group);
		row->tid = e->defs->locations[row->group].tid;
		break;
	case WORKLOAD_BY_DEVICE:
		name_device(m, e->resources.devs[row->group], row);
		break;
	}
}

/* Sorts the rows of a group and interval together, sums first. */
static int by_group(const void *a, const void *b)
{
	const struct workload_row *x = a, *y = b;

	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (y->level > x->level) - (y->level < x->level);
}

static uint64_t moved(const struct workload_row *r)
{
	return r->user_bytes[WORKLOAD_READ] + r->user_bytes[WORKLOAD_WRITE];
}

static int for_output(const void *a, const void *b)
{
	const struct workload_row *x = a, *y = b;
	int order;

	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	if (moved(x) != moved(y))
		return moved(x) > moved(y) ? -1 : 1;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->host, y->host);
	if (order)
		return order;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return (x->level > y->level) - (x->level < y->level);
}

static int finish(struct access_merge *m)
{
	struct workload *w = m->workload;
	struct workload_row *rows = m->rows.list;
	const struct workload_row *sums = NULL;
	struct file_names names;
	size_t n = 0;
	int rc = file_names_new(m->engine->defs, &m->engine->name_times, &names);

	if (rc < 0)
		goto out;
	if (m->rows.n)
		qsort(rows, m->rows.n, sizeof(*rows), by_group);
	for (size_t i = 0; i < m->rows.n; i++) {
		struct workload_row *row = &rows[i];

		if (row->level == LEVEL_OPERATIONS) {
			sums = row;
			continue;
		}
		if (sums && sums->interval == row->interval && sums->group == row->group)
			memcpy(row->user_bytes, sums->bytes, sizeof(row->user_bytes));
	}
	for (size_t i = 0; i < m->rows.n; i++) {
		if (rows[i].level == LEVEL_OPERATIONS)
			continue;
		rows[n] = rows[i];
		w->has_levels |= rows[n].level != ETA_LEVEL_USER;
		name_row(m, &names, &rows[n]);
		durations_sort(&rows[n].size);
		durations_sort(&rows[n].latency);
		durations_sort(&rows[n].gap);
		n++;
	}
	m->rows.n = n;
	rc = rows_add_counted(&m->rows, w);
	if (m->rows.n)
		qsort(m->rows.list, m->rows.n, sizeof(*rows), for_output);
out:
	w->rows = m->rows.list;
	w->n_rows = m->rows.n;
	file_names_free(&names);
	return rc;
}

/* ---- all ---- */

static int count(struct access_merge *m)
{
	const struct eta_defs *defs = m->engine->defs;
	struct workload *w = m->workload;

	for (uint32_t l = 0; l < defs->n_locations; l++) {
		w->events += m->engine->locations[l].counts.events;
		w->operations += m->engine->locations[l].operations;
		w->open_bios += m->engine->locations[l].counts.open_bios;
	}
	w->begin_ns = m->engine->first_ns;
	w->duration_ns = m->engine->last_ns - m->engine->first_ns;
	w->origin_ns = m->engine->windowed ? m->engine->from_ns - w->options.from_ns : w->begin_ns;
	m->positions = malloc((defs->n_handles + 1) * sizeof(*m->positions));
	if (!m->positions)
		return -ENOMEM;
	for (uint32_t h = 0; h < defs->n_handles; h++)
		m->positions[h] = POSITION_UNKNOWN;
	return 0;
}

int workload_run(struct eta_trace *trace, const struct workload_options *options,
		 struct workload **out)
{
	struct analysis_options pass = { .threads = options->threads,
					 .from_ns = options->from_ns,
					 .to_ns = options->to_ns,
					 .progress = options->progress,
					 .progress_arg = options->progress_arg };
	struct workload *w = calloc(1, sizeof(*w));
	struct engine e;
	struct access_merge m = { .engine = &e, .workload = w };
	int rc = engine_open(&e, trace, &pass);

	if (!w)
		rc = -ENOMEM;
	if (rc < 0)
		goto out;
	w->defs = e.defs;
	w->options = *options;
	/* what a guest asks for and its host does is not to be one sum */
	if (w->options.by == WORKLOAD_BY_LEVEL && machines_have_guests(e.defs))
		w->options.by = WORKLOAD_BY_MACHINE;
	e.workload = e.spills = true;
	rc = spill_open(&e.spill);
	if (!rc)
		rc = engine_read(&e);
	if (!rc)
		rc = count(&m);
	if (!rc)
		rc = find_owners(&m);
	if (!rc)
		rc = find_devices(&m);
	if (!rc)
		rc = open_inputs(&m);
	if (!rc)
		rc = read_in_order(&m);
	rc = finish(&m) < 0 && !rc ? -ENOMEM : rc;
	eta_trace_counts(trace, &w->counts);
out:
	if (rc == -ENOMEM)
		eta_error("%s: not enough memory to analyse it", eta_trace_path(trace));
	rows_free_streams(&m.rows);
	free(m.inputs);
	free(m.heap);
	free(m.positions);
	free(m.by_tid);
	free(m.spaces);
	free(m.devs);
	free(m.virtual);
	free(m.devices.list);
	engine_close(&e);
	if (rc < 0) {
		workload_free(w);
		w = NULL;
	}
	*out = w;
	return rc;
}

void workload_free(struct workload *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->n_rows; i++) {
		durations_free(&w->rows[i].size);
		durations_free(&w->rows[i].latency);
		durations_free(&w->rows[i].gap);
	}
	for (size_t i = 0; i < w->n_names; i++)
		free(w->names[i]);
	free(w->names);
	free(w->rows);
	free(w);
}

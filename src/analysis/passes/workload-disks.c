/* The rows of the workload that others counted: QEMU its disks, network file systems their
 * servers'. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload-rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/format/samples.h"
#include "src/common/vm-name.h"

/* A disk whose samples are being added. */
struct counted {
	struct workload *workload;
	uint8_t level;
	struct rows *rows;
	const char *name, *host;
};

/* The part of N, spread evenly from FROM to TO, that lies before AT: whole, so that parts sum up.
 */
static uint64_t part_before(uint64_t n, uint64_t from, uint64_t to, uint64_t at)
{
	if (at <= from)
		return 0;
	return at >= to ? n : (uint64_t)((unsigned __int128)n * (at - from) / (to - from));
}

static uint64_t part_between(uint64_t n, const struct disk_count_sample *s, uint64_t from_ns,
			     uint64_t to_ns)
{
	return part_before(n, s->from_ns, s->to_ns, to_ns) -
	       part_before(n, s->from_ns, s->to_ns, from_ns);
}

static int add_part(struct counted *c, const struct disk_count_sample *s, uint64_t interval,
		    uint64_t from_ns, uint64_t to_ns)
{
	static const enum disk_count counts[][3] = {
		[WORKLOAD_READ] = { DISK_COUNT_READS, DISK_COUNT_READ_BYTES, DISK_COUNT_READ_NS },
		[WORKLOAD_WRITE] = { DISK_COUNT_WRITES, DISK_COUNT_WRITTEN_BYTES,
				     DISK_COUNT_WRITE_NS },
	};
	struct workload_row row = { .interval = interval,
				    .level = c->level,
				    .size = DURATIONS_EMPTY,
				    .latency = DURATIONS_EMPTY,
				    .gap = DURATIONS_EMPTY,
				    .first_ns = from_ns,
				    .last_ns = to_ns,
				    .name = c->name,
				    .host = c->host };

	for (int mode = 0; mode < N_WORKLOAD_MODES; mode++) {
		uint64_t n = s->n[counts[mode][0]], bytes = s->n[counts[mode][1]];
		uint64_t busy_ns = s->n[counts[mode][2]];

		row.n[mode] = part_between(n, s, from_ns, to_ns);
		if (busy_ns != DISK_COUNT_UNKNOWN)
			row.busy_ns += part_between(busy_ns, s, from_ns, to_ns);
		if (bytes == DISK_COUNT_UNKNOWN)
			row.no_bytes = true;
		else
			row.bytes[mode] = part_between(bytes, s, from_ns, to_ns);
	}
	if (!ARRAY_FITS(c->rows->list, c->rows->n + 1, c->rows->room))
		return -ENOMEM;
	c->rows->list[c->rows->n++] = row;
	return 0;
}

/* Interval by interval; what lies outside of --from and --to is left out. */
static int add_sample(struct counted *c, const struct disk_count_sample *s)
{
	const struct workload *w = c->workload;
	uint64_t at = s->from_ns, end = s->to_ns, origin = w->origin_ns;
	int rc = 0;

	if (w->options.from_ns && at < origin + w->options.from_ns)
		at = origin + w->options.from_ns;
	if (w->options.to_ns && end > origin + w->options.to_ns)
		end = origin + w->options.to_ns;
	while (at < end && !rc) {
		uint64_t each = w->options.interval_ns;
		uint64_t number = each && at > origin ? (at - origin) / each : 0;
		uint64_t to = each ? origin + (number + 1) * each : end;

		to = to < end ? to : end;
		rc = add_part(c, s, number, at, to);
		at = to;
	}
	return rc;
}

/* Kept by W, for its rows. */
static const char *keep_name(struct workload *w, const char *name)
{
	if (!ARRAY_FITS(w->names, w->n_names + 1, w->names_room))
		return NULL;
	w->names[w->n_names] = strdup(name);
	return w->names[w->n_names] ? w->names[w->n_names++] : NULL;
}

/* Whose row it is: all machines', a virtual machine's, a disk's. */
static int name_disk(struct counted *c, uint32_t pid, uint32_t disk)
{
	char machine[128], name[160];

	c->name = "";
	if (c->workload->options.by == WORKLOAD_BY_LEVEL)
		return 0;
	if (!vm_guest(c->workload->defs, pid, c->host, machine, sizeof(machine)))
		vm_name(c->workload->defs, pid, machine, sizeof(machine));
	snprintf(name, sizeof(name), "%s", machine);
	if (c->workload->options.by == WORKLOAD_BY_DEVICE)
		snprintf(name, sizeof(name), "disk %" PRIu32 " of %s", disk, machine);
	c->name = keep_name(c->workload, name);
	return c->name ? 0 : -ENOMEM;
}

/* Of all machines, a machine, a server as its client calls it. */
static int name_server(struct counted *c, const char *server)
{
	c->name = "";
	if (c->workload->options.by != WORKLOAD_BY_LEVEL)
		c->name =
			keep_name(c->workload,
				  c->workload->options.by == WORKLOAD_BY_DEVICE ? server : c->host);
	return c->name ? 0 : -ENOMEM;
}

static int add_property(struct counted *c, const char *value)
{
	struct disk_count_sample sample;
	struct samples samples;
	uint32_t pid, disk;
	char server[256];
	bool is_disk = c->level == LEVEL_VIRTUAL_DISK;
	int rc;

	if (!samples_parse(value, &samples) ||
	    !(is_disk ? samples_disk(&samples, &pid, &disk)
		      : samples_net(&samples, server, sizeof(server))))
		return 0;
	c->host = c->workload->options.by == WORKLOAD_BY_LEVEL ? "" : samples.host;
	rc = is_disk ? name_disk(c, pid, disk) : name_server(c, server);
	while (!rc && samples_disk_counts(&samples, &sample))
		rc = add_sample(c, &sample);
	return rc;
}

static int by_key(const void *a, const void *b)
{
	const struct workload_row *x = a, *y = b;
	int order;

	if (x->interval != y->interval)
		return x->interval < y->interval ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->host, y->host);
}

static void join(struct workload_row *to, const struct workload_row *from)
{
	for (int mode = 0; mode < N_WORKLOAD_MODES; mode++) {
		to->n[mode] += from->n[mode];
		to->bytes[mode] += from->bytes[mode];
	}
	to->no_bytes |= from->no_bytes;
	to->busy_ns += from->busy_ns;
	to->first_ns = from->first_ns < to->first_ns ? from->first_ns : to->first_ns;
	to->last_ns = from->last_ns > to->last_ns ? from->last_ns : to->last_ns;
}

/* QEMU's log has the same as its counters, one by one. */
static bool has_disks(const struct rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->list[i].level == LEVEL_VIRTUAL_DISK)
			return true;
	return false;
}

int rows_add_counted(struct rows *rows, struct workload *w)
{
	struct counted c = { .workload = w, .rows = rows };
	size_t first = rows->n, n = first;
	bool logged = has_disks(rows);
	int rc = 0;

	if (w->options.by != WORKLOAD_BY_LEVEL && w->options.by != WORKLOAD_BY_MACHINE &&
	    w->options.by != WORKLOAD_BY_DEVICE)
		return 0;
	for (uint32_t p = 0; p < w->defs->n_properties && !rc; p++) {
		enum samples_kind kind = samples_kind(&w->defs->properties[p]);

		c.level = kind == SAMPLES_DISK_COUNTS ? LEVEL_VIRTUAL_DISK : LEVEL_NET_CLIENT;
		if (kind == SAMPLES_NET_COUNTS || (kind == SAMPLES_DISK_COUNTS && !logged))
			rc = add_property(&c, w->defs->properties[p].value);
	}
	if (rows->n > first)
		qsort(rows->list + first, rows->n - first, sizeof(*rows->list), by_key);
	for (size_t i = first; i < rows->n; i++) {
		if (n > first && by_key(&rows->list[n - 1], &rows->list[i]) == 0)
			join(&rows->list[n - 1], &rows->list[i]);
		else
			rows->list[n++] = rows->list[i];
	}
	rows->n = n;
	return rc;
}

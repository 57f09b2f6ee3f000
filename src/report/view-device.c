/* The devices: the sums of the files on each. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "src/common/machines.h"
#include "views.h"

struct device_sum {
	const char *name; /* NULL unknown */
	uint32_t machine, dev;
	uint32_t files;
	uint64_t operations, io_ns, bytes_read, bytes_written;
	struct slowdown slowdown;
	struct verdict verdict;
};

#define DEVICE ((const struct device_sum *)((const struct score_row *)row)->item)

static void get_device(const void *context, const void *row, struct value *v)
{
	(void)context;
	if (!DEVICE->dev) {
		value_text(v, "");
		snprintf(v->shown.text, sizeof(v->shown.text), "(not known)");
		return;
	}
	v->known = true;
	v->shown = report_device(DEVICE->dev);
}

static void get_host(const void *context, const void *row, struct value *v)
{
	value_text(v, machine_name(((const struct analysis *)context)->defs, DEVICE->machine));
}

static const struct column columns[] = {
	SCORE_NUMBERS,
	{ "files", "files", UNIT_COUNT, 1, NULL, "files on it that were used",
	  ITEM(struct device_sum, files) },
	{ "read", "read", UNIT_BYTES, 2, NULL, "bytes that calls read",
	  ITEM(struct device_sum, bytes_read) },
	{ "written", "written", UNIT_BYTES, 2, NULL, "bytes that calls wrote",
	  ITEM(struct device_sum, bytes_written) },
	SCORE_VERDICT,
	{ "device", "device", UNIT_TEXT, 0, get_device, "of the file system, major:minor" },
	{ "name", "name", UNIT_TEXT, 0, NULL, "where the trace has requests to it",
	  ITEM(struct device_sum, name) },
	{ "host", "host", UNIT_TEXT, COLUMN_HOST, get_host, "whose it is" },
	SCORE_DETAILS,
};

static int by_dev(const void *a, const void *b)
{
	const struct file_score *x = *(const struct file_score *const *)a;
	const struct file_score *y = *(const struct file_score *const *)b;

	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	return (x->dev > y->dev) - (x->dev < y->dev);
}

static int by_loss(const void *a, const void *b)
{
	const struct score_row *x = a, *y = b;
	const struct device_sum *d = x->item, *e = y->item;

	int order = slowdown_order(x->slowdown, y->slowdown);

	if (order)
		return order;
	if (d->machine != e->machine)
		return d->machine < e->machine ? -1 : 1;
	return (d->dev > e->dev) - (d->dev < e->dev);
}

static void add_file(struct device_sum *d, const struct file_score *f)
{
	d->machine = f->machine;
	d->dev = f->dev;
	d->files += f->inode != 0;
	d->operations += f->operations;
	d->io_ns += f->io_ns;
	d->bytes_read += f->bytes_read;
	d->bytes_written += f->bytes_written;
	slowdown_add(&d->slowdown, &f->slowdown);
}

static int fill(const struct analysis *a, struct table *t)
{
	const struct file_score **files = calloc(a->n_files + 1, sizeof(*files));
	struct device_locations devices;
	struct device_sum *sums;
	size_t n = 0, room = 0;
	int rc = -ENOMEM;

	if (!files || device_locations_new(a->defs, &devices) < 0) {
		free(files);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < a->n_files; i++)
		files[i] = &a->files[i];
	if (a->n_files)
		qsort(files, a->n_files, sizeof(*files), by_dev);
	for (uint32_t i = 0; i < a->n_files; i++)
		room += i == 0 || by_dev(&files[i], &files[i - 1]) != 0;
	sums = view_rows_new(t, room, sizeof(*sums));
	if (!sums)
		goto out;
	for (uint32_t i = 0; i < a->n_files; i++) {
		n += i == 0 || by_dev(&files[i], &files[i - 1]) != 0;
		add_file(&sums[n - 1], files[i]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t location = device_location(&devices, sums[i].machine, sums[i].dev);

		sums[i].name = location == ETA_NONE ? NULL : a->defs->locations[location].name;
		sums[i].verdict = analysis_verdict(a, &sums[i].slowdown, sums[i].io_ns);
		view_row_set(t, i,
			     (struct score_row){ .slowdown = &sums[i].slowdown,
						 .verdict = &sums[i].verdict,
						 .operations = sums[i].operations,
						 .io_ns = sums[i].io_ns,
						 .item = &sums[i] });
	}
	rc = view_add_sorted(t, n, by_loss);
out:
	free(devices.list);
	free(files);
	return rc;
}

const struct view view_device = {
	.name = "device", .rows = "devices", COLUMNS_OF(columns), .needs = NEEDS_FILES, .fill = fill
};

/* The timeline of the page as json: columns of each lane. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "data.h"
#include "src/common/machine-tree.h"
#include "src/common/machines.h"
#include "src/common/vm-name.h"

struct putter {
	FILE *out;
	const struct lanes *lanes;
	const struct analysis *a;
	uint32_t bins;			    /* of a lane */
	const struct file_score **files;    /* by inode */
	const struct thread_score **scores; /* by location; NULL: none */
	uint32_t machine;		    /* of the lane, eta_machine */
	struct machine_tree tree;
};

/* Millions of them: printf takes most of the time of a page. */
static void put_number(FILE *out, bool comma, int64_t value)
{
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
	char text[24], *at = text + sizeof(text);

	do {
		*--at = (char)('0' + left % 10);
		left /= 10;
	} while (left);
	if (value < 0)
		*--at = '-';
	if (comma)
		*--at = ',';
	while (at < text + sizeof(text)) /* inline, unlike fwrite */
		putc_unlocked(*at++, out);
}

/* ---- names ---- */

static int put_names(const struct putter *p)
{
	const struct eta_defs *defs = p->a->defs;
	int rc = 0;

	fputs("\"regions\":[", p->out);
	for (uint32_t i = 0; i < defs->n_regions && !rc; i++) {
		const struct eta_region *r = &defs->regions[i];

		fputs(i ? ",\n{\"name\":" : "{\"name\":", p->out);
		rc = html_put_json(p->out, r->name);
		fprintf(p->out, ",\"level\":%d,\"wait\":%s}", (int)r->level,
			r->reason != ETA_REASON_NONE ? "true" : "false");
	}
	fputs("],\"levels\":[", p->out);
	for (int l = 0; l < ETA_N_LEVELS; l++)
		fprintf(p->out, "%s\"%s\"", l ? "," : "", eta_level_name((enum eta_level)l));
	fputs("],\"files\":[", p->out);
	for (uint32_t i = 0; i < p->a->n_files && !rc; i++) {
		if (i)
			fputc(',', p->out);
		rc = html_put_json(p->out, p->a->files[i].path);
	}
	fputs("]", p->out);
	return rc;
}

static int by_inode(const void *x, const void *y)
{
	const struct file_score *a = *(const struct file_score *const *)x;
	const struct file_score *b = *(const struct file_score *const *)y;

	if (a->inode != b->inode)
		return a->inode < b->inode ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	return (a->machine > b->machine) - (a->machine < b->machine);
}

static int sort_files(struct putter *p)
{
	p->files = calloc((size_t)p->a->n_files + 1, sizeof(*p->files));
	if (!p->files)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->a->n_files; i++)
		p->files[i] = &p->a->files[i];
	qsort(p->files, p->a->n_files, sizeof(*p->files), by_inode);
	return 0;
}

/* Of the analysis' files, from 1 on; 0: none. */
static uint32_t file_of(const struct putter *p, const struct lane_region *r)
{
	const struct file_score key = { .inode = r->inode, .dev = r->dev, .machine = p->machine };
	const struct file_score *wanted = &key;
	const struct file_score **found;

	if (!r->has_file || !r->inode)
		return 0;
	found = bsearch(&wanted, p->files, p->a->n_files, sizeof(*p->files), by_inode);
	return found ? (uint32_t)(*found - p->a->files) + 1 : 0;
}

/* ---- columns of regions ---- */

enum region_column {
	COLUMN_BEGIN,
	COLUMN_NS,
	COLUMN_REGION,
	COLUMN_DEPTH,
	COLUMN_FILE,
	COLUMN_SIZE,
	COLUMN_OFFSET,
	COLUMN_WHO,
	N_REGION_COLUMNS
};

/* PREVIOUS: the region before; begins are written as the distance from it, which packs better. */
static int64_t value_of(const struct putter *p, enum region_column c, const struct lane_region *r,
			const struct lane_region *previous)
{
	switch (c) {
	case COLUMN_BEGIN:
		return (int64_t)(r->begin_ns - (previous ? previous->begin_ns : 0));
	case COLUMN_NS:
		return (int64_t)r->ns;
	case COLUMN_REGION:
		return r->region;
	case COLUMN_DEPTH:
		return r->depth;
	case COLUMN_FILE:
		return file_of(p, r);
	case COLUMN_SIZE:
		return r->has_size ? (int64_t)r->size : -1;
	case COLUMN_OFFSET:
		return r->has_offset ? r->offset : -1;
	default:
		return r->who & LANE_WHO_LOCATION ? -1 - (int64_t)(r->who & ~LANE_WHO_LOCATION)
						  : r->who;
	}
}

static void put_regions(const struct putter *p, const struct lane_region *list, size_t n)
{
	static const char *const names[N_REGION_COLUMNS] = { "begin", "ns",   "region", "depth",
							     "file",  "size", "offset", "who" };

	for (int c = 0; c < N_REGION_COLUMNS; c++) {
		fprintf(p->out, ",\"%s\":[", names[c]);
		for (size_t i = 0; i < n; i++)
			put_number(p->out, i > 0,
				   value_of(p, (enum region_column)c, &list[i],
					    i ? &list[i - 1] : NULL));
		fputs("]", p->out);
	}
}

/* ---- time bins ---- */

static int64_t of_bin(const struct bin *b, int column)
{
	return column == 0   ? (int64_t)b->io_ns
	       : column == 1 ? b->limit_ns
			     : b->level_ns[column - 2];
}

/* Sums of the analysis' bins; a column of nothing is left out. */
static void put_bins(const struct putter *p, const struct bin *bins)
{
	uint32_t each = p->a->options.n_bins / p->bins;

	fputs(",\"bins\":[", p->out);
	for (int c = 0; c < 2 + ETA_N_LEVELS; c++) {
		bool any = false;

		for (uint32_t i = 0; i < p->a->options.n_bins && !any; i++)
			any = of_bin(&bins[i], c) != 0;
		fputs(c ? ",[" : "[", p->out);
		for (uint32_t b = 0; b < p->bins && any; b++) {
			int64_t sum = 0;

			for (uint32_t i = b * each; i < (b + 1) * each; i++)
				sum += of_bin(&bins[i], c);
			put_number(p->out, b > 0, sum);
		}
		fputs("]", p->out);
	}
	fputs("]", p->out);
}

/* ---- virtual machines ---- */

/* Of each guest the machine and the process of QEMU that it runs in. */
static int put_guests(const struct putter *p)
{
	const struct eta_defs *defs = p->a->defs;
	char name[128];
	int rc = 0;

	fputs(",\"guests\":[", p->out);
	for (uint32_t m = 0, n = 0; p->tree.within && m < defs->n_processes && !rc; m++) {
		uint32_t within = machine_within(&p->tree, m);

		if (within == ETA_NONE)
			continue;
		fputs(n++ ? ",{\"guest\":" : "{\"guest\":", p->out);
		rc = html_put_json(p->out, machine_name(defs, m));
		fputs(",\"host\":", p->out);
		if (!rc)
			rc = html_put_json(p->out, defs->processes[within].host);
		fputs(",\"vm\":", p->out);
		vm_process_name(defs, within, name, sizeof(name));
		if (!rc)
			rc = html_put_json(p->out, name);
		fputs("}", p->out);
	}
	fputs("]", p->out);
	return rc;
}

/* That of LOCATION, where it is QEMU's, and what its thread is of that. */
static int put_vm(const struct putter *p, uint32_t location)
{
	const struct eta_defs *defs = p->a->defs;
	char text[128];
	int rc = 0;

	if (p->tree.has_vms &&
	    vm_process_name(defs, defs->locations[location].process, text, sizeof(text))) {
		fputs(",\"vm\":", p->out);
		rc = html_put_json(p->out, text);
		if (!rc && vm_thread_role(defs, location, text, sizeof(text))) {
			fputs(",\"role\":", p->out);
			rc = html_put_json(p->out, text);
		}
	}
	return rc;
}

/* ---- lanes ---- */

static int index_scores(struct putter *p)
{
	p->scores = calloc((size_t)p->a->defs->n_locations + 1, sizeof(struct thread_score *));
	if (!p->scores)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->a->n_threads; i++)
		p->scores[p->a->threads[i].location] = &p->a->threads[i];
	return 0;
}

static int put_lane(struct putter *p, uint32_t location, const struct thread_score *t,
		    const struct lane_region *list, size_t n)
{
	const struct eta_defs *defs = p->a->defs;
	const struct eta_location *l = &defs->locations[location];
	int rc;

	p->machine = location_machine(defs, location);
	fprintf(p->out,
		"{\"location\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"pid\":%" PRIu32 ",\"name\":",
		location, l->tid, l->process == ETA_NONE ? 0 : defs->processes[l->process].pid);
	rc = html_put_json(p->out, l->name);
	fputs(",\"process\":", p->out);
	if (!rc)
		rc = html_put_json(p->out,
				   l->process == ETA_NONE ? "" : defs->processes[l->process].name);
	fputs(",\"host\":", p->out);
	if (!rc)
		rc = html_put_json(p->out,
				   machines_differ(defs) ? location_host(defs, location) : "");
	if (!rc)
		rc = put_vm(p, location);
	put_regions(p, list, n);
	if (t && t->bins)
		put_bins(p, t->bins);
	fputs("}", p->out);
	return rc;
}

/* Threads with regions or a score; MOST regions in all, those of a lane are all there or none. */
static int put_lanes(struct putter *p, size_t most, uint64_t *left_out)
{
	const struct lanes *lanes = p->lanes;
	size_t used = 0;
	bool comma = false;
	int rc = 0;

	fputs("\"lanes\":[", p->out);
	for (uint32_t l = 0; l < p->a->defs->n_locations && !rc; l++) {
		const struct thread_score *t = p->scores[l];
		size_t n = lanes->list[l].n;

		if (!n && !(t && t->bins))
			continue;
		if (used + n > most) {
			*left_out += n;
			n = 0;
		}
		used += n;
		if (comma)
			fputs(",\n", p->out);
		comma = true;
		rc = put_lane(p, l, t, lanes->list[l].regions, n);
	}
	fputs("]", p->out);
	return rc;
}

static int put_devices(const struct putter *p)
{
	int rc = 0;

	fputs(",\"devices\":[", p->out);
	for (uint32_t i = 0; i < p->lanes->n_devices && !rc; i++) {
		const struct lane_device *d = &p->lanes->devices[i];

		fputs(i ? ",{\"name\":" : "{\"name\":", p->out);
		rc = html_put_json(p->out, p->a->defs->locations[d->location].name);
		fputs(",\"host\":", p->out);
		if (!rc)
			rc = html_put_json(p->out, machines_differ(p->a->defs)
							   ? location_host(p->a->defs, d->location)
							   : "");
		fputs(",\"busy_ns\":[", p->out);
		for (int b = 0; b < DEPTH_BINS; b++)
			fprintf(p->out, "%s%" PRIu64, b ? "," : "", d->busy_ns[b]);
		fputs("]}", p->out);
	}
	fputs("]", p->out);
	return rc;
}

static bool is_cut(const struct lanes *lanes)
{
	for (uint32_t l = 0; l < lanes->n; l++)
		if (lanes->list[l].cut)
			return true;
	return false;
}

int lanes_put(FILE *out, const struct lanes *lanes, const struct analysis *a, size_t most,
	      uint32_t bins)
{
	struct putter p = { .out = out, .lanes = lanes, .a = a };
	uint64_t left_out = 0;
	int rc = machine_tree_new(a->defs, &p.tree);

	p.bins = bins < a->options.n_bins ? bins : a->options.n_bins;
	if (!rc)
		rc = sort_files(&p);
	if (!rc)
		rc = index_scores(&p);
	if (rc)
		goto out;
	fprintf(out, "{\"span_ns\":%" PRIu64 ",\"before_ns\":%" PRIu64 ",\"all\":%" PRIu64 ",",
		a->duration_ns, a->before_ns, lanes->n_all);
	rc = put_names(&p);
	fputs(",", out);
	if (!rc)
		rc = put_lanes(&p, most, &left_out);
	if (!rc)
		rc = put_devices(&p);
	if (!rc)
		rc = put_guests(&p);
	fprintf(out, ",\"whole\":%s,\"cut\":%s,\"details\":[",
		lanes->whole && !left_out ? "true" : "false",
		is_cut(lanes) || left_out ? "true" : "false");
	for (unsigned i = 0; i < lanes->n_details; i++)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
			lanes->details[i].begin_ns, lanes->details[i].end_ns);
	fputs("]}", out);
out:
	machine_tree_free(&p.tree);
	free(p.scores);
	free(p.files);
	return rc;
}

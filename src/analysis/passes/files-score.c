/* Scores of files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/tables/file-names.h"

static int by_loss(const void *a, const void *b)
{
	const struct file_score *x = a, *y = b;

	int order = slowdown_order(&x->slowdown, &y->slowdown);

	if (order)
		return order;
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void score_file(const struct analysis *a, const struct resource_file *r,
		       const struct file_sum *sum, const struct file_names *names,
		       struct file_score *f)
{
	f->path = file_name(names, r);
	f->machine = (uint32_t)(r->dev >> 32);
	f->machines = 1;
	f->dev = (uint32_t)r->dev == DEV_PATH_ONLY ? 0 : (uint32_t)r->dev;
	f->inode = (uint32_t)r->dev == DEV_PATH_ONLY ? 0 : r->inode;
	f->operations = sum->operations;
	f->bytes_read = sum->bytes_read;
	f->bytes_written = sum->bytes_written;
	f->io_ns = sum->io_ns;
	f->square = sum->square;
	f->slowdown = sum->slowdown;
	f->verdict = analysis_verdict(a, &f->slowdown, f->io_ns);
}

/* A file of a share, as one of the machines sees it. */
struct seen {
	uint32_t share, file; /* number of resources.h */
	uint64_t inode, dev;
};

static int by_share(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return (x->dev > y->dev) - (x->dev < y->dev);
}

static void add_sum(struct file_sum *sum, const struct file_sum *more)
{
	sum->operations += more->operations;
	sum->bytes_read += more->bytes_read;
	sum->bytes_written += more->bytes_written;
	sum->io_ns += more->io_ns;
	sum->square += more->square;
	slowdown_add(&sum->slowdown, &more->slowdown);
}

/* A row for each file that several machines may have used, whoever did. */
static int score_shared(const struct engine *e, struct analysis *a, const struct file_names *names)
{
	struct seen *list = calloc((size_t)e->resources.n_files + 1, sizeof(*list));
	uint32_t n = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < e->resources.n_files; i++) {
		const struct resource_file *r = &e->resources.files[i];
		const struct share *share = share_of(&e->company.shares, r->dev);

		if (share && r->inode && e->file_sums[i].operations)
			list[n++] = (struct seen){ share->number, i, r->inode, r->dev };
	}
	if (n)
		qsort(list, n, sizeof(*list), by_share);
	for (uint32_t i = 0; i < n;) {
		struct file_score *f = &a->files[a->n_files++];
		struct file_sum sum = e->file_sums[list[i].file];
		uint32_t first = i, machines = 1;

		for (i++; i < n && list[i].share == list[first].share &&
			  list[i].inode == list[first].inode;
		     i++) {
			machines += list[i].dev >> 32 != list[i - 1].dev >> 32;
			add_sum(&sum, &e->file_sums[list[i].file]);
		}
		score_file(a, &e->resources.files[list[first].file], &sum, names, f);
		f->machines = machines;
	}
	free(list);
	return 0;
}

static bool is_shared(const struct engine *e, const struct resource_file *r)
{
	return r->inode && share_of(&e->company.shares, r->dev);
}

int engine_files(const struct engine *e, struct analysis *a)
{
	uint32_t n = e->resources.n_files;
	struct file_names names;
	int rc = file_names_new(e->defs, &e->name_times, &names);

	a->files = calloc(n ? n : 1, sizeof(*a->files));
	if (rc < 0 || !a->files) {
		rc = -ENOMEM;
		goto out;
	}
	rc = score_shared(e, a, &names);
	for (uint32_t i = 0; i < n && !rc; i++)
		if (e->file_sums[i].operations && !is_shared(e, &e->resources.files[i]))
			score_file(a, &e->resources.files[i], &e->file_sums[i], &names,
				   &a->files[a->n_files++]);
	if (a->n_files)
		qsort(a->files, a->n_files, sizeof(*a->files), by_loss);
out:
	file_names_free(&names);
	return rc;
}

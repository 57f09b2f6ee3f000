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

int engine_files(const struct engine *e, struct analysis *a)
{
	uint32_t n = e->resources.n_files;
	struct file_names names;
	int rc = file_names_new(e->defs, &names);

	a->files = calloc(n ? n : 1, sizeof(*a->files));
	if (rc < 0 || !a->files) {
		rc = -ENOMEM;
		goto out;
	}
	for (uint32_t i = 0; i < n; i++)
		if (e->file_sums[i].operations)
			score_file(a, &e->resources.files[i], &e->file_sums[i], &names,
				   &a->files[a->n_files++]);
	if (a->n_files)
		qsort(a->files, a->n_files, sizeof(*a->files), by_loss);
out:
	file_names_free(&names);
	return rc;
}

/* What was done to each file, and what was lost there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

/* A file of the definitions, by what resources.h knows it by. */
struct named {
	uint64_t dev, inode;
	const char *path;
};

static int by_identity(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

/* Of several paths to one file the first by alphabet stands for it. */
static int by_identity_and_path(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = by_identity(a, b);

	return order ? order : strcmp(x->path, y->path);
}

static struct named *names_new(const struct eta_defs *defs, uint32_t *n)
{
	struct named *names = calloc(defs->n_files ? defs->n_files : 1, sizeof(*names));
	uint32_t kept = 0;

	*n = 0;
	for (uint32_t i = 0; names && i < defs->n_files; i++) {
		const struct eta_file *f = &defs->files[i];

		if (!f->path[0])
			continue;
		if (f->inode)
			names[(*n)++] = (struct named){ f->dev, f->inode, f->path };
		else
			names[(*n)++] =
				(struct named){ DEV_PATH_ONLY, hash_text(f->path), f->path };
	}
	if (*n)
		qsort(names, *n, sizeof(*names), by_identity_and_path);
	for (uint32_t i = 0; i < *n; i++)
		if (kept == 0 || by_identity(&names[kept - 1], &names[i]) != 0)
			names[kept++] = names[i];
	*n = kept;
	return names;
}

static int by_loss(const void *a, const void *b)
{
	const struct file_score *x = a, *y = b;

	if (x->slowdown.contended_ns != y->slowdown.contended_ns)
		return x->slowdown.contended_ns > y->slowdown.contended_ns ? -1 : 1;
	if (x->slowdown.lost_ns != y->slowdown.lost_ns)
		return x->slowdown.lost_ns > y->slowdown.lost_ns ? -1 : 1;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void score_file(const struct engine *e, const struct analysis *a,
		       const struct resource_file *r, const struct file_sum *sum,
		       const struct named *names, uint32_t n_names, struct file_score *f)
{
	struct named wanted = { r->dev, r->inode, NULL }, *name = NULL;
	int64_t counted = e->split ? sum->slowdown.contended_ns : sum->slowdown.lost_ns;
	double share = sum->io_ns ? (double)counted / (double)sum->io_ns : 0;

	if (n_names)
		name = bsearch(&wanted, names, n_names, sizeof(wanted), by_identity);
	f->path = name ? name->path : "";
	f->dev = r->dev == DEV_PATH_ONLY ? 0 : (uint32_t)r->dev;
	f->inode = r->dev == DEV_PATH_ONLY ? 0 : r->inode;
	f->operations = sum->operations;
	f->bytes_read = sum->bytes_read;
	f->bytes_written = sum->bytes_written;
	f->io_ns = sum->io_ns;
	f->slowdown = sum->slowdown;
	f->verdict = verdict_of(e->split ? sum->slowdown.contended_cell_ns : sum->slowdown.cell_ns,
				share, share, a->has_levels);
}

int engine_files(const struct engine *e, struct analysis *a)
{
	uint32_t n_names, n = e->resources.n_files;
	struct named *names = names_new(e->defs, &n_names);
	int rc = -ENOMEM;

	a->files = calloc(n ? n : 1, sizeof(*a->files));
	if (!names || !a->files)
		goto out;
	for (uint32_t i = 0; i < n; i++)
		if (e->file_sums[i].operations)
			score_file(e, a, &e->resources.files[i], &e->file_sums[i], names, n_names,
				   &a->files[a->n_files++]);
	if (a->n_files)
		qsort(a->files, a->n_files, sizeof(*a->files), by_loss);
	rc = 0;
out:
	free(names);
	return rc;
}

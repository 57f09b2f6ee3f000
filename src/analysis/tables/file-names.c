/* Paths of the files of resources.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "file-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"
#include "src/common/machines.h"

/* More than a file is given by being renamed. */
#define MANY_NAMES 10

/* ---- times ---- */

static int times_room(struct name_times *t, uint32_t n)
{
	if (t->ns || !n)
		return 0;
	t->ns = calloc(n, sizeof(*t->ns));
	if (!t->ns)
		return -ENOMEM;
	t->n = n;
	return 0;
}

int name_times_add(struct name_times *t, const struct eta_defs *defs, uint32_t file, uint64_t ns)
{
	if (file >= defs->n_files)
		return 0;
	if (times_room(t, defs->n_files) < 0)
		return -ENOMEM;
	t->ns[file] += ns;
	return 0;
}

int name_times_merge(struct name_times *into, const struct name_times *from)
{
	if (times_room(into, from->n) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->n; i++)
		into->ns[i] += from->ns[i];
	return 0;
}

int name_times_put(const struct name_times *t, struct packet *p)
{
	packet_put(p, t->n);
	packet_put_list(p, t->ns, t->n);
	return p->rc;
}

int name_times_take(struct name_times *t, const struct eta_defs *defs, struct packet *p)
{
	uint32_t n = packet_take_below(p, (uint64_t)defs->n_files + 1);

	if (n && times_room(t, defs->n_files) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		t->ns[i] += packet_take(p);
	return p->rc;
}

void name_times_free(struct name_times *t)
{
	free(t->ns);
	*t = (struct name_times){ 0 };
}

/* ---- names ---- */

static int by_identity(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

static int by_identity_and_path(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = by_identity(a, b);

	return order ? order : strcmp(x->path, y->path);
}

/*
 * One of each file in LIST of N, which is in the order of paths: the first that has most time.
 * Returns how many these are.
 */
static uint32_t name_each(struct named *list, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n;) {
		struct named one = list[i], *last = kept ? &list[kept - 1] : NULL;

		for (i++; i < n && by_identity_and_path(&one, &list[i]) == 0; i++)
			one.ns += list[i].ns;
		one.used = one.ns > 0;
		if (!last || by_identity(last, &one) != 0) {
			list[kept++] = one;
			continue;
		}
		one.used += last->used;
		one.names = one.names > last->names ? one.names : last->names;
		if (last->ns >= one.ns)
			one.path = last->path, one.ns = last->ns;
		*last = one;
	}
	return kept;
}

int file_names_new(const struct eta_defs *defs, const struct name_times *times,
		   struct file_names *out)
{
	struct named *names = calloc(defs->n_files ? defs->n_files : 1, sizeof(*names));
	uint32_t machine = 0, *n = &out->n;
	const char *host = NULL;

	*n = 0;
	out->list = names;
	for (uint32_t i = 0; names && i < defs->n_files; i++) {
		const struct eta_file *f = &defs->files[i];

		if (!f->path[0])
			continue;
		/* equal texts are one */
		if (f->host != host) {
			host = f->host;
			machine = eta_machine(defs, host);
		}
		names[(*n)++] = (struct named){
			.dev = machine_dev(machine, f->inode ? f->dev : DEV_PATH_ONLY),
			.inode = f->inode ? f->inode : hash_text(f->path),
			.ns = times && times->ns ? times->ns[i] : 0,
			.names = f->names,
			.path = f->path,
		};
	}
	if (*n)
		qsort(names, *n, sizeof(*names), by_identity_and_path);
	*n = name_each(names, *n);
	return names ? 0 : -ENOMEM;
}

void file_names_free(struct file_names *names)
{
	free(names->list);
	names->list = NULL;
}

static const struct named *find(const struct file_names *names, const struct resource_file *r)
{
	struct named wanted = { .dev = r->dev, .inode = r->inode };

	return names->n ? bsearch(&wanted, names->list, names->n, sizeof(wanted), by_identity)
			: NULL;
}

const char *file_name(const struct file_names *names, const struct resource_file *r)
{
	const struct named *name = find(names, r);

	return name ? name->path : "";
}

uint32_t files_of_inode(const struct file_names *names, const struct resource_file *r)
{
	const struct named *name = find(names, r);
	uint32_t files = 1;

	if (name)
		files = name->names > name->used ? name->names : name->used;
	return files >= MANY_NAMES ? files : 1;
}

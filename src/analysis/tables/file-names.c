/* Paths of the files of resources.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "file-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"
#include "src/common/machines.h"

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

/* Of several paths to one file, by which equal times were spent, the first by alphabet is first. */
static int by_identity_and_time(const void *a, const void *b)
{
	const struct named *x = a, *y = b;
	int order = by_identity(a, b);

	if (order)
		return order;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

int file_names_new(const struct eta_defs *defs, const struct name_times *times,
		   struct file_names *out)
{
	struct named *names = calloc(defs->n_files ? defs->n_files : 1, sizeof(*names));
	uint32_t kept = 0, machine = 0, *n = &out->n;
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
		names[(*n)++] =
			(struct named){ machine_dev(machine, f->inode ? f->dev : DEV_PATH_ONLY),
					f->inode ? f->inode : hash_text(f->path),
					times && times->ns ? times->ns[i] : 0, f->path };
	}
	if (*n)
		qsort(names, *n, sizeof(*names), by_identity_and_time);
	for (uint32_t i = 0; i < *n; i++)
		if (kept == 0 || by_identity(&names[kept - 1], &names[i]) != 0)
			names[kept++] = names[i];
	*n = kept;
	return names ? 0 : -ENOMEM;
}

void file_names_free(struct file_names *names)
{
	free(names->list);
	names->list = NULL;
}

const char *file_name(const struct file_names *names, const struct resource_file *r)
{
	struct named wanted = { .dev = r->dev, .inode = r->inode }, *name = NULL;

	if (names->n)
		name = bsearch(&wanted, names->list, names->n, sizeof(wanted), by_identity);
	return name ? name->path : "";
}

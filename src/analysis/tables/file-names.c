/* Paths of the files of resources.h. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "file-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"
#include "src/common/machines.h"

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

int file_names_new(const struct eta_defs *defs, struct file_names *out)
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
					f->inode ? f->inode : hash_text(f->path), f->path };
	}
	if (*n)
		qsort(names, *n, sizeof(*names), by_identity_and_path);
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
	struct named wanted = { r->dev, r->inode, NULL }, *name = NULL;

	if (names->n)
		name = bsearch(&wanted, names->list, names->n, sizeof(wanted), by_identity);
	return name ? name->path : "";
}

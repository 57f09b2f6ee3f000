/* Time in calls, by function and by file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/tables/file-names.h"

static int by_name(const void *a, const void *b)
{
	const struct function_habit *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_time(const void *a, const void *b)
{
	const struct function_habit *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* One name for a call, seen in the library or in the kernel ("vfs:sys_write"). */
static const char *plain_name(const char *region)
{
	const char *colon = strchr(region, ':'), *name = colon ? colon + 1 : region;

	return strncmp(name, "sys_", 4) == 0 ? name + 4 : name;
}

/* Regions of one name are one function. */
static int sum_functions(const struct engine *e, struct analysis *a)
{
	const struct habits *h = &e->habits;
	struct function_habit *list = calloc(h->n_functions + 1, sizeof(*list));
	uint32_t n = 0;

	a->function_habits = list;
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->n_functions && i < e->defs->n_regions; i++)
		if (h->functions[i].n)
			list[n++] = (struct function_habit){
				plain_name(e->defs->regions[i].name),
				h->functions[i].n,
				h->functions[i].ns,
				h->functions[i].bytes,
				h->functions[i].on_tracks == h->functions[i].n,
			};
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	for (uint32_t i = 0; i < n; i++) {
		struct function_habit *last =
			a->n_function_habits ? &list[a->n_function_habits - 1] : NULL;

		if (!last || strcmp(last->name, list[i].name) != 0) {
			list[a->n_function_habits++] = list[i];
			continue;
		}
		last->n += list[i].n;
		last->ns += list[i].ns;
		last->bytes += list[i].bytes;
		last->asynchronous &= list[i].asynchronous;
	}
	if (n)
		qsort(list, a->n_function_habits, sizeof(*list), by_time);
	return 0;
}

static uint64_t time_of(const struct habit *h)
{
	uint64_t ns = 0;

	for (int k = 0; k < N_HABITS; k++)
		ns += h->calls[k].ns;
	return ns;
}

static int by_file_time(const void *a, const void *b)
{
	const struct file_habit *x = a, *y = b;
	uint64_t s = time_of(&x->habit), t = time_of(&y->habit);

	if (s != t)
		return s > t ? -1 : 1;
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int list_files(const struct engine *e, struct analysis *a)
{
	const struct habits *h = &e->habits;
	struct file_habit *list = calloc(h->n_files + 1, sizeof(*list));
	struct file_names names;
	int rc = file_names_new(e->defs, &e->name_times, &names);

	a->file_habits = list;
	if (!list)
		rc = -ENOMEM;
	for (uint32_t i = 0; !rc && i < h->n_files && i < e->resources.n_files; i++) {
		const struct resource_file *r = &e->resources.files[i];
		bool path_only = (uint32_t)r->dev == DEV_PATH_ONLY;

		if (time_of(&h->files[i]) == 0)
			continue;
		list[a->n_file_habits++] = (struct file_habit){
			file_name(&names, r),	  files_of_inode(&names, r),
			(uint32_t)(r->dev >> 32), path_only ? 0 : (uint32_t)r->dev,
			path_only ? 0 : r->inode, h->files[i]
		};
	}
	if (!rc && a->n_file_habits)
		qsort(list, a->n_file_habits, sizeof(*list), by_file_time);
	file_names_free(&names);
	return rc;
}

int engine_habits(const struct engine *e, struct analysis *a)
{
	int rc = sum_functions(e, a);

	return rc ? rc : list_files(e, a);
}

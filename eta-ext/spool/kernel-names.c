/* Which of its names stands for a file of the kernel's side. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/known.h"
#include "eta-ext/base/search.h"

struct named_key {
	uint64_t inode;
	uint64_t dev;
};

int names_note(struct kernel_names *names, struct eta_trace *trace, uint32_t file,
	       const struct eta_file_record *record)
{
	const char *known = trace->defs.files[file].path;
	char path[SPOOL_PATH_ROOM];

	if (!record->inode)
		return 0;
	spool_record_path(record, path, sizeof(path));
	if (strcmp(path, known) != 0) {
		names->several = true;
		known = eta_trace_string(trace, path);
	}
	if (!known || !ARRAY_FITS(names->list, names->n + 1, names->room))
		return -ENOMEM;
	names->list[names->n++] = (struct kernel_name){ .since_ns = record->head.time_ns,
							.path = known,
							.file = file };
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct kernel_name *a = left, *b = right;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return (a->since_ns > b->since_ns) - (a->since_ns < b->since_ns);
}

/* How many from FIRST on are of one file. */
static uint32_t n_of_file(const struct kernel_names *names, size_t first)
{
	uint32_t n = 1;

	while (first + n < names->n && names->list[first + n].file == names->list[first].file)
		n++;
	return n;
}

static bool has_several(const struct kernel_name *of, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (of[i].path != of->path) /* equal texts are one */
			return true;
	return false;
}

int names_sort(struct kernel_names *names, const struct eta_trace *trace)
{
	size_t kept = 0;

	if (!names->several) {
		names_free(names);
		return 0;
	}
	qsort(names->list, names->n, sizeof(*names->list), by_time);
	for (uint32_t first = 0, n; first < names->n; first += n) {
		const struct eta_file *file = &trace->defs.files[names->list[first].file];
		const struct named_key key = { .inode = file->inode, .dev = file->dev };

		n = names->list[first].n = n_of_file(names, first);
		if (!has_several(&names->list[first], n))
			continue;
		if (known_add(&names->files, &key, sizeof(key), (uint32_t)kept))
			return -ENOMEM;
		memmove(&names->list[kept], &names->list[first], n * sizeof(*names->list));
		kept += n;
	}
	names->n = kept;
	return 0;
}

void names_spent(struct kernel_names *names, uint32_t dev, uint64_t inode, uint64_t end_ns,
		 uint64_t ns)
{
	const struct named_key key = { .inode = inode, .dev = dev };
	uint32_t first, at;

	if (!names->several)
		return;
	first = known_find(names->files, &key, sizeof(key));
	if (first == ETA_NONE)
		return;
	at = PARTITION_POINT(first + 1, first + names->list[first].n, i,
			     names->list[i].since_ns <= end_ns) -
	     1;
	names->list[at].spent_ns += ns;
}

/* Those of one path next to each other. */
static int by_path(const void *left, const void *right)
{
	const struct kernel_name *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	return order ? order : (a->since_ns > b->since_ns) - (a->since_ns < b->since_ns);
}

void names_choose(struct kernel_names *names, struct eta_trace *trace)
{
	for (size_t first = 0, n; first < names->n; first += n) {
		struct kernel_name *of = &names->list[first], *best = of;
		uint32_t different = 1;

		n = of->n;
		qsort(of, n, sizeof(*of), by_path);
		for (size_t i = 1; i < n; i++) {
			if (of[i].path == of[i - 1].path)
				of[i].spent_ns += of[i - 1].spent_ns;
			else
				different++;
			if (of[i].spent_ns > best->spent_ns)
				best = &of[i];
		}
		trace->defs.files[best->file].path = best->path;
		trace->defs.files[best->file].names = different;
	}
}

void names_free(struct kernel_names *names)
{
	known_free(&names->files);
	free(names->list);
	*names = (struct kernel_names){ 0 };
}

/* What the kernel has: tracepoints and functions of it and its modules, by their types. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/btf.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PRESENT -1 /* beside 0 absent, and the BTF id of a function of vmlinux */

#define TRACEPOINT_PREFIX "btf_trace_"

static int by_target(const void *a, const void *b)
{
	return strcmp((*(const struct probe *const *)a)->target,
		      (*(const struct probe *const *)b)->target);
}

/* Rows by target. Several programs may have one tracepoint. */
struct wanted {
	const struct probe *rows[KERNELIO_N_PROBES];
	size_t n;
};

static void sort_rows(struct wanted *wanted, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		wanted->rows[wanted->n++] = probes_row(i);
	qsort(wanted->rows, wanted->n, sizeof(wanted->rows[0]), by_target);
}

/* Stores ID for all rows of the target NAME. */
static void mark_rows(const struct wanted *wanted, const char *name, int id, int *present)
{
	const struct probe key = { .target = name }, *searched = &key;
	const struct probe *const *found, *const *end = wanted->rows + wanted->n;

	found = bsearch(&searched, wanted->rows, wanted->n, sizeof(wanted->rows[0]), by_target);
	if (!found)
		return;
	while (found > wanted->rows && strcmp(found[-1]->target, name) == 0)
		found--;
	for (; found < end && strcmp((*found)->target, name) == 0; found++)
		if (!present[*found - probes_row(0)])
			present[*found - probes_row(0)] = id;
}

/*
 * Marks what BTF names, in one pass: it has a hundred thousand types. Those from FIRST_ID on are
 * its own: a module's come after those of vmlinux.
 */
static void mark_present(const struct btf *btf, uint32_t first_id, int *present)
{
	struct wanted tracepoints = { .n = 0 }, functions = { .n = 0 };
	const size_t prefix = strlen(TRACEPOINT_PREFIX);

	sort_rows(&tracepoints, 0, KERNELIO_N_TRACEPOINTS);
	sort_rows(&functions, KERNELIO_N_TRACEPOINTS, KERNELIO_N_PROBES);
	for (uint32_t id = first_id; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const char *name = btf__name_by_offset(btf, type->name_off);

		if (btf_kind(type) == BTF_KIND_FUNC)
			mark_rows(&functions, name, first_id == 1 ? (int)id : PRESENT, present);
		else if (btf_kind(type) == BTF_KIND_TYPEDEF &&
			 strncmp(name, TRACEPOINT_PREFIX, prefix) == 0)
			mark_rows(&tracepoints, name + prefix, PRESENT, present);
	}
}

void probes_find_present(struct btf *vmlinux, int *present)
{
	DIR *dir = opendir(KERNEL_BTF_DIRECTORY);
	struct dirent *entry;

	mark_present(vmlinux, 1, present);
	while (dir && (entry = readdir(dir))) {
		struct btf *module;

		if (entry->d_name[0] == '.' || strcmp(entry->d_name, "vmlinux") == 0)
			continue;
		module = btf__load_module_btf(entry->d_name, vmlinux);
		if (module)
			mark_present(module, btf__type_cnt(vmlinux), present);
		btf__free(module);
	}
	if (dir)
		closedir(dir);
}

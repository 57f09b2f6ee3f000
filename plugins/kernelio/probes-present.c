/* What the kernel has: tracepoints and functions of it and its modules, by their types. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/btf.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

#define PRESENT -1 /* beside 0 absent, and the BTF id of a function of vmlinux */

static int by_target(const void *a, const void *b)
{
	return strcmp((*(const struct probe *const *)a)->target,
		      (*(const struct probe *const *)b)->target);
}

/* The function rows that BTF names, in one pass: it has a hundred thousand types. */
static void mark_functions(const struct btf *btf, uint32_t first_id, int *present)
{
	const struct probe *sorted[KERNELIO_N_PROBES - KERNELIO_N_TRACEPOINTS];
	size_t n = sizeof(sorted) / sizeof(sorted[0]);

	for (size_t i = 0; i < n; i++)
		sorted[i] = probes_row(KERNELIO_N_TRACEPOINTS + i);
	/* cppcheck-suppress uninitvar ; the loop has filled all of it */
	qsort(sorted, n, sizeof(sorted[0]), by_target);
	for (uint32_t id = first_id; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		struct probe key = { 0 };
		const struct probe *wanted = &key, **found;

		if (btf_kind(type) != BTF_KIND_FUNC)
			continue;
		key.target = btf__name_by_offset(btf, type->name_off);
		found = bsearch(&wanted, sorted, n, sizeof(sorted[0]), by_target);
		if (found)
			present[*found - probes_row(0)] = first_id == 1 ? (int)id : PRESENT;
	}
}

/* BTF's types from FIRST_ID on are its own: a module's come after those of vmlinux. */
static void mark_present(const struct btf *btf, uint32_t first_id, int *present)
{
	char name[128];

	for (size_t i = 0; i < KERNELIO_N_TRACEPOINTS; i++) {
		if (present[i])
			continue;
		snprintf(name, sizeof(name), "btf_trace_%s", probes_row(i)->target);
		if (btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) > 0)
			present[i] = PRESENT;
	}
	mark_functions(btf, first_id, present);
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

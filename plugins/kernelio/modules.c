/* File systems whose probes are absent because their module is, and those that come too late. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "file-systems.h"
#include "internal.h"

static const struct {
	const char *name;
	enum kernelio_probe probe; /* every kernel that has the file system has this */
} file_systems[] = {
#define X(module, function) { #module, KERNELIO_PROBE_enter_##function },
	KERNELIO_FS_MODULES(X)
#undef X
};
#define N_FILE_SYSTEMS (sizeof(file_systems) / sizeof(file_systems[0]))

static bool has_types(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), KERNEL_BTF_DIRECTORY "/%s", name);
	return access(path, F_OK) == 0;
}

/* What is built in has no state. */
static bool is_loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s/initstate", name);
	return access(path, F_OK) == 0;
}

static bool is_known(const struct kernelio *k, size_t i)
{
	return k->file_systems & 1U << i;
}

void modules_note(struct kernelio *k, const int *present)
{
	for (size_t i = 0; i < N_FILE_SYSTEMS; i++)
		if (present[file_systems[i].probe])
			k->file_systems |= 1U << i;
}

void modules_say_without_types(const struct kernelio *k, char *text, size_t size)
{
	for (size_t i = 0; i < N_FILE_SYSTEMS; i++)
		if (!is_known(k, i) && is_loaded(file_systems[i].name))
			text_append(text, size, "%s%s: its module has no type information",
				    text[0] ? ", " : "", file_systems[i].name);
}

void modules_warn_late(struct kernelio *k)
{
	for (size_t i = 0; i < N_FILE_SYSTEMS; i++) {
		if (is_known(k, i) || !has_types(file_systems[i].name))
			continue;
		eta_warn("kernel: %s was loaded during the recording, which has no bounds of its "
			 "functions (load it before: modprobe %s); the other levels have its files",
			 file_systems[i].name, file_systems[i].name);
		meta_property(k, "LOADED_LATE=%s", file_systems[i].name);
	}
}

void modules_print(const struct kernelio *k, FILE *out)
{
	fprintf(out, "\n%-12s %s\n", "file system", "its probes");
	for (size_t i = 0; i < N_FILE_SYSTEMS; i++) {
		const char *state = "none: not loaded; other levels have its files";

		if (is_known(k, i))
			state = "found";
		else if (is_loaded(file_systems[i].name))
			state = "none: its module has no type information; other levels have its "
				"files";
		fprintf(out, "%-12s %s\n", file_systems[i].name, state);
	}
}

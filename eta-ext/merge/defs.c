/* Definitions of several traces made one: regions by name, files and devices by number. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/archive.h"
#include "eta-ext/format/clock-reads.h"
#include "eta-ext/format/samples.h"
#include "eta-ext/base/known.h"

int merge_new_map(uint32_t **map, uint32_t n)
{
	*map = calloc(n ? n : 1, sizeof(**map));
	return *map ? 0 : -ENOMEM;
}

/* By name; waits at unlisted places of the kernel are called the same. ROOM: for that. */
static const char *region_key(const struct eta_region *region, char *room, size_t size)
{
	if (strncmp(region->description, ETA_PLACE, strlen(ETA_PLACE)) != 0)
		return region->name;
	snprintf(room, size, "%s\n%s", region->name, region->description);
	return room;
}

static int merge_regions(struct eta_trace *trace, struct merge_input *input, struct known **table)
{
	const struct eta_defs *defs = &input->trace->defs;
	int rc = merge_new_map(&input->regions, defs->n_regions);

	input->rank = 1;
	for (uint32_t i = 0; rc == 0 && i < defs->n_regions; i++) {
		const struct eta_region *region = &defs->regions[i];
		char room[2048];
		const char *key = region_key(region, room, sizeof(room));
		size_t bytes = strlen(key);
		uint32_t index = known_find(*table, key, bytes);

		if (region->level == ETA_LEVEL_USER || region->level == ETA_LEVEL_NONE)
			input->rank = 0;
		if (index == ETA_NONE) {
			index = eta_defs_region(trace, region->name, region->level,
						region->description);
			if (index == ETA_NONE)
				return -ENOMEM;
			rc = known_add(table, key, bytes, index);
		} else if (trace->defs.regions[index].level == ETA_LEVEL_NONE) {
			trace->defs.regions[index].level = region->level;
		}
		input->regions[i] = index;
	}
	return rc;
}

enum { KEY_ROOM = 4200 }; /* bytes of a path and numbers */

/*
 * By machine, device and inode where they are known, and PATH; else by path. A file has several
 * paths where it was renamed, or a later one has its inode: which is meant, the handle says.
 */
static size_t file_key(const struct eta_file *file, const char *path, uint32_t machine, char *key,
		       size_t room)
{
	if (file->inode)
		snprintf(key, room, "%" PRIu32 " %" PRIu32 " %" PRIu64 " %s", machine, file->dev,
			 file->inode, path);
	else
		snprintf(key, room, "%" PRIu32 " %" PRIu32 "%s", machine, file->dev, file->path);
	return strlen(key);
}

/*
 * The file of TRACE that FILE is, or ETA_NONE, and its KEY, of KEY_ROOM bytes. One without a path
 * is the first of its device and inode, of whichever path.
 */
static uint32_t file_find(const struct eta_trace *trace, struct known *table,
			  const struct eta_file *file, uint32_t machine, char *key, size_t *bytes)
{
	uint32_t index;

	*bytes = file_key(file, "", machine, key, KEY_ROOM);
	index = known_find(table, key, *bytes);
	if (!file->inode || !*file->path || (index != ETA_NONE && !*trace->defs.files[index].path))
		return index;
	*bytes = file_key(file, file->path, machine, key, KEY_ROOM);
	return known_find(table, key, *bytes);
}

static int merge_files(struct eta_trace *trace, struct merge_input *input, struct known **table)
{
	const struct eta_defs *defs = &input->trace->defs;
	int rc = merge_new_map(&input->files, defs->n_files);
	const char *of = NULL, *host = "";
	uint32_t machine = 0;

	for (uint32_t i = 0; rc == 0 && i < defs->n_files; i++) {
		struct eta_file file = defs->files[i];
		char key[KEY_ROOM];
		size_t bytes;
		uint32_t index;
		struct eta_file *old;

		/* equal texts are one */
		if (!of || file.host != of) {
			of = file.host;
			host = merge_host(trace, input, of);
			machine = eta_machine(&trace->defs, host);
		}
		file.host = host;
		index = file_find(trace, *table, &file, machine, key, &bytes);
		old = index == ETA_NONE ? NULL : &trace->defs.files[index];
		if (!old) {
			index = eta_defs_file(trace, &file);
			if (index == ETA_NONE)
				return -ENOMEM;
			rc = known_add(table, key, bytes, index);
			/* by which one that knows no path finds it */
			bytes = file_key(&file, "", machine, key, sizeof(key));
			if (rc == 0 && known_find(*table, key, bytes) == ETA_NONE)
				rc = known_add(table, key, bytes, index);
		} else {
			/* an input that knows more than those before it */
			if (!*old->path && *file.path) {
				old->path = eta_trace_string(trace, file.path);
				bytes = file_key(&file, file.path, machine, key, sizeof(key));
				rc = known_add(table, key, bytes, index);
			}
			if (file.names > old->names)
				old->names = file.names;
			if (!*old->fs && *file.fs)
				old->fs = eta_trace_string(trace, file.fs);
			if (!*old->host && *file.host)
				old->host = eta_trace_string(trace, file.host);
			if (!*old->mount && *file.mount)
				old->mount = eta_trace_string(trace, file.mount);
			if (!old->path || !old->fs || !old->host || !old->mount)
				return -ENOMEM;
		}
		input->files[i] = index;
	}
	return rc;
}

static int merge_handles(struct eta_trace *trace, struct merge_input *input, struct known **table)
{
	const struct eta_defs *defs = &input->trace->defs;
	int rc = merge_new_map(&input->handles, defs->n_handles);

	for (uint32_t i = 0; rc == 0 && i < defs->n_handles; i++) {
		struct eta_handle handle = defs->handles[i];
		uint32_t index = ETA_NONE, key[2] = { 0, handle.device };

		if (handle.file != ETA_NONE)
			handle.file = input->files[handle.file];
		/* a handle is one opening of a file; only a device has the same one everywhere */
		if (handle.device) {
			handle.host = merge_host(trace, input, handle.host);
			key[0] = eta_machine(&trace->defs, handle.host);
			index = known_find(*table, key, sizeof(key));
		}
		if (index == ETA_NONE) {
			index = eta_defs_handle(trace, &handle);
			if (index == ETA_NONE)
				return -ENOMEM;
			if (handle.device)
				rc = known_add(table, key, sizeof(key), index);
		}
		input->handles[i] = index;
	}
	return rc;
}

/* Modules and stacks of INPUT, behind those of the inputs before it. */
static int merge_addresses(struct eta_trace *trace, struct merge_input *input)
{
	const struct eta_defs *defs = &input->trace->defs;
	bool ok = true;

	input->first_module = trace->defs.n_modules;
	input->first_stack = trace->defs.n_stacks;
	for (uint32_t i = 0; ok && i < defs->n_modules; i++) {
		struct eta_module module = defs->modules[i];

		if (input->processes)
			module.process = input->processes[module.process];
		ok = eta_defs_module(trace, &module) != ETA_NONE;
	}
	for (uint32_t i = 0; ok && i < defs->n_stacks; i++) {
		struct eta_stack stack = defs->stacks[i];

		if (input->processes)
			stack.process = input->processes[stack.process];
		ok = eta_defs_stack(trace, &stack) != ETA_NONE;
	}
	return ok ? 0 : -ENOMEM;
}

/* ---- properties ---- */

/* Last part of PATH, which is what a reader of the result can make sense of. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* VALUE behind what *LIST holds, unless it is there already. */
static int append(char **list, const char *value)
{
	char *longer;

	if (!*list) {
		*list = strdup(value);
		return *list ? 0 : -ENOMEM;
	}
	if (strcmp(*list, value) == 0)
		return 0;
	if (asprintf(&longer, "%s; %s", *list, value) < 0)
		return -ENOMEM;
	free(*list);
	*list = longer;
	return 0;
}

/* What the inputs say under NAME, all of it. */
static int unite_property(struct eta_trace *trace, const struct merge *merge, const char *name)
{
	char *list = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++) {
		const char *value = merge_property(merge->inputs[i].trace, name);

		if (value)
			rc = append(&list, value);
	}
	if (rc == 0 && list && eta_defs_property(trace, name, list) == ETA_NONE)
		rc = -ENOMEM;
	free(list);
	return rc;
}

static int source_property(struct eta_trace *trace, const struct merge *merge)
{
	char *list = NULL;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++) {
		const struct eta_trace *input = merge->inputs[i].trace;
		const char *sources = merge_property(input, "SCI::SOURCES");
		char *one = NULL;

		/* an input that was merged itself names what it was made of */
		if (!sources &&
		    asprintf(&one, "%s:%s", input->ops->name, file_name(input->path)) < 0) {
			rc = -ENOMEM;
			break;
		}
		rc = append(&list, sources ? sources : one);
		free(one);
	}
	if (rc == 0 && eta_defs_property(trace, "SCI::SOURCES", list) == ETA_NONE)
		rc = -ENOMEM;
	free(list);
	return rc;
}

/* Those of processes. What several inputs say of one, all of it. */
static int merge_process_properties(struct eta_trace *trace, const struct merge_input *input,
				    struct known **table)
{
	const struct eta_defs *defs = &input->trace->defs;
	int rc = 0;

	for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++) {
		const struct eta_property *property = &defs->properties[p];
		struct {
			uint32_t process;
			uint32_t name; /* of trace's properties the first that is called so */
		} key;
		uint32_t index;

		if (property->process == ETA_NONE)
			continue;
		key.process = input->processes[property->process];
		key.name = known_find(*table, property->name, strlen(property->name));
		index = key.name == ETA_NONE ? ETA_NONE : known_find(*table, &key, sizeof(key));
		if (index != ETA_NONE) {
			char *both = strdup(trace->defs.properties[index].value);

			rc = both ? append(&both, property->value) : -ENOMEM;
			if (rc == 0)
				trace->defs.properties[index].value = eta_trace_string(trace, both);
			if (rc == 0 && !trace->defs.properties[index].value)
				rc = -ENOMEM;
			free(both);
			continue;
		}
		index = eta_defs_process_property(trace, key.process, property->name,
						  property->value);
		if (index == ETA_NONE)
			return -ENOMEM;
		if (key.name == ETA_NONE) {
			key.name = index;
			rc = known_add(table, property->name, strlen(property->name), index);
		}
		if (rc == 0)
			rc = known_add(table, &key, sizeof(key), index);
	}
	return rc;
}

/* How many records the inputs are without by intention. */
static int overwritten_property(struct eta_trace *trace, const struct merge *merge)
{
	uint64_t n = 0;
	char text[32];

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const char *value = merge_property(merge->inputs[i].trace, ARCHIVE_OVERWRITTEN);

		n += value ? strtoull(value, NULL, 10) : 0;
	}
	snprintf(text, sizeof(text), "%" PRIu64, n);
	return n && eta_defs_property(trace, ARCHIVE_OVERWRITTEN, text) == ETA_NONE ? -ENOMEM : 0;
}

static int merge_properties(struct eta_trace *trace, const struct merge *merge)
{
	struct known *of_processes = NULL;
	char lost[32];
	int rc;

	snprintf(lost, sizeof(lost), "%" PRIu64, trace->counts.lost);
	if (eta_defs_property(trace, ARCHIVE_LOST, lost) == ETA_NONE)
		return -ENOMEM;
	rc = source_property(trace, merge);
	if (rc == 0)
		rc = overwritten_property(trace, merge);
	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++) {
		const struct eta_defs *defs = &merge->inputs[i].trace->defs;

		for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++)
			if (defs->properties[p].process == ETA_NONE &&
			    !merge_property(trace, defs->properties[p].name) &&
			    strcmp(defs->properties[p].name, "SCI::CLOCK") != 0 &&
			    strcmp(defs->properties[p].name, ARCHIVE_CLOCK_ERROR) != 0 &&
			    strcmp(defs->properties[p].name, ARCHIVE_UNMATCHED) != 0 &&
			    samples_kind(&defs->properties[p]) == N_SAMPLES &&
			    !clock_reads_is(&defs->properties[p]))
				rc = unite_property(trace, merge, defs->properties[p].name);
		if (rc == 0)
			rc = merge_process_properties(trace, &merge->inputs[i], &of_processes);
	}
	known_free(&of_processes);
	return rc;
}

/* Known once the threads are; the archive says what the merging said. */
static int unmatched_property(struct eta_trace *trace)
{
	char unmatched[32];

	if (trace->counts.unmatched == 0)
		return 0;
	snprintf(unmatched, sizeof(unmatched), "%" PRIu64, trace->counts.unmatched);
	return eta_defs_property(trace, ARCHIVE_UNMATCHED, unmatched) == ETA_NONE ? -ENOMEM : 0;
}

/* A single trace keeps its definitions as they are. */
static int copy_defs(struct eta_trace *trace, const struct merge *merge)
{
	const struct eta_defs *defs = &merge->inputs[0].trace->defs;
	bool ok = true;

	for (uint32_t i = 0; ok && i < defs->n_regions; i++) {
		const struct eta_region *region = &defs->regions[i];

		ok = eta_defs_region(trace, region->name, region->level, region->description) !=
		     ETA_NONE;
		if (ok)
			trace->defs.regions[i] = (struct eta_region){
				.name = trace->defs.regions[i].name,
				.level = region->level,
				.reason = region->reason,
				.description = trace->defs.regions[i].description,
			};
	}
	for (uint32_t i = 0; ok && i < defs->n_processes; i++)
		ok = eta_defs_process(trace, &defs->processes[i]) != ETA_NONE;
	for (uint32_t i = 0; ok && i < defs->n_files; i++)
		ok = eta_defs_file(trace, &defs->files[i]) != ETA_NONE;
	for (uint32_t i = 0; ok && i < defs->n_handles; i++)
		ok = eta_defs_handle(trace, &defs->handles[i]) != ETA_NONE;
	for (uint32_t i = 0; ok && i < defs->n_locations; i++)
		ok = eta_defs_location(trace, &defs->locations[i]) != ETA_NONE;
	for (uint32_t i = 0; ok && i < defs->n_properties; i++)
		ok = eta_defs_process_property(trace, defs->properties[i].process,
					       defs->properties[i].name,
					       defs->properties[i].value) != ETA_NONE;
	return ok ? 0 : -ENOMEM;
}

int merge_defs(struct eta_trace *trace, struct merge *merge,
	       const struct eta_merge_options *options)
{
	struct known *regions = NULL, *files = NULL, *devices = NULL;
	int rc = 0;

	if (merge->as_is) {
		rc = copy_defs(trace, merge);
		if (rc == 0)
			rc = merge_addresses(trace, &merge->inputs[0]);
		goto out;
	}
	rc = merge_processes(trace, merge);
	for (size_t i = 0; rc == 0 && i < merge->n_inputs; i++) {
		struct merge_input *input = &merge->inputs[i];

		rc = merge_regions(trace, input, &regions);
		if (rc == 0)
			rc = merge_files(trace, input, &files);
		if (rc == 0)
			rc = merge_handles(trace, input, &devices);
		if (rc == 0)
			rc = merge_addresses(trace, input);
	}
	if (rc == 0)
		rc = merge_properties(trace, merge);
	if (rc == 0)
		rc = merge_names(trace, merge, options);
	if (rc == 0)
		rc = merge_match(trace, merge);
	if (rc == 0)
		rc = merge_clock_properties(trace, merge);
out:
	if (rc == 0)
		rc = merge_threads(trace, merge);
	if (rc == 0 && !merge->as_is)
		rc = unmatched_property(trace);
	if (rc == -ENOMEM)
		eta_error("%s: not enough memory for the definitions", trace->path);
	known_free(&regions);
	known_free(&files);
	known_free(&devices);
	return rc;
}

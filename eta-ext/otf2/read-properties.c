/* OTF2 source: properties that are texts; among those of processes are modules and stacks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read.h"

#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/addresses.h"

/* What stands behind PREFIX in NAME, or NULL. */
static const char *behind(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* Is property NAME of a process one of its numbers? Some tracers write these as texts. */
static bool is_number(const char *name)
{
	static const char *const names[] = { ARCHIVE_PID,    ARCHIVE_PPID,   ARCHIVE_PARENT_TID,
					     ARCHIVE_CGROUP, ARCHIVE_NS_PID, ARCHIVE_PID_NS,
					     ARCHIVE_START };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool build_module(struct raw_defs *raw, const char *value, uint32_t process)
{
	char build_id[ETA_BUILD_ID_TEXT];
	struct eta_module module;

	if (eta_module_parse(value, &module, build_id) < 0) {
		raw->trace->counts.bad++;
		return true;
	}
	module.process = process;
	return eta_defs_module(raw->trace, &module) != ETA_NONE;
}

static bool build_stack(struct raw_defs *raw, struct otf2 *otf2, const char *number,
			const char *value, uint32_t process)
{
	uint64_t *frames = malloc(ETA_MAX_FRAMES * sizeof(*frames));
	struct eta_stack stack = { .process = process, .frames = frames };
	bool ok = frames != NULL;

	stack.n_frames = ok ? eta_stack_parse(value, frames) : 0;
	if (ok && stack.n_frames == 0) {
		raw->trace->counts.bad++;
	} else if (ok) {
		uint32_t index = eta_defs_stack(raw->trace, &stack);

		ok = index != ETA_NONE &&
		     PUSH(&otf2->stacks, { strtoull(number, NULL, 10), index });
	}
	free(frames);
	return ok;
}

bool otf2_build_process(struct raw_defs *raw, struct otf2 *otf2, uint64_t group, uint32_t process)
{
	const struct raw_property *v = raw->group_properties.v;
	bool ok = true;

	for (uint32_t i = otf2_first_property(&raw->group_properties, group);
	     ok && i < raw->group_properties.n && v[i].owner == group; i++) {
		const char *name = otf2_text(raw, v[i].name), *number;

		if (v[i].type != OTF2_TYPE_STRING)
			continue;
		if (behind(name, ARCHIVE_MODULE))
			ok = build_module(raw, otf2_text(raw, v[i].value.stringRef), process);
		else if ((number = behind(name, ARCHIVE_STACK_PROPERTY)))
			ok = build_stack(raw, otf2, number, otf2_text(raw, v[i].value.stringRef),
					 process);
		else if (!is_number(name))
			ok = eta_defs_process_property(raw->trace, process, name,
						       otf2_text(raw, v[i].value.stringRef)) !=
			     ETA_NONE;
	}
	return ok;
}

bool otf2_build_properties(struct raw_defs *raw)
{
	const struct raw_property *v = raw->node_properties.v;
	bool ok = true;

	for (uint32_t i = 0; ok && i < raw->node_properties.n; i++) {
		const char *name = otf2_text(raw, v[i].name);

		if (v[i].type == OTF2_TYPE_STRING && behind(name, "SCI::"))
			ok = eta_defs_property(raw->trace, name,
					       otf2_text(raw, v[i].value.stringRef)) != ETA_NONE;
	}
	return ok;
}

/*
 * The process of the property "SCI::PROCESS_PID::KEY" or
 * "SCI::PROCESS_PID_OF_NAMESPACE_SINCE_START::KEY"; ETA_NONE: none, or not unique.
 */
static uint32_t named_process(const struct eta_defs *defs, const char *name, const char **key)
{
	const char *number = behind(name, "SCI::PROCESS_");
	uint32_t found = ETA_NONE;
	unsigned long pid, ns = 0;
	char *end;

	if (!number)
		return ETA_NONE;
	pid = strtoul(number, &end, 10);
	if (behind(end, "_OF_"))
		ns = strtoul(end + strlen("_OF_"), &end, 10);
	end = strstr(end, "::");
	if (!pid || !end)
		return ETA_NONE;
	*key = end + strlen("::");
	for (uint32_t p = 0; p < defs->n_processes; p++) {
		const struct eta_process *process = &defs->processes[p];

		if ((ns ? process->ns_pid : process->pid) != pid || (ns && process->pid_ns != ns))
			continue;
		if (found != ETA_NONE)
			return ETA_NONE;
		found = p;
	}
	return found;
}

bool otf2_adopt_properties(struct eta_trace *trace)
{
	for (uint32_t i = 0; i < trace->defs.n_properties; i++) {
		struct eta_property *property = &trace->defs.properties[i];
		const char *key;
		uint32_t process = property->process == ETA_NONE
					   ? named_process(&trace->defs, property->name, &key)
					   : ETA_NONE;

		if (process == ETA_NONE)
			continue;
		property->process = process;
		property->name = eta_trace_string(trace, key);
		if (!property->name)
			return false;
	}
	return true;
}

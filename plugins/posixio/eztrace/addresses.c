/* The addresses of calls: modules and call stacks of an EZTrace archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink.h"
#include "eta-ext/format/addresses.h"
#include "eta-ext/format/archive.h"
#include "tables.h"

/* Property "PREFIXn" = TEXT, which is freed. With the lock. */
static void put_property(const char *prefix, uint32_t n, char *text)
{
	char name[32];
	int bytes = snprintf(name, sizeof(name), "%s%u", prefix, n);
	const struct def_property property = {
		.name = defs_string_add(name, (size_t)bytes),
		.value = text ? defs_string_add(text, strlen(text)) : NO_STRING,
	};

	free(text);
	if (property.name == NO_STRING || property.value == NO_STRING)
		defs.out_of_memory = true;
	else
		PUT(defs.group_properties, defs.group_properties.n, property);
}

static void keep_module(const struct module_found *found)
{
	struct def_module module = { .found = *found };

	module.found.path = strdup(found->path);
	module.found.build_id = module.build_id;
	if (found->build_id_bytes)
		memcpy(module.build_id, found->build_id, found->build_id_bytes);
	defs_lock();
	if (module.found.path)
		PUT(defs.modules, defs.modules.n, module);
	else
		defs.out_of_memory = true;
	defs_unlock();
}

void defs_modules_update(void)
{
	modules_update(keep_module);
}

void defs_modules_each(modules_take *take)
{
	for (uint32_t i = 0; i < defs.modules.n; i++) {
		struct module_found found = defs.modules.at[i].found;

		found.build_id = defs.modules.at[i].build_id; /* the table may have moved */
		take(&found);
	}
}

static void put_module(const struct module_found *found)
{
	char build_id[2 * MODULES_MAX_BUILD_ID + 1], *text;
	const struct eta_module module = {
		.program = found->program,
		.since_ns = found->time_ns,
		.start = found->start,
		.end = found->end,
		.bias = found->bias,
		.build_id = build_id,
		.path = found->path,
	};

	eta_hex(found->build_id, found->build_id_bytes, build_id);
	put_property(ARCHIVE_MODULE, defs.group_properties.n,
		     eta_module_print(&module, &text) == 0 ? text : NULL);
}

void defs_name_modules(void)
{
	defs_modules_each(put_module);
}

bool defs_stack(uint32_t id, const uintptr_t *frames, unsigned n)
{
	uint64_t addresses[STACKS_MAX_DEPTH];
	const struct eta_stack stack = { .n_frames = n, .frames = addresses };
	char *text;

	for (unsigned i = 0; i < n; i++)
		addresses[i] = frames[i];
	if (eta_stack_print(&stack, &text) != 0)
		return false;
	put_property(ARCHIVE_STACK_PROPERTY, id, text);
	return true;
}

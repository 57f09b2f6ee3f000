/* OTF2 writer: properties of the trace and of its processes; modules and stacks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/addresses.h"
#include "write-defs.h"

/*
 * libotf2 writes the anchor file from one chunk of 256 KiB: without room for all properties in it
 * there is no archive. So it has the short ones, as long as they are few. The others are properties
 * of the first node of the system tree: definitions may grow.
 */
enum {
	ANCHOR_VALUE_BYTES = 4 << 10,
	ANCHOR_BYTES = 48 << 10, /* four times as much where it is no UTF-8 */
};

/* Is PROPERTY one of the anchor's? USED: bytes of those before it, of which it becomes one. */
static bool is_of_anchor(const struct eta_property *property, size_t *used)
{
	size_t value = strlen(property->value), all = strlen(property->name) + value + 2;

	/* an empty value deletes the property in libotf2, which fails where there is none */
	if (property->process != ETA_NONE || value == 0 || value > ANCHOR_VALUE_BYTES ||
	    all > ANCHOR_BYTES - *used)
		return false;
	*used += all;
	return true;
}

OTF2_ErrorCode write_otf2_version(OTF2_Archive *archive, int version)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", version);
	return OTF2_Archive_SetProperty(archive, ARCHIVE_VERSION_PROPERTY, text, true);
}

OTF2_ErrorCode write_otf2_properties(OTF2_Archive *archive, const struct eta_defs *defs, bool links)
{
	OTF2_ErrorCode code =
		write_otf2_version(archive, links ? ARCHIVE_VERSION : ARCHIVE_WHOLE_VERSION);
	size_t used = 0;

	for (uint32_t i = 0; code == OTF2_SUCCESS && i < defs->n_properties; i++) {
		const char *value;
		char *own;

		if (!is_of_anchor(&defs->properties[i], &used))
			continue;
		value = write_otf2_text(defs->properties[i].value, &own);
		code = value ? OTF2_Archive_SetProperty(archive, defs->properties[i].name, value,
							true)
			     : OTF2_ERROR_MEM_ALLOC_FAILED;
		free(own);
	}
	return code;
}

static OTF2_AttributeValue text_value(struct defs *defs, const char *text)
{
	OTF2_AttributeValue value = { 0 };

	value.stringRef = defs_string(defs, text);
	return value;
}

void defs_long_properties(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	size_t used = 0;

	for (uint32_t i = 0; i < eta->n_properties; i++) {
		const struct eta_property *property = &eta->properties[i];
		OTF2_AttributeValue value;
		uint32_t name;

		if (is_of_anchor(property, &used) || property->process != ETA_NONE ||
		    !*property->value)
			continue;
		name = defs_string(defs, property->name);
		value = text_value(defs, property->value);
		WRITE(defs, SystemTreeNodeProperty, 0, name, OTF2_TYPE_STRING, value);
	}
}

/* ---- of processes ---- */

/* NAME = TEXT of location group GROUP. */
static void write_group_text(struct defs *defs, uint32_t group, const char *name, const char *text)
{
	uint32_t name_id = defs_string(defs, name);
	OTF2_AttributeValue value = text_value(defs, text);

	WRITE(defs, LocationGroupProperty, group, name_id, OTF2_TYPE_STRING, value);
}

void defs_process_properties(struct defs *defs)
{
	for (uint32_t i = 0; i < defs->eta->n_properties; i++) {
		const struct eta_property *property = &defs->eta->properties[i];

		if (property->process != ETA_NONE)
			write_group_text(defs, defs_process_group(defs, property->process),
					 property->name, property->value);
	}
}

/* "PREFIXn" = TEXT of the group of PROCESS, which may have no locations here and so no group. */
static void write_address(struct defs *defs, uint32_t process, const char *prefix, uint32_t n,
			  const char *text)
{
	char name[32];

	if (process == ETA_NONE || defs->process_group[process] == ETA_NONE)
		return;
	snprintf(name, sizeof(name), "%s%u", prefix, n);
	write_group_text(defs, defs->process_group[process], name, text);
}

void defs_addresses(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	char *text;

	for (uint32_t i = 0; i < eta->n_modules + eta->n_stacks; i++) {
		bool module = i < eta->n_modules;
		uint32_t n = module ? i : i - eta->n_modules;
		int rc = module ? eta_module_print(&eta->modules[n], &text)
				: eta_stack_print(&eta->stacks[n], &text);

		if (rc < 0) {
			defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
			return;
		}
		write_address(defs, module ? eta->modules[n].process : eta->stacks[n].process,
			      module ? ARCHIVE_MODULE : ARCHIVE_STACK_PROPERTY, n, text);
		free(text);
	}
}

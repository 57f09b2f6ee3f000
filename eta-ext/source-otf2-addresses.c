/* OTF2 source: modules and stacks, which are properties of location groups. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "source-otf2.h"

#include <stdlib.h>
#include <string.h>

#include "addresses.h"

/* What stands behind PREFIX in NAME, or NULL. */
static const char *behind(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(name, prefix, n) == 0 ? name + n : NULL;
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

bool otf2_build_addresses(struct raw_defs *raw, struct otf2 *otf2, uint64_t group, uint32_t process)
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
	}
	return ok;
}

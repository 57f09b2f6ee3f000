/* Addresses of calls: modules and stacks as text in an archive, and the module of an address. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "addresses.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_BUILD_ID "-"

int eta_module_print(const struct eta_module *module, char **text)
{
	int n = asprintf(text, "%" PRIu64 " 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %s %s %s",
			 module->since_ns, module->start, module->end, module->bias,
			 module->program ? "program" : "library",
			 *module->build_id ? module->build_id : NO_BUILD_ID, module->path);

	return n < 0 ? -ENOMEM : 0;
}

int eta_module_parse(const char *text, struct eta_module *module, char build_id[ETA_BUILD_ID_TEXT])
{
	char kind[8];
	int path = 0;

	*module = (struct eta_module){ .process = ETA_NONE };
	if (sscanf(text, "%" SCNu64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %7s %128s %n",
		   &module->since_ns, &module->start, &module->end, &module->bias, kind, build_id,
		   &path) != 6 ||
	    path == 0)
		return -EINVAL;
	module->program = strcmp(kind, "program") == 0;
	if (strcmp(build_id, NO_BUILD_ID) == 0)
		build_id[0] = '\0';
	module->build_id = build_id;
	module->path = text + path;
	return 0;
}

int eta_stack_print(const struct eta_stack *stack, char **text)
{
	size_t room = (size_t)stack->n_frames * 20 + 1, used = 0;
	char *line = malloc(room);

	if (!line)
		return -ENOMEM;
	line[0] = '\0';
	for (uint32_t i = 0; i < stack->n_frames; i++)
		used += (size_t)snprintf(line + used, room - used, "%s0x%" PRIx64, i ? " " : "",
					 stack->frames[i]);
	*text = line;
	return 0;
}

uint32_t eta_stack_parse(const char *text, uint64_t frames[ETA_MAX_FRAMES])
{
	uint32_t n = 0;
	char *end;

	while (*text && n < ETA_MAX_FRAMES) {
		frames[n] = strtoull(text, &end, 16);
		if (end == text)
			break;
		n++;
		text = end;
		while (*text == ' ')
			text++;
	}
	return *text ? 0 : n;
}

void eta_hex(const unsigned char *bytes, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

uint32_t eta_find_module(const struct eta_defs *defs, uint32_t process, uint64_t address,
			 uint64_t time_ns)
{
	uint32_t found = ETA_NONE;

	if (process == ETA_NONE || process >= defs->n_processes)
		return ETA_NONE;
	for (uint32_t i = 0; i < defs->n_modules; i++) {
		const struct eta_module *m = &defs->modules[i];
		const struct eta_module *best = found == ETA_NONE ? NULL : &defs->modules[found];
		bool began = m->since_ns <= time_ns, best_began = best && best->since_ns <= time_ns;

		if (m->process != process || address < m->start || address >= m->end)
			continue;
		/* the newest of those that were there, else the oldest */
		if (!best || (began && (!best_began || m->since_ns >= best->since_ns)) ||
		    (!began && !best_began && m->since_ns < best->since_ns))
			found = i;
	}
	return found;
}

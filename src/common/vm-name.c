/* What a traced virtual machine is called. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "vm-name.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "machines.h"

bool vm_name(const struct eta_defs *defs, uint32_t pid, char *text, size_t size)
{
	char property[64];

	*text = '\0';
	snprintf(property, sizeof(property), "SCI::VM_%" PRIu32, pid);
	for (uint32_t p = 0; p < defs->n_properties; p++) {
		const char *name;
		json_t *told;

		if (defs->properties[p].process != ETA_NONE ||
		    strcmp(defs->properties[p].name, property) != 0)
			continue;
		told = json_loads(defs->properties[p].value, 0, NULL);
		name = json_string_value(json_object_get(told, "name"));
		snprintf(text, size, "%.63s (QEMU pid %" PRIu32 ")",
			 name && *name ? name : "a virtual machine", pid);
		json_decref(told);
		return true;
	}
	return false;
}

bool vm_guest(const struct eta_defs *defs, uint32_t pid, const char *host, char *text, size_t size)
{
	*text = '\0';
	for (uint32_t p = 0; p < defs->n_properties && !*text; p++) {
		json_t *told;
		const char *name, *of;

		if (!machines_is_guest(&defs->properties[p]))
			continue;
		told = json_loads(defs->properties[p].value, 0, NULL);
		name = json_string_value(json_object_get(told, "guest"));
		of = json_string_value(json_object_get(told, "host"));
		if (name && of && strcmp(of, host) == 0 &&
		    json_integer_value(json_object_get(told, "pid")) == pid)
			snprintf(text, size, "%s", name);
		json_decref(told);
	}
	return *text;
}

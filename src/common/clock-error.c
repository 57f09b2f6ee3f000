/* By how much the clocks of the machines of a trace may differ, as its merge has said. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock-error.h"

#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/archive.h"

bool clock_error_of(const struct eta_defs *defs, uint64_t *error_ns)
{
	for (uint32_t i = 0; i < defs->n_properties; i++) {
		const struct eta_property *property = &defs->properties[i];

		if (property->process != ETA_NONE ||
		    strcmp(property->name, ARCHIVE_CLOCK_ERROR) != 0)
			continue;
		*error_ns = strcmp(property->value, "unknown") == 0
				    ? UINT64_MAX
				    : strtoull(property->value, NULL, 10);
		return true;
	}
	return false;
}

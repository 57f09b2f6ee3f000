/* Names of levels and reasons. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "levels.h"

#include <string.h>

static const char *const levels[] = {
#define X(id, name, what) name,
	ETA_LEVELS(X)
#undef X
};

static const char *const reasons[] = {
#define X(id, home, name) name,
	ETA_REASONS(X)
#undef X
};

const char *eta_level_name(enum eta_level level)
{
	return (unsigned)level < ETA_N_LEVELS ? levels[level] : "?";
}

const char *eta_reason_name(enum eta_reason reason)
{
	return (unsigned)reason < ETA_N_REASONS ? reasons[reason] : "?";
}

const char *eta_region_name_split(const char *name, enum eta_level *level, enum eta_reason *reason)
{
	const char *colon = strchr(name, ':');

	*level = ETA_LEVEL_NONE;
	*reason = ETA_REASON_NONE;
	if (!colon)
		return name;
	for (int l = 0; l < ETA_N_LEVELS; l++) {
		size_t n = strlen(levels[l]);

		if (n != (size_t)(colon - name) || memcmp(name, levels[l], n) != 0)
			continue;
		*level = (enum eta_level)l;
		for (int r = 1; r < ETA_N_REASONS; r++)
			if (strcmp(colon + 1, reasons[r]) == 0)
				*reason = (enum eta_reason)r;
		return colon + 1;
	}
	return name;
}

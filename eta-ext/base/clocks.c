/* Names of clocks, and conversions of times from one to another. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "clocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name) name,
	ETA_CLOCKS(X)
#undef X
};

const char *eta_clock_name(enum eta_clock clock)
{
	return (unsigned)clock < ETA_N_CLOCKS ? names[clock] : names[ETA_CLOCK_UNKNOWN];
}

enum eta_clock eta_clock_by_name(const char *name)
{
	for (unsigned i = 0; name && i < ETA_N_CLOCKS; i++)
		if (strcmp(names[i], name) == 0)
			return (enum eta_clock)i;
	return ETA_CLOCK_UNKNOWN;
}

struct eta_clock_map eta_clock_offset(int64_t offset_ns, uint64_t error_ns)
{
	return (struct eta_clock_map){
		.to_ns = offset_ns, .num = 1, .den = 1, .error_ns = error_ns
	};
}

bool eta_clock_is_identity(const struct eta_clock_map *map)
{
	return map->from_ns == map->to_ns && map->num == map->den;
}

/* Rounded down, also below 0, so that the order of times never turns. */
static __int128 divide(__int128 a, __int128 b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

static __int128 convert(const struct eta_clock_map *map, __int128 time)
{
	__int128 passed = time - map->from_ns;

	if (map->num != map->den)
		passed = divide(passed * map->num, map->den);
	return passed + map->to_ns;
}

uint64_t eta_clock_convert(const struct eta_clock_map *map, uint64_t time)
{
	__int128 converted = convert(map, time);

	if (converted < 0)
		return 0;
	return converted > UINT64_MAX ? UINT64_MAX : (uint64_t)converted;
}

void eta_clock_map_print(const struct eta_clock_map *map, char *text, size_t room)
{
	snprintf(text, room, "%" PRId64 " %" PRId64 " %" PRIu64 "/%" PRIu64 " +-%" PRIu64,
		 map->from_ns, map->to_ns, map->num, map->den, map->error_ns);
}

bool eta_clock_map_parse(const char *text, struct eta_clock_map *map)
{
	int n = 0;

	*map = (struct eta_clock_map){ 0 };
	return sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNu64 "/%" SCNu64 " +-%" SCNu64 "%n",
		      &map->from_ns, &map->to_ns, &map->num, &map->den, &map->error_ns, &n) == 5 &&
	       !text[n] && map->num && map->den;
}

/* Which limits, set on the traced threads' control groups, made them wait: told in the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

static const char *const regions[ETA_N_SPANS] = {
#define X(id, region) [ETA_SPAN_##id] = region,
	ETA_SPANS(X)
#undef X
};

/* "/a/b"; the first group of all is "/". What separates the parts of the property is left out. */
static void group_path(const struct kernelio_limit *limit, char *path, size_t size)
{
	size_t used = 0;

	path[0] = '\0';
	for (int i = KERNELIO_LIMIT_DEPTH; i-- > 0;)
		if (limit->names[i][0] && used < size)
			used += (size_t)snprintf(path + used, size - used, "/%.*s",
						 KERNELIO_LIMIT_NAME, limit->names[i]);
	if (!path[0])
		snprintf(path, size, "/");
	for (char *c = path; *c; c++)
		if (*c == '|' || *c == ';')
			*c = '?';
}

static void describe(const struct kernelio_limit_key *key, const struct kernelio_limit *limit,
		     char *text, size_t size)
{
	static const char *const stops[] = { [KERNELIO_STOP_SIGNAL] = "a signal (SIGSTOP)",
					     [KERNELIO_STOP_TRACER] = "a debugger (ptrace)",
					     [KERNELIO_STOP_FREEZER] =
						     "the freezer of the control group" };
	char path[KERNELIO_LIMIT_DEPTH * (KERNELIO_LIMIT_NAME + 1) + 2];

	if (key->kind == ETA_SPAN_STOPPED) {
		snprintf(text, size, "%s",
			 key->group < sizeof(stops) / sizeof(*stops) && stops[key->group]
				 ? stops[key->group]
				 : "");
		return;
	}
	group_path(limit, path, sizeof(path));
	if (key->kind == ETA_SPAN_QUOTA && limit->period)
		snprintf(text, size, "%.0f %% of a CPU (%" PRIu64 " of each %" PRIu64 " us) for %s",
			 100 * (double)limit->quota / (double)limit->period, limit->quota / 1000,
			 limit->period / 1000, path);
	else
		snprintf(text, size, "control group %s", path);
}

/* "REGION|NS|WHAT; ...": NS is how long threads waited for it, together. */
void limits_tell(struct kernelio *k)
{
	int map = bpf_map__fd(k->bpf->maps.limits);
	struct kernelio_limit_key key, before, *from = NULL;
	struct kernelio_limit limit;
	char all[3500] = "", text[1200];
	size_t used = 0;

	while (bpf_map_get_next_key(map, from, &key) == 0) {
		before = key;
		from = &before;
		if (bpf_map_lookup_elem(map, &key, &limit) || key.kind >= ETA_N_SPANS)
			continue;
		describe(&key, &limit, text, sizeof(text));
		if (used + strlen(text) + 100 > sizeof(all))
			break; /* as many as a property has room for */
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s|%" PRIu64 "|%s",
					 used ? "; " : "", regions[key.kind], limit.ns, text);
	}
	if (used)
		meta_property(k, "LIMITS=%s", all);
}

uint64_t suspended_ns(void)
{
	struct timespec all, running;

	if (clock_gettime(CLOCK_MONOTONIC, &running) || clock_gettime(CLOCK_BOOTTIME, &all))
		return 0;
	return (uint64_t)(all.tv_sec - running.tv_sec) * 1000000000 + (uint64_t)all.tv_nsec -
	       (uint64_t)running.tv_nsec;
}

/* Of two readings one after the other, this is no suspension. */
#define CLOCKS_APART_NS 1000000

void suspension_tell(struct kernelio *k)
{
	uint64_t now = suspended_ns();

	if (now > k->suspended_ns + CLOCKS_APART_NS)
		meta_property(k, "SUSPENDED_NS=%" PRIu64, now - k->suspended_ns);
}

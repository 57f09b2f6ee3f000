/* The light mode: which probes it has, and which spans. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "eta-ext/base/eta.h"
#include "internal.h"

int light_check(const struct kernelio *k)
{
	const char *why = NULL;

	if (k->filter.light && k->filter.set & KERNELIO_FILTERS_OF_TASKS)
		why = "cannot be used with --tid, --comm, --uid or --cgroup";
	else if (k->filter.light && k->filter.owner_only)
		why = "needs the right to trace other users' processes (root)";
	if (!why)
		return 0;
	/* both are checked in each call, on which the light mode has no probe */
	(k->options.optional ? eta_warn : eta_error)("kernel: --light %s: leave it out", why);
	return -EINVAL;
}

bool light_has(size_t i)
{
	static const bool rows[KERNELIO_N_PROBES] = {
#define X(program) [KERNELIO_PROBE_##program] = true,
		KERNELIO_LIGHT_PROBES(X)
#undef X
	};

	return rows[i];
}

uint64_t light_spans(void)
{
	static const char *const regions[ETA_N_SPANS] = {
#define X(id, region) [ETA_SPAN_##id] = region,
		ETA_SPANS(X)
#undef X
	};
	/* a sleep is named by where it is; pages that are read ahead make a read a miss */
	uint64_t spans = 1ULL << ETA_SPAN_SLEEP | 1ULL << ETA_SPAN_READAHEAD;
	enum eta_reason reason;
	enum eta_level level;

	for (unsigned span = 1; span < ETA_N_SPANS; span++) {
		eta_region_name_split(regions[span], &level, &reason);
		if (reason != ETA_REASON_NONE)
			spans |= 1ULL << span;
	}
	return spans;
}

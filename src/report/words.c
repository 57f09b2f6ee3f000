/* What reports call things, and what they called them before. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "words.h"

#include <stddef.h>
#include <string.h>

/* X(now, before): keys of json, then those of its tables, with their units. */
#define KEYS(X)                                                                                    \
	X("overlapping_regions", "crossing")                                                       \
	X("out_of_order", "disorder")                                                              \
	X("interference_ns", "contended_ns")                                                       \
	X("interference_levels", "contended_levels")                                               \
	X("lifetime_ns", "life_ns")                                                                \
	X("count", "n")                                                                            \
	X("total_ns", "sum_ns")                                                                    \
	X("timeline", "bins")                                                                      \
	X("count_a", "n_a")                                                                        \
	X("count_b", "n_b")                                                                        \
	X("interference_a_ns", "others_a_ns")                                                      \
	X("interference_b_ns", "others_b_ns")

/* X(now, before): before is what the regions of traces are called, which stay as they are. */
#define REASONS(X)                                                                                 \
	X("queue time", "queue")                                                                   \
	X("service time", "device")                                                                \
	X("throttled before the queue", "held back")                                               \
	X("throttled by own limit", "held back by own limit")                                      \
	X("wakeup latency", "wake-up")

static const struct word {
	const char *now, *before;
} words[] = {
#define X(now, before) { now, before },
	KEYS(X) REASONS(X)
#undef X
};
#define N_WORDS (sizeof(words) / sizeof(*words))

const char *word_in_version(const char *word, unsigned version)
{
	for (size_t i = 0; version == 1 && i < N_WORDS; i++)
		if (strcmp(words[i].now, word) == 0)
			return words[i].before;
	return word;
}

const char *word_of_reason(const char *reason)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (strcmp(words[i].before, reason) == 0)
			return words[i].now;
	return reason;
}

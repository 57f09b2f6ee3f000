/* Clocks of traces: conversions with their uncertainty; two clocks compared by what they saw. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_CLOCKS_H
#define ETA_CLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * X(ID, name): the clocks that a trace's timestamps may be of, as its property SCI::CLOCK names
 * them. RELATIVE counts from a moment that is not known (the start of the program). TSC is in ns,
 * too: readers convert its ticks.
 */
#define ETA_CLOCKS(X)                                                                              \
	X(UNKNOWN, "unknown")                                                                      \
	X(MONOTONIC, "CLOCK_MONOTONIC")                                                            \
	X(BOOTTIME, "CLOCK_BOOTTIME")                                                              \
	X(REALTIME, "CLOCK_REALTIME")                                                              \
	X(TSC, "TSC")                                                                              \
	X(RELATIVE, "relative")

enum eta_clock {
#define X(id, name) ETA_CLOCK_##id,
	ETA_CLOCKS(X)
#undef X
		ETA_N_CLOCKS,
};

/* "CLOCK_MONOTONIC"; "unknown" for anything that is no clock. */
const char *eta_clock_name(enum eta_clock clock);
/* The clock of that NAME, ETA_CLOCK_UNKNOWN where there is none (NULL too). */
enum eta_clock eta_clock_by_name(const char *name);

/* ---- conversion ---- */

/*
 * t' = to_ns + (t - from_ns) * num / den. Times are ns and may be anything up to 2^63; num and den
 * are positive. Right to within error_ns at from_ns; away from it the rate's own error adds up.
 */
struct eta_clock_map {
	int64_t from_ns, to_ns;
	uint64_t num, den;
	uint64_t error_ns; /* half width */
	uint64_t rate_error_ppb;
};

/* An error_ns that nobody knows: two wall clocks. */
#define ETA_CLOCK_ERROR_UNKNOWN UINT64_MAX

/* The conversion that changes nothing, and the one that adds OFFSET_NS. */
struct eta_clock_map eta_clock_offset(int64_t offset_ns, uint64_t error_ns);
/* Does MAP change no time, whatever its error? */
bool eta_clock_is_identity(const struct eta_clock_map *map);
/* TIME converted; what would be before 0 or past the largest number is 0 or that number. */
uint64_t eta_clock_convert(const struct eta_clock_map *map, uint64_t time);
/* "FROM TO NUM/DEN +-ERROR", the form of the property that keeps it; ROOM >= 160 holds it all. */
void eta_clock_map_print(const struct eta_clock_map *map, char *text, size_t room);
/* The reverse; false where TEXT is none. */
bool eta_clock_map_parse(const char *text, struct eta_clock_map *map);

/* ---- two clocks compared ---- */

/*
 * What one clock saw as [outer_begin, outer_end] held what the other saw as [inner_begin,
 * inner_end]: a guest's request and the host's work for it, a library call and its system call.
 */
struct eta_sync_pair {
	uint64_t outer_begin, outer_end;
	uint64_t inner_begin, inner_end;
};

struct eta_sync_result {
	/* From the outer clock to the inner one. Its rate is 1 unless `rate_is_known`. */
	struct eta_clock_map map;
	int64_t offset_low_ns, offset_high_ns; /* inner minus outer, in the middle of the run */
	bool rate_is_known;		       /* bounded to within ETA_SYNC_RATE_PPM */
	double rate_low_ppm, rate_high_ppm;    /* deviation from 1; -+infinity: not bounded */
	uint64_t pairs, bad;		       /* taken, dropped */
};

/* Narrower bounds of the rate than this are believed. */
#define ETA_SYNC_RATE_PPM 50

struct eta_sync;

/* Two oscillators may differ by this much: crystals, and what NTP slews. */
#define ETA_SYNC_MAX_RATE_PPM 1000

/*
 * Gives a synchronisation without pairs; -ENOMEM. MAX_RATE_PPM: by how much the clocks' rates may
 * differ; 0: they are one clock, counted from two moments.
 */
int eta_sync_new(uint64_t max_rate_ppm, struct eta_sync **out);
void eta_sync_free(struct eta_sync *sync); /* NULL is safe */
/*
 * Takes PAIR, in any order of time: 1. Drops it where it contradicts those before it, or itself
 * (its inside is longer than its outside): 0. -ENOMEM. Each pair bounds the line inner = a outer +
 * b once from above (inner_begin at outer_begin) and once from below; of the two sets of bounds
 * only the convex hulls are kept (Duda et al. 1987; incremental as in Poirier et al. 2010).
 */
int eta_sync_add(struct eta_sync *sync, const struct eta_sync_pair *pair);
/*
 * What the pairs so far say; more may come. -ENODATA without a pair, -EBADMSG where more were
 * dropped than taken; neither is reported, and RESULT has both numbers.
 */
int eta_sync_result(const struct eta_sync *sync, struct eta_sync_result *result);

#ifdef __cplusplus
}
#endif
#endif

/* What a user says of clocks and threads of the inputs of a merge: --clock and --tid-map. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CLOCK_OPTIONS_H
#define SCI_CLOCK_OPTIONS_H

#include "eta-ext/base/eta.h"

/*
 * Reads SPEC, "N:NS" (add NS) or "N:FILE" (a file of pairs, four times a line), into *INPUT (from
 * 1) and MAP. 0 or -errno, reported.
 */
int clock_option(const char *spec, size_t *input, struct eta_clock_map *map);

struct tid_map {
	struct eta_thread_name *threads;
	size_t n;
	char *text; /* of the names */
};

/* Reads a file of "LOCATION PID TID" lines. 0 or -errno, reported; tid_map_free in either case. */
int tid_map_read(const char *path, struct tid_map *out);
void tid_map_free(struct tid_map *map);

#endif

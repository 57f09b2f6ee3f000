/* The verdict: which level and reason most of the slowdown is at, and what helps. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VERDICT_H
#define SCI_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "cells.h"

/* A score below this is no interference. */
#define VERDICT_NONE_BELOW 0.02
/* Nor is one that is sure to no more than this: its interval begins at 0.00, as it is printed. */
#define VERDICT_SURE_FROM 0.005

struct verdict {
	const char *level;  /* "none", "mixed", or a level's name */
	const char *reason; /* "" where none is known */
	double share;	    /* of that level in the positive slowdown; none: 0 */
	double cpu_share;   /* beside it: of waits for a CPU that others had; 0: little */
	/* beside waits for a CPU, which are most: the cause of the rest; NULL: it is little */
	const char *beside_level, *beside_reason;
	double beside_share;
	const char *advice; /* one sentence */
	bool own_limit;	    /* it is a limit that was set on it: nobody did it */
};

#define VERDICT_KNOWS_LEVELS 1 /* the trace looked below the library */
#define VERDICT_ADDS_CPU 2     /* a busy machine is named beside a cause, not instead of it */

/*
 * CELL_NS: the slowdown that counts. SCI and what of it is no chance decide whether there is any at
 * all. OPTIONS: VERDICT_*.
 */
struct verdict verdict_of(const int64_t cell_ns[N_CELLS], double sci, double sure,
			  unsigned options);

/* What helps in general where most is lost in CELL. */
const char *verdict_advice(enum cell cell);

#endif

/* Inside of the merge: which locations of the inputs make one thread, and what their ids become. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_MERGE_H
#define ETA_MERGE_H

#include "source.h"

/* One location of one input. */
struct merge_part {
	uint32_t input;
	uint32_t location;
};

struct merge_input {
	struct eta_trace *trace;
	uint32_t *regions; /* index there -> index in the result */
	uint32_t *files;
	uint32_t *handles;
	uint32_t *processes;
	uint32_t first_stack; /* its stacks stand behind those of the inputs before it */
	uint32_t rank; /* 0: has regions outside the kernel, so it is the outer side of a tie */
};

struct merge {
	struct merge_input *inputs;
	size_t n_inputs;
	/* result location L is made of parts[first[L]] to parts[first[L + 1] - 1], outermost first
	 */
	uint32_t *first;
	struct merge_part *parts;
	uint32_t n_parts;
};

/* Fills TRACE's definitions and the maps of MERGE from its inputs. */
int merge_defs(struct eta_trace *trace, struct merge *merge);

/* The part of it that finds the threads: locations of TRACE, MERGE's first and parts. */
int merge_threads(struct eta_trace *trace, struct merge *merge);

#endif

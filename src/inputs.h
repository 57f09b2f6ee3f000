/* Traces as the user names them: a file, a spool, or the folder of a recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_INPUTS_H
#define SCI_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eta-ext/base/eta.h"

struct inputs {
	char **paths;
	size_t n;
	bool nodes;	  /* some are of a job, whose machines have a folder each */
	uint64_t missing; /* of those folders that hold no recording */
};

/*
 * The traces that PATHS mean. A folder that sci-record or eztrace left stands for the traces in it:
 * with MERGED the archive that was made of them, where there is one, else the traces themselves. A
 * folder of such folders stands for all of them; one among them that is none is reported.
 * Anything else is as it is. 0 or -errno, reported; inputs_free in either case.
 */
int inputs_find(char *const *paths, size_t n, bool merged, struct inputs *out);
/* The same of archives, for what is made of those below a folder: an archive in it is none. */
int inputs_find_archives(char *const *paths, size_t n, struct inputs *out);
void inputs_free(struct inputs *inputs);

/* What TRACE, made of INPUTS, misses: machines, and ranks of the job, which are named. */
void inputs_count_missing(const struct inputs *inputs, struct eta_trace *trace);

/*
 * The same, opened with OPTIONS as one trace, checked: the caller's to close. A trace that is given
 * twice is refused.
 */
int inputs_open(char *const *paths, size_t n, const struct eta_options *options,
		struct eta_trace **out);

#endif

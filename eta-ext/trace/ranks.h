/* Which ranks of MPI jobs the processes of a trace are, as their launcher gives them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_RANKS_H
#define ETA_RANKS_H

#include "eta-ext/base/eta.h"

/* Properties of a process: plugins/posixio/spool/rank.c writes them. */
#define RANK_PROPERTY "RANK"
#define RANKS_PROPERTY "RANKS" /* how many the job has */
#define JOB_PROPERTY "JOB"

struct rank {
	bool known;
	uint32_t rank;
	uint32_t ranks;	 /* of the job, 0: unknown */
	const char *job; /* "" unknown */
};

/* Of each process of DEFS, for the caller to free; NULL: no memory. */
struct rank *ranks_new(const struct eta_defs *defs);

/* Puts the rank into the names of the threads of TRACE: "app rank 17 tid 4242". 0 or -ENOMEM. */
int ranks_name_threads(struct eta_trace *trace);

/* Of jobs that have any rank in DEFS, how many are not there; each job's are in a warning. */
uint64_t ranks_missing(const struct eta_defs *defs);

#endif

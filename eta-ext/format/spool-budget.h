/* How many bytes the files of a recording may take together: --max-size and --last. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_BUDGET_H
#define ETA_SPOOL_BUDGET_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where several processes write the recording, they share this as a mapped file of its folder. All
 * fields but the last are changed by several at a time.
 */
struct spool_budget {
	uint64_t left;	     /* bytes */
	uint64_t refused;    /* records that were not stored because of it */
	uint32_t keeps_last; /* who gets no more writes over its own oldest records */
};

#define SPOOL_BUDGET_FILE "budget"
#define SPOOL_BUDGET_BYTES 4096
#define SPOOL_BUDGET_VARIABLE "SCI_SPOOL_BUDGET" /* in the environment: there is that file */

/* The errno of a file that may not grow for it: no call on files gives this one. */
#define SPOOL_BUDGET_ERROR ENOBUFS

/* That of all files that this process writes; NULL: they may take what they need. */
extern struct spool_budget *spool_budget;

/* Takes BYTES, all or none. */
bool spool_budget_take(uint64_t bytes);
/* The same where they are needed in any case: then as many as there are. */
void spool_budget_force(uint64_t bytes);
void spool_budget_give(uint64_t bytes);
/*
 * Takes BYTES for a file that has HAS, if as many as it has then are left for the others: files
 * that grow side by side become equally large.
 */
bool spool_budget_share(uint64_t has, uint64_t bytes);
/* N records were not stored for want of it. */
void spool_budget_refused(uint64_t n);
/* Before it is used: of BYTES that records may take, or that those stored last may take. */
void spool_budget_begin(struct spool_budget *budget, uint64_t bytes, bool keeps_last);

#endif

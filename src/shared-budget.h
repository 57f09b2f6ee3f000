/* What the tracers of a recording may take together, where sci-record's user limits it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SHARED_BUDGET_H
#define SCI_SHARED_BUDGET_H

#include "kernel-options.h"

/*
 * Makes the budget that OPTIONS ask for: a file in FOLDER, the spool of the user's side, mapped;
 * its name is in the environment of the program. FOLDER -1: in memory. *OUT: NULL, none is asked
 * for. 0 or -errno, reported.
 */
int shared_budget_make(const struct kernel_options *options, int folder, struct spool_budget **out);

/*
 * The program has ended: says how many of its records were not stored, those of the KERNEL left
 * out, and removes the file. BUDGET may be NULL.
 */
void shared_budget_end(struct spool_budget *budget, int folder, uint64_t kernel);

#endif

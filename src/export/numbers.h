/* Numbers of processes and threads, for forms that know them by number alone. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_NUMBERS_H
#define SCI_EXPORT_NUMBERS_H

#include "eta-ext/base/eta.h"

/*
 * The trace's own, where there is one and no other process has it; else one that no process and
 * no thread has, from 4194304 on.
 */
struct export_numbers {
	uint32_t *pids, *tids; /* of each location */
};

/* 0 or -ENOMEM, reported; export_numbers_free in either case. */
int export_numbers_new(const struct eta_defs *defs, struct export_numbers *numbers);
void export_numbers_free(struct export_numbers *numbers);

#endif

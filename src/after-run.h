/* What a recording lacks, seen once the program has ended: for sci-record's warnings. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_AFTER_RUN_H
#define SCI_AFTER_RUN_H

#include <stdbool.h>

/* Warns of processes that write to the spool, a descriptor, and still run. */
void after_run_still_running(int spool);

/*
 * Warns of what the library calls in ARCHIVE do not show: I/O of their threads without one (KERNEL:
 * the archive holds both sides), transfers through libaio and io_uring. Reads all of it.
 */
void after_run_archive(const char *archive, bool kernel);

#endif

/* What a recording lacks, seen once the program has ended: for sci-record's warnings. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_AFTER_RUN_H
#define SCI_AFTER_RUN_H

/* Warns of processes that write to the spool SPOOL and still run. */
void after_run_still_running(const char *spool);

/*
 * Warns when threads whose library calls are traced did much of their I/O without one, in ARCHIVE,
 * which holds both sides. Reads all of it.
 */
void after_run_outside_calls(const char *archive);

#endif

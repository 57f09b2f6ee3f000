/* The whole of sci-analyze, but for who analyses: one process, or several. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYZE_H
#define SCI_ANALYZE_H

struct exchange;

/*
 * Does what the command line asks for: the exit status. May exit by itself, on misuse and --help.
 * X: this is rank 0 of those processes; the others are in analyze_jobs(). NULL: one.
 */
int analyze(int argc, char **argv, struct exchange *x);

#endif

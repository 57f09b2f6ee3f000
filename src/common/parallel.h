/* The same work by several threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PARALLEL_H
#define SCI_PARALLEL_H

#include <stddef.h>

/*
 * For how many threads: WANTED, or as many as CPUs where that is 0, but no more than there are
 * PIECES of work, and 1 at least.
 */
unsigned parallel_threads(unsigned wanted, size_t pieces);

/*
 * Calls WORK(ARG) in N threads, the caller's among them, and waits for all. Where threads cannot be
 * started it is fewer: WORK takes from what is left until nothing is.
 */
void parallel_run(unsigned n, void *(*work)(void *arg), void *arg);

#endif

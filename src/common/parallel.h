/* The same work by several threads. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PARALLEL_H
#define SCI_PARALLEL_H

/*
 * Calls WORK(ARG) in N threads, the caller's among them, and waits for all. Where threads cannot be
 * started it is fewer: WORK takes from what is left until nothing is.
 */
void parallel_run(unsigned n, void *(*work)(void *arg), void *arg);

#endif

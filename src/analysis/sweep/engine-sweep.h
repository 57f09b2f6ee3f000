/* The sweep across threads, as a pass of the analysis. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ENGINE_SWEEP_H
#define SCI_ENGINE_SWEEP_H

struct engine;

/* Before the sweep: fills `blame_bound`. */
int engine_blame_bound(struct engine *e);
/* Finds the operations that overlapped no other thread's, for REFERENCE_SOLO. */
int engine_solo(struct engine *e);
/* Interference, blame, files and bins of each operation, over all threads in time order. */
int engine_sweep(struct engine *e);

#endif

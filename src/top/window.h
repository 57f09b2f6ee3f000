/* The records of the last seconds, of a kernel tracer that goes on recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_WINDOW_H
#define SCI_TOP_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* What was read of a spool that is being written, in memory. */
struct window;

/*
 * SPOOL: a descriptor of the folder that the tracer writes to. CONSUMES: what was read is taken out
 * of it, so that it stays as small as it is, and nobody else can read it. NULL: no memory,
 * reported.
 */
struct window *window_new(int spool, bool consumes);
void window_free(struct window *w);

/*
 * Takes over what was recorded since the last time, and forgets what was taken over before
 * SINCE_NS, but for the names of tasks and files. 0 or -errno, reported.
 */
int window_read(struct window *w, uint64_t now_ns, uint64_t since_ns);

/*
 * All that is remembered as a spool of its own, in FOLDER, instead of the one before. 0 or -errno,
 * reported.
 */
int window_write(const struct window *w, int folder);

#endif

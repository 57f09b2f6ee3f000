/* How long a program's calls have been held up by the tracer's files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_HELD_H
#define ETA_SPOOL_HELD_H

#include <stdint.h>

/* CLOCK_MONOTONIC; 0 where the program may not ask for it. */
uint64_t spool_now_ns(void);

/* A call has been at its thread's file since BEGIN_NS (of spool_now_ns). */
void spool_note_held(uint64_t begin_ns);

/* A process begins, perhaps by a fork. */
void spool_held_begin(void);

/*
 * How long calls of this process's threads, together, have been held up by the growing of their
 * files: by a disk that is busy, where that took some ms.
 */
uint64_t spool_held_ns(void);

#endif

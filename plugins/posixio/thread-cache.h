/* What threads that ended leave for the next: their state, and the file they wrote to. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_THREAD_CACHE_H
#define POSIXIO_THREAD_CACHE_H

#include "core.h"

/*
 * To create, map and cut a file takes ten times as long as to create a thread. So the file of a
 * thread that ended is gone on with by the next one that starts.
 */

/* Keeps T, which nothing uses any more; false: there are enough. */
bool thread_cache_put(struct thread *t);

/* One of those kept, NULL: none. */
struct thread *thread_cache_take(void);

/* The child of a fork: what is kept is its parent's. */
void thread_cache_forget(void);

#endif

/* Threads under EZTrace: when each begins and ends to write, so that nobody closes it meanwhile. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_THREADS_H
#define POSIXIO_EZTRACE_THREADS_H

struct thread;

/* T, of the calling thread, may write events from here on. */
void threads_enter(const struct thread *t);
/* T will not write any more: it ends, or serves another thread next. */
void threads_leave(const struct thread *t);

/* Lets the kernel prepare for threads_wait_written; while there is one thread, it costs nothing. */
void threads_prepare(void);

/*
 * EZTrace closes the archive from the thread that ends the process, while the others run on. These
 * wait for them, two seconds at most: until EZTrace is done with the threads that it has begun to
 * start, while it is given no others; and, when EZTRACE_SAFE is false, until nobody is left who saw
 * it true and writes.
 */
void threads_wait_begun(void);
void threads_wait_written(void);

#endif

/* Closes the archive of a process under EZTrace that ends without exit. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_END_H
#define POSIXIO_EZTRACE_END_H

#include <stdbool.h>

/* The process is about to lock itself in, so that the archive could not be closed later. */
void end_locked(void);

/*
 * Does the caller run in a handler of a signal that interrupted a library, which may hold a lock
 * that closing needs (malloc's)? One that interrupted the program's own code, or a library that
 * waited for something, does not count.
 */
bool handler_interrupted_library(void);

#endif

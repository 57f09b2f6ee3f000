/* Closes the archive of a process under EZTrace that ends without exit. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_END_H
#define POSIXIO_EZTRACE_END_H

/* The process is about to enter a sandbox, in which the archive could not be closed. */
void end_locked(void);

#endif

/* How a process under EZTrace ends without exit, and its archive is closed all the same. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_END_H
#define POSIXIO_EZTRACE_END_H

/* The process is about to lock itself in, so that the archive could not be closed later. */
void end_locked(void);

#endif

/* How a process under EZTrace ends without exit, and its archive does not get lost. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_END_H
#define POSIXIO_EZTRACE_END_H

#include <stdbool.h>

/* From here on signals that end the process by default close the archive first. */
void end_start(void);

/* The archive is closed because the process is about to be another program. */
bool end_goes_on(void);

/* The process is about to lock itself in, so that the archive could not be closed later. */
void end_locked(void);

#endif

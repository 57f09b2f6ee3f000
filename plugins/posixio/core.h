/* The user tracer's core: what every wrapper goes through, whichever sink takes the records. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_CORE_H
#define POSIXIO_CORE_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/single_threaded.h>

#include "real.h"
#include "thread.h"

#pragma weak __libc_single_threaded /* as __register_atfork in core.c */

/*
 * One line for the user, with %s, %d, %u, %llu alone: into the recording, which reports it when the
 * program has ended; without a recording on stderr, if that is still what it was at the start.
 */
void tracer_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Notes what stderr is, the first time that the process comes here. RECORDING takes a message;
 * false: there is nowhere to put it.
 */
void warn_start(bool (*recording)(const char *text));

#endif

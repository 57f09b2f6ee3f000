/* How much of the machines' page caches was dirty, for the counters of viewers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_DIRTY_H
#define SCI_EXPORT_DIRTY_H

#include "export.h"

#define DIRTY_NAME "dirty page cache"
#define DIRTY_UNIT "bytes"

/*
 * From TIME_NS on BYTES of the page cache of a machine are dirty or being written out; LOCATION is
 * the first one of that machine. 0 or -ENOMEM, reported.
 */
typedef int (*dirty_fn)(void *arg, uint32_t location, uint64_t time_ns, uint64_t bytes);

/*
 * Gives FN what the kernel's tracers saw of it, machine by machine in the order of time. 0, what
 * FN gave, or -ENOMEM, reported.
 */
int export_dirty(const struct export *e, dirty_fn fn, void *arg);

#endif

/* A trace whose definitions and events a test gives in memory. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MEMORY_TRACE_H
#define SCI_MEMORY_TRACE_H

#include "eta-ext/trace/source.h"

/*
 * Definitions: the eta_defs_* functions of source.h, or the short forms below. Events:
 * memory_event, location by location in time order (a test may break the order on purpose).
 * eta_close frees it. Without memory these end the test: there is nothing to check then.
 */
struct eta_trace *memory_trace_new(const char *name);

/* Index of the region of this name, made when it is new: "write" is USER, "fs:x" FS, else NONE. */
uint32_t memory_region(struct eta_trace *trace, const char *name);

/* A thread of process PID (made when it is new, program "app" on host "host"); id = its index. */
uint32_t memory_thread(struct eta_trace *trace, uint32_t pid, uint32_t tid);

/* A block device's location. */
uint32_t memory_device(struct eta_trace *trace, const char *name, uint32_t dev);

/* Appends an event to LOCATION. */
void memory_event(struct eta_trace *trace, uint32_t location, struct eta_event event);

/* Short forms of it. */
void memory_enter(struct eta_trace *trace, uint32_t location, uint64_t time_ns, const char *region);
void memory_leave(struct eta_trace *trace, uint32_t location, uint64_t time_ns, const char *region);

/* Events per cursor batch from now on (1 finds errors at batch borders); 0: all at once. */
void memory_batch(struct eta_trace *trace, size_t events);

/* The events of LOCATION as they were given. */
const struct eta_event *memory_events(const struct eta_trace *trace, uint32_t location, size_t *n);

#endif

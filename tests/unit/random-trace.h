/* Traces of random events that use every field, made from a seed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RANDOM_TRACE_H
#define SCI_RANDOM_TRACE_H

#include "eta-ext/base/eta.h"

/* Five locations of EVENTS events each and a silent one: a memory trace (memory-trace.h). */
struct eta_trace *random_trace(uint64_t seed, size_t events);

#endif

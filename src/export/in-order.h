/* What is put aside thread by thread, given back in the order of time of all of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_IN_ORDER_H
#define SCI_EXPORT_IN_ORDER_H

#include "export.h"
#include "src/common/spill.h"

/* In a temporary file, 16 bytes an item: memory does not grow with the trace. */
struct in_order {
	struct export *e;
	struct spill spill;
	struct spill_stream *streams; /* per location */
	struct spill_writer *writer;  /* of the location that is read */
	struct spill_reader **readers;
	uint64_t *next_ns; /* of each reader; those that are at their end are not in the heap */
	uint32_t *heap;
	uint32_t n_heap;
};

/* 0 or -errno, reported; in_order_close in either case. */
int in_order_open(struct in_order *o, struct export *e);
void in_order_close(struct in_order *o);

/* What is put from now on is of LOCATION, once each; its items come in the order of time. */
void in_order_begin(struct in_order *o, uint32_t location);
static inline void in_order_put(struct in_order *o, uint64_t time_ns, uint64_t word)
{
	spill_put(o->writer, time_ns);
	spill_put(o->writer, word);
}
/* 0 or -errno, reported: of all that was put of the location. */
int in_order_end(struct in_order *o);

/* Other than 0 ends the reading. */
typedef int (*in_order_fn)(void *arg, uint32_t location, uint64_t time_ns, uint64_t word);

/*
 * Gives all items, once; at equal times the lower location's first, and those of a location as they
 * were put. 0, what FN gave, -ECANCELED when a signal came, -EIO when `out` cannot be written.
 */
int in_order_read(struct in_order *o, in_order_fn fn, void *arg);

#endif

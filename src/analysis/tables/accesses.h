/* Accesses: what an operation did at each level, as the workload reads it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ACCESSES_H
#define SCI_ACCESSES_H

#include "operations.h"
#include "src/common/spill.h"

struct access {
	uint64_t begin_ns;
	uint64_t ns;
	uint64_t offset;   /* bytes, in the file or on the device */
	uint64_t bytes;	   /* transferred */
	uint32_t file;	   /* number of resources.h; BLOCK: the device's */
	uint32_t handle;   /* index into the definitions, ETA_NONE */
	uint32_t location; /* BLOCK: of the thread that submitted it */
	uint32_t owner; /* BLOCK: tid of the thread that dirtied the pages; 0: that submitted it */
	uint8_t level;	/* enum eta_level */
	uint8_t mode;	/* enum operation_mode; OTHER: sets the position of the handle */
	bool has_offset;
	bool root;	  /* the operation itself */
	bool failed;	  /* and gave an error */
	bool has_cache;	  /* a read through the page cache */
	bool hit;	  /* that found all there */
	bool has_latency; /* its end was seen */
	bool lower;	  /* BLOCK: part of another one of these, to a stacked device */
};

/* In the order of their begins. FUNCTION: the operation's, as the trace names it. */
void accesses_spill(struct spill_writer *w, const struct operation *op, const char *function,
		    uint32_t file, uint32_t location);
/* DEV: number of resources.h. */
void request_spill(struct spill_writer *w, const struct bio *bio, uint32_t dev, uint32_t location);
int access_unspill(struct spill_reader *r, struct access *a);

#endif

/* The records of the spill: what the pass over the locations leaves for those across them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORDS_H
#define SCI_RECORDS_H

#include "operations.h"
#include "src/common/spill.h"

/* An operation as it comes back. Devices and files are numbers of resources.h. */
struct operation_record {
	uint64_t begin_ns, end_ns;
	uint64_t bytes; /* transferred; 0 unless asked for */
	uint8_t mode;	/* enum operation_mode; the same */
	uint32_t tally; /* of its location */
	uint32_t file;
	uint32_t dev; /* of the file */
	bool dirties; /* puts pages into the page cache */
	bool changes; /* may give a journal something to write */
	bool truncated;
	bool syncs_others;  /* writes out what anybody has made dirty */
	uint64_t others_ns; /* waits that are others' (cell_is_for_others), where known */
	uint32_t halves;    /* of words that its stretches take in the spill */
	uint32_t n_stretches, room;
	struct stretch *stretches;
	uint64_t cells;	      /* set of those with time */
	uint64_t ns[N_CELLS]; /* of those in the set; the rest is old */
};

/*
 * Puts OP away: its stretches' devices go through DEV_OF(ARG, stretch, &number) first. BYTES: keep
 * the bytes transferred, too; then the reader has to ask for them.
 */
int operation_spill(struct spill_writer *w, const struct operation *op, uint32_t tally,
		    uint32_t file, uint32_t dev, bool bytes,
		    int (*dev_of)(void *arg, const struct stretch *stretch, uint32_t *number),
		    void *arg);
/* All but its stretches, which have to be read, or skipped, before anything else. */
int operation_unspill(struct spill_reader *r, bool bytes, struct operation_record *op);
int operation_unspill_stretches(struct spill_reader *r, struct operation_record *op);
static inline void operation_skip_stretches(struct spill_reader *r,
					    const struct operation_record *op)
{
	spill_skip(r, (op->halves + 1) / 2);
}
/* Frees what the reading of records has taken. */
void operation_record_free(struct operation_record *op);

/* How long it was in the cell C. */
static inline uint64_t operation_time(const struct operation_record *op, enum cell c)
{
	return op->cells >> c & 1 ? op->ns[c] : 0;
}

/* How long it takes without its waits for others. */
static inline uint64_t operation_unheld_ns(const struct operation_record *op)
{
	return op->end_ns - op->begin_ns - op->others_ns;
}
/* The same by cell, once its stretches are read. */
void operation_unheld_cells(const struct operation_record *op, uint64_t cell_ns[N_CELLS]);

/* A block request. */
struct bio_record {
	uint64_t begin_ns, end_ns;
	uint32_t dev;	/* number of resources.h */
	uint32_t owner; /* tid of who dirtied the pages, 0: the thread itself */
};

/* Puts BIO away, and reads the next one: 0 or -errno; a failure of writing is in W->rc. */
void bio_spill(struct spill_writer *w, const struct bio_record *bio);
int bio_unspill(struct spill_reader *r, struct bio_record *bio);

#endif

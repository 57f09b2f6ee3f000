/* Classes of similar operations, and what each thread did in each of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CLASSES_H
#define SCI_CLASSES_H

#include <stddef.h>

#include "durations.h"
#include "operations.h"
#include "records.h"
#include "reference.h"
#include "src/common/slots.h"

/* What distinguishes classes; the three hashes are of growing detail. */
struct class_key {
	uint64_t coarse;  /* function, mode, size class, O_DIRECT, result */
	uint64_t flagged; /* coarse + issued a bio, waited for a bio */
	uint64_t fine;	  /* flagged + signature; = flagged: the path says nothing */
	uint64_t name;	  /* hash of the function's name */
	uint32_t region;  /* of the function */
	uint8_t mode;
	uint8_t result;
	uint8_t size_class; /* 0: no size, else 1 + log2 */
	bool direct;
	bool issued;
	bool waited; /* for a request that it issued */
};

/*
 * Are operations of KEY compared with those of the same path? Not those that waited for pages which
 * were pushed out of memory: with the pages they would have gone the way of a hit.
 */
static inline bool class_has_path(const struct class_key *key)
{
	return key->fine != key->flagged;
}

/* The fastest finished operation, without its waits for others: ties by begin, then location. */
struct fastest {
	uint64_t ns;
	uint64_t begin_ns;
	uint32_t location;
	uint64_t cell_ns[N_CELLS];
};

/* What one location did in one class. */
struct tally {
	uint32_t class;
	uint32_t site; /* with callsites: where the calls were made */
	uint64_t n;
	uint64_t total_ns;
	unsigned __int128 square; /* of the durations, where asked for */
	uint64_t cells;		  /* set of those with time */
	uint64_t cell_ns[N_CELLS];
	struct contended *contended; /* NULL: only what is always contended */
};

struct class
{
	struct class_key key;
	struct tally all;	    /* what all locations did in it; filled by engine_pass */
	uint64_t lifetime_ns;	    /* in sum, of these locations, once for each of their tallies */
	struct durations durations; /* of finished operations */
	struct durations unheld;    /* without waits for others, if that differs for any */
	bool differs;
	struct fastest fastest;
	/* with a baseline: by cell, how long they waited there; NULL: none has waited */
	struct durations *waits;
	/* with REFERENCE_SOLO: those that overlapped no other thread's on the same file, unheld */
	struct durations solo;
	struct fastest solo_fastest;
	/* the tally of this class for the current location */
	uint32_t tally_of; /* location + 1 */
	uint32_t tally;
};

/* The classes found by one thread of the analysis, or by all, in the order they were found. */
struct classes {
	struct class **list;
	uint32_t n, room;
	struct slots slots; /* by key.fine */
};

/* The references that a tally's operations are measured against: the score's and its interval's. */
enum { BY_HEADLINE, BY_LOW, BY_MIN, N_REFERENCES };

/*
 * The contended time of a tally's operations, by cell. Where time in a cell was contended in part,
 * the operation is assumed to have progressed as the reference while alone: only the rest of the
 * reference's time is compared with the contended time. Of time that is others' by nature, `ns` is
 * what was lost to kernel threads that worked for the operation's own thread.
 */
struct contended_cell {
	uint64_t ns;
	uint64_t n;		     /* operations, all of whose time in the cell was contended */
	uint64_t left[N_REFERENCES]; /* of the other operations: the rest of the references */
	uint64_t limited_ns; /* of those whose work there is a limit's (loss_limit_work()) */
	uint64_t n_limited;
};

struct contended {
	uint64_t cells; /* set of those that are here, in their order; the sweep has all */
	struct contended_cell cell[];
};

/* Nothing, of the set CELLS; for free(). NULL: no memory. */
struct contended *contended_new(uint64_t cells);
/* What C has of cell CELL; NULL: nothing. */
struct contended_cell *contended_place(struct contended *c, enum cell cell);
const struct contended_cell *contended_at(const struct contended *c, enum cell cell);

/* Time of all operations of a class. */
struct class_time {
	uint64_t n;
	uint64_t cell_ns[N_CELLS];
	/*
	 * Of waits, how much of each is the mean's: longer ones are cut to this, so that all
	 * together are as long as the mean says. 0: each has the same part of its length.
	 */
	uint64_t level_ns[N_REFERENCES][N_CELLS];
};

/* The references a class is measured against, after falling back. */
struct class_references {
	/*
	 * [BY_LOW]: the lower end of the interval (the quantile 0.05; of a baseline the longest
	 * that its mean may be); [BY_MIN]: the upper end (the minimum; the shortest).
	 */
	struct reference *by[N_REFERENCES];
	const struct class_time *time; /* with a baseline, to divide its mean; or NULL */
	int64_t path_ns; /* of the headline's reference, beyond the shortest of its coarse class */
	/*
	 * With a baseline, of faults that write: the part of them that it had none for. A page was
	 * written to again because somebody had it written to the disk meanwhile.
	 */
	double more;
};

/* The key of the class that OP is in, by what SIMILAR compares. */
void class_key_make(const struct operation *op, const struct regions *regions, enum similar similar,
		    struct class_key *key);

/* The class of KEY, made when it is new; its index through the pointer. 0 or -ENOMEM. */
int classes_get(struct classes *classes, const struct class_key *key, uint32_t *index);
void classes_free(struct classes *classes);
/* Frees what CLASS has, not itself. */
void class_clear(struct class *class);

/*
 * Adds a finished operation of LOCATION: to all of the class; to those that overlapped no other
 * thread's. class_merge: all of FROM, of another thread of the analysis. 0 or -ENOMEM.
 */
int class_add(struct class *class, const struct operation *op, uint32_t location);
/* For a baseline: how long OP waited in each cell. 0 or -ENOMEM. */
int class_add_waits(struct class *class, const struct operation *op);
int class_add_solo(struct class *class, const struct operation_record *op, uint32_t location);
int class_merge(struct class *into, const struct class *from);
/* Adds what one location did in a class to what all did. */
void class_add_tally(struct class *class, const struct tally *t);
/* The faster of both. */
void fastest_merge(struct fastest *into, const struct fastest *from);

/* Durations without waits for others: references are chosen from them. */
static inline const struct durations *class_unheld(const struct class *class)
{
	return class->differs ? &class->unheld : &class->durations;
}

#endif

/* How long each of the others was in the way of an operation. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_WEIGHTS_H
#define SCI_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/analysis/tables/blame.h"
#include "src/analysis/tables/cells.h"

struct sweep;
struct sweep_thread;

/* Up to this many threads each have a table of all others for files. */
#define FEW_THREADS 1024

/* The kind of a weight: a cell for which the kernel named the culprit, or one of these. */
enum weight_kind {
	WEIGHT_FILE = N_CELLS,
	WEIGHT_FS,
	WEIGHT_DIRTY,
	WEIGHT_AHEAD,  /* requests that came before */
	WEIGHT_DEVICE, /* all other requests */
	WEIGHT_SERVER, /* calls at a file server */
	N_WEIGHTS,
};

/* How long another thread disturbed an operation. */
struct weight {
	uint64_t ns;
	uint32_t thread;
	uint32_t kind; /* enum weight_kind, from N_CELLS on */
};

/* Who disturbed a thread's operation, and how long. */
struct weights {
	struct weight *list;
	uint32_t n, room;
	bool distinct;	 /* no two of them are of one kind and thread */
	bool has_others; /* others_ns has some of other machines */
	bool crowded;	 /* more threads overlap it than rows have room for: the rest are */
	uint64_t others_ns[N_WEIGHTS - N_CELLS]; /* one entry, by kind */
	/* the same of WEIGHT_FILE, per thread, where threads are few; or NULL */
	uint64_t *file_ns;
	uint32_t *file_threads; /* threads with any */
	uint32_t n_file_threads;
	struct sums named;   /* (cell, culprit) */
	struct sums company; /* (kind, location of another machine); the rest in others_ns */
};

/* Adds NS for CULPRIT, named by the kernel, or for the thread OTHER. Out of memory: s->rc. */
void weight_name(struct sweep *s, struct sweep_thread *l, enum cell cell, uint64_t culprit,
		 uint64_t ns);
void weight_add(struct sweep *s, struct sweep_thread *l, enum weight_kind kind, uint32_t other,
		uint64_t ns);
/* NS for a thread of another machine; LOCATION ETA_NONE: for several. */
void weight_add_company(struct sweep *s, struct sweep_thread *l, enum weight_kind kind,
			uint32_t location, uint64_t ns);
/* Room for N more that are going to be appended to l->weights.list. 0 or -ENOMEM. */
int weights_reserve(struct sweep *s, struct sweep_thread *l, uint32_t n);
void weight_add_file(struct sweep *s, struct sweep_thread *l, const struct sweep_thread *other,
		     uint64_t ns);
/* Merges to one weight per kind and thread. */
void weights_merge(struct sweep *s, struct sweep_thread *l);
/* More threads overlap it, or will, than its row can have. */
void weights_crowd(struct sweep *s, struct sweep_thread *l);
void weights_clear(struct sweep_thread *l);
void weights_free(struct sweep_thread *l);

#endif

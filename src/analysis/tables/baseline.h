/* Another trace as the reference: the mean of each class there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_BASELINE_H
#define SCI_BASELINE_H

#include "classes.h"

/*
 * All operations with one key; WIDTH as in references.c. Keys of different widths are kept apart.
 */
struct baseline_class {
	uint64_t key;
	uint64_t n, total_ns;
	uint64_t lifetime_ns; /* of who did them */
	/* the same of the trace that is compared with this one */
	uint64_t n_here, lifetime_here_ns;
	uint64_t cell_ns[N_CELLS]; /* = total_ns in sum */
	struct durations_moments moments;
};

struct baseline {
	struct baseline_class *by_width[3]; /* ascending key: fine, flagged, coarse */
	uint32_t n[3];
	bool kernel; /* it has the kernel's side */
};

/* Makes B from the classes of the other trace; to add each of them. */
int baseline_new(const struct classes *classes, struct baseline *b);
void baseline_add(struct baseline *b, const struct class *class);
/* Counts for each key of B the operations of CLASSES, of the trace that is compared with it. */
void baseline_count_here(struct baseline *b, const struct classes *classes);
void baseline_free(struct baseline *b);

/*
 * The mean operation of the class there, or of the wider one where there are too few: in
 * R[BY_HEADLINE], its time by cell rounded so that the cells sum to the duration. R[BY_LOW] and
 * R[BY_MIN] are as long as the mean might be: 1.96 standard errors more and less, of few the
 * longest and the shortest. ONLY_WAITS: such operations are recorded only if they wait, so those
 * that are missing there, of as many as are here in the same time, did not. False: there is none at
 * all.
 */
bool baseline_reference(const struct baseline *b, const struct class_key *key, bool only_waits,
			struct reference r[N_REFERENCES]);
/* Of the operations with the coarse key of KEY, the part that there are none for in B: 0 to 1. */
double baseline_more(const struct baseline *b, const struct class_key *key);
/* How long operations with the coarse key of KEY take there on average. False: there are none. */
bool baseline_coarse_mean(const struct baseline *b, const struct class_key *key, uint64_t *ns);

#endif

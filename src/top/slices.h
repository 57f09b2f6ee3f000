/* What sci-top has seen: the last seconds in slices, each scored once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_SLICES_H
#define SCI_TOP_SLICES_H

#include "rates.h"

/* What was recorded from one look to the next. */
struct slice {
	unsigned users;
	uint64_t taken_ns;
	struct eta_trace *trace;
	struct analysis *analysis;
	struct rates rates;
};

void slice_free(struct slice *slice);

/* The slices of the window, the oldest first. */
struct slices {
	struct slice **list;
	size_t n, room;
	uint64_t begin_ns; /* when the last one that was forgotten was taken; 0: none was */
	struct earlier_references *earlier;
};

/* N: how many the window has, about. 0 or -ENOMEM, reported. */
int slices_new(struct slices *slices, unsigned n);
void slices_free(struct slices *slices);
/* Scores the spool at PATH, taken at NOW_NS. 0 or -errno, reported. */
int slices_add(struct slices *slices, const char *path, uint64_t now_ns);
/* Those taken before. */
void slices_forget(struct slices *slices, uint64_t since_ns);
/* When the first one began: all of them began at START_NS. */
static inline uint64_t slices_begin(const struct slices *slices, uint64_t start_ns)
{
	return slices->begin_ns ? slices->begin_ns : start_ns;
}

#endif

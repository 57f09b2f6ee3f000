/* What a program does that makes its I/O slow also alone: reported only where it was seen. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PREMISES_H
#define SCI_PREMISES_H

#include "src/analysis/tables/analysis.h"

/* A habit that was seen, with its numbers. */
struct premise {
	const char *name; /* for other programs */
	uint64_t ns;	  /* in the calls that it is about */
	uint64_t files;	  /* of which it is true */
	char text[512];	  /* with the file that took most of it */
};

/* Descending time; at most MOST of them. How many. */
uint32_t premises_find(const struct analysis *a, struct premise *list, uint32_t most);

#endif

/* What a misspelt word may have been meant to be. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_NEAREST_H
#define SCI_NEAREST_H

/*
 * How many letters must be put in, left out, exchanged for others, or swapped with the next, to
 * make B of A. Words of more than 63 letters are far from everything.
 */
unsigned nearest_distance(const char *a, const char *b);

#endif

/* Dividing whole nanoseconds so that the parts sum to the whole. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SHARE_H
#define SCI_SHARE_H

#include <stddef.h>
#include <stdint.h>

/*
 * AMOUNT >= 0 in proportion to the N WEIGHTS, to the nanosecond: each part is rounded down, and
 * what is left goes to the largest remainders (Hamilton's method), ties to the lower index. Without
 * any weight all parts are 0.
 */
void share_exactly(int64_t amount, const uint64_t *weights, int64_t *parts, size_t n);

#endif

/* How many columns of a terminal a text takes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_COLUMNS_H
#define SCI_COLUMNS_H

#include <stddef.h>

/*
 * Bytes of the first character of TEXT, which is not empty; COLUMNS: 2 of a wide one, 0 of one that
 * is put over that before it. What is no UTF-8 is a byte in a column.
 */
size_t columns_step(const char *text, unsigned *columns);

size_t columns_of(const char *text);
/* Bytes of TEXT that fit into so many columns, all with 0. */
size_t columns_fit(const char *text, size_t columns);

#endif

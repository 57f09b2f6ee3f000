/* How many columns of a terminal a text takes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_COLUMNS_H
#define SCI_COLUMNS_H

#include <stddef.h>

size_t columns_of(const char *text);
/* Bytes of TEXT that fit into so many columns, all with 0. */
size_t columns_fit(const char *text, size_t columns);

#endif

/* Names for addresses: function, file and line out of a module's symbols and debug information. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SYMBOLS_H
#define SCI_SYMBOLS_H

#include "src/analysis/tables/analysis.h"

struct symbols;

/* NULL without memory, or where this was built without libdw: then nothing is found. */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *symbols);

/*
 * Fills function, file and line of the first N call sites of A, as far as they are known. The texts
 * belong to SYMBOLS. A module whose file is gone or another one by now is reported once.
 */
void symbols_find(struct symbols *symbols, struct analysis *a, uint32_t n);

#endif

/* Advice for what was seen. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ADVICE_H
#define SCI_ADVICE_H

#include "src/analysis/tables/analysis.h"

/* A sentence or two: what helps against what the verdict names, with the names it is about. */
void advice_text(const struct analysis *a, char *out, size_t size);

#endif

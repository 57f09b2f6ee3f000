/* What libFuzzer's entry and the replay of a corpus share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_FUZZ_H
#define SCI_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The source that inputs are for, once; NAME stays the caller's. */
void fuzz_start(const char *name);
/* Reads one input, strictly and leniently; aborts where a promise of eta.h is broken. */
void fuzz_one(const uint8_t *data, size_t bytes);

#endif

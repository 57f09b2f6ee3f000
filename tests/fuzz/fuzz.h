/* What libFuzzer's entry and the replay of a corpus share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_FUZZ_H
#define SCI_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls fail now and then: what is read twice may not be the same. */
extern bool fuzz_calls_fail;

/* The source (or what fuzz_vm knows) that inputs are for, once; NAME stays the caller's. */
void fuzz_start(const char *name);
/* Reads one input, strictly and leniently; aborts where a promise of eta.h is broken. */
void fuzz_one(const uint8_t *data, size_t bytes);
/* Makes all that the commands make of TRACE, of which nothing is kept. */
struct eta_trace;
void fuzz_reports(struct eta_trace *trace);
/* FORMAT is "qemu-command" or "qcow2", and was read; false: neither. */
bool fuzz_vm(const char *format, const uint8_t *data, size_t bytes);
/* The command line FORMAT FILE...: calls ONE for each file, of 1 MiB at most. The exit status. */
int fuzz_inputs(int argc, char **argv, void (*one)(const uint8_t *data, size_t bytes));

#endif

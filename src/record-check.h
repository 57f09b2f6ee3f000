/* What this machine can record, and why not more: sci-record --check. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORD_CHECK_H
#define SCI_RECORD_CHECK_H

#include <stdbool.h>

/*
 * Prints a line for each thing that a recording needs; PLUGINS: the folder of the tracers'
 * libraries. True: library calls and all of the kernel's levels can be recorded. Leaves nothing:
 * the kernel's probes are loaded, not attached, and gone at the end.
 */
bool record_check(const char *plugins);

#endif

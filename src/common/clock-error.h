/* By how much the clocks of the machines of a trace may differ. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CLOCK_ERROR_H
#define SCI_CLOCK_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/base/eta.h"

/* UINT64_MAX: not known. False: the trace is of one clock. */
bool clock_error_of(const struct eta_defs *defs, uint64_t *error_ns);

#endif

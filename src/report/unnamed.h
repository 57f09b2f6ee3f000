/* Waits that the kernel's tracer has seen and not named: at which places of the kernel. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_UNNAMED_H
#define SCI_REPORT_UNNAMED_H

#include "trace-rows.h"

extern const struct trace_rows unnamed_rows;

/* The columns of its table: *N in *LIST. */
void unnamed_columns(const struct column **columns, size_t *n);

#endif

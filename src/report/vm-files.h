/* Where the bytes of guests' files are on their hosts' disks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_VM_FILES_H
#define SCI_REPORT_VM_FILES_H

#include "trace-rows.h"

extern const struct trace_rows vm_files_rows;

/* The columns of its table: *N in *LIST. */
void vm_files_columns(const struct column **columns, size_t *n);

#endif

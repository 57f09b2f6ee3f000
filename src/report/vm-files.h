/* Where the bytes of guests' files are on their hosts' disks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_VM_FILES_H
#define SCI_REPORT_VM_FILES_H

#include "eta-ext/base/eta.h"
#include "table.h"

struct vm_files;

/* The columns of its table: *N in *LIST. */
void vm_files_columns(const struct column **columns, size_t *n);
/* Reads all of TRACE. vm_files_free, also on failure. */
int vm_files_run(struct eta_trace *trace, struct vm_files **out);
void vm_files_free(struct vm_files *v);
/* The rows of V, arranged; table_free, also on failure. */
int vm_files_table(const struct vm_files *v, const struct table_options *options,
		   struct table *out);
/* The same of the disks that the files are on: what of each has a place. */
int vm_files_disks(const struct vm_files *v, struct table *out);
/* Both. */
int vm_files_text(FILE *out, const struct vm_files *v, const struct table *table,
		  const struct table_options *options);
int vm_files_json(FILE *out, const struct vm_files *v, const struct table *table,
		  const struct table_options *options);

#endif

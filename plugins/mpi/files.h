/* The files that MPI has open, by their handles. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MPI_FILES_H
#define SCI_MPI_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct open_file {
	uintptr_t handle;
	uint32_t id;	 /* sci_outer_file */
	bool sequential; /* it has no position to be asked for */
};

void open_files_add(struct open_file file);
/* False: HANDLE is not known to be a file that is open. */
bool open_files_find(uintptr_t handle, struct open_file *file);
/* It is about to be closed: from then on its handle may be another's. */
bool open_files_take(uintptr_t handle, struct open_file *file);

#endif

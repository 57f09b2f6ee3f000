/* Inside of the table of guests' files: its rows, and the columns of both of its tables. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_VM_FILE_COLUMNS_H
#define SCI_REPORT_VM_FILE_COLUMNS_H

#include "guest-disks.h"
#include "table.h"

#define NO_PIECE SIZE_MAX

/* What was moved between a file of a guest and one piece of the disk. */
struct vm_file {
	const struct guest_disk *disk;
	const char *path;
	uint64_t inode; /* 0: of no file that is known, as a journal */
	uint32_t file_dev;
	size_t piece;		/* NO_PIECE: it has no place */
	uint64_t begin, end;	/* of what was moved, on the guest's disk */
	uint64_t image, sector; /* where that begins in the image, and on the host's disk */
	uint64_t requests, bytes[2], host_bytes[2]; /* read, written */
};

/* Those of the disks: *N in *LIST; rows are struct guest_disk. */
void vm_disk_columns(const struct column **columns, size_t *n);

#endif

/* What QEMU itself counts for the disks of traced virtual machines, once a second. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_DISK_COUNTS_H
#define SCI_VM_DISK_COUNTS_H

#include "machines.h"

struct disk_counts;

/*
 * Opens the monitors of VMS, which stay until disk_counts_free, while the rights for it are there.
 * 0 or -ENOMEM, reported.
 */
int disk_counts_new(const struct vms *vms, struct disk_counts **out);
void disk_counts_free(struct disk_counts *counts);

/* Begins to ask, in a thread of its own. A failure is a warning: the trace goes on without. */
void disk_counts_begin(struct disk_counts *counts);

/*
 * Asks a last time and gives PUT what is to be in the recording, as texts "NAME=value"
 * (eta-ext/format/samples.h); a machine that did not answer has a warning. Nothing, if it has not
 * begun.
 */
void disk_counts_end(struct disk_counts *counts, void (*put)(void *arg, const char *text),
		     void *arg);

#endif

/* Where the disks of virtual machines lie on this machine's devices, as lines of text. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_EXTENTS_TABLE_H
#define SCI_VM_EXTENTS_TABLE_H

#include <stdio.h>

#include "machines.h"

/*
 * The pieces of each disk of VMS: offset in the guest's disk, in the image, sector on the device,
 * bytes; then what has no piece. A disk that cannot be read has a line that says why. Returns the
 * number of those whose machine still runs.
 */
size_t vm_extents_print(FILE *to, const struct vms *vms);

#endif

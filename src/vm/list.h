/* sci-kernel vms: the virtual machines that run here, on standard output. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_LIST_H
#define SCI_VM_LIST_H

#include <stdbool.h>

/*
 * Prints those that WORDS name, as for vms_select (NULL: all); with EXTENTS where their disks lie,
 * in place of what they are. 0 or -1, reported: also where it cannot be said of a disk.
 */
int vms_list(const char *words, bool extents);

#endif

/* Virtual machines as lines of text, and as properties of a recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_TABLE_H
#define SCI_VM_TABLE_H

#include <stdio.h>

#include "machines.h"

/* A paragraph for each. */
void vm_table_print(FILE *to, const struct vms *vms);

/*
 * PUT for each property of VM, "NAME=value" with JSON in it: doc/virtual-machines.md has them. 0
 * or -ENOMEM.
 */
int vm_properties(const struct vm *vm, void (*put)(void *arg, const char *text), void *arg);

#endif

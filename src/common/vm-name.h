/* What a traced virtual machine is called. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_NAME_H
#define SCI_VM_NAME_H

#include "eta-ext/base/eta.h"

/* "web (QEMU pid 20314)" into TEXT of SIZE bytes; false, and "", where PID is no such. */
bool vm_name(const struct eta_defs *defs, uint32_t pid, char *text, size_t size);

/* The guest that runs in virtual machine PID of HOST, where the trace has both; else false, and "".
 */
bool vm_guest(const struct eta_defs *defs, uint32_t pid, const char *host, char *text, size_t size);

#endif

/* What a traced virtual machine is called, and which process of which host it is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_NAME_H
#define SCI_VM_NAME_H

#include "eta-ext/base/eta.h"

/* Does the trace describe a virtual machine? */
bool vm_any(const struct eta_defs *defs);

/* "web (QEMU pid 20314)" into TEXT of SIZE bytes; false, and "", where PID is no such. */
bool vm_name(const struct eta_defs *defs, uint32_t pid, char *text, size_t size);

/*
 * The same of a process of the trace: processes of other machines may have the number of a virtual
 * machine, too, and are none.
 */
bool vm_process_name(const struct eta_defs *defs, uint32_t process, char *text, size_t size);

/* The guest that runs in virtual machine PID of HOST, where the trace has both; else false, and "".
 */
bool vm_guest(const struct eta_defs *defs, uint32_t pid, const char *host, char *text, size_t size);

/*
 * What a thread is of the virtual machine that its process is: "vCPU 0", "vCPUs" (one thread for
 * all), "I/O thread io0" into TEXT of SIZE bytes; false, and "", of every other.
 */
bool vm_thread_role(const struct eta_defs *defs, uint32_t location, char *text, size_t size);

#endif

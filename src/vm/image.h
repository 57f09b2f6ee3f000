/* The file or device behind a virtual disk. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_IMAGE_H
#define SCI_VM_IMAGE_H

#include "machines.h"

/*
 * Finds the image of DISK, of the machine that process PID runs by COMMAND, among the files that
 * the process has open. What cannot be found is left unknown. 0 or -ENOMEM; IMAGE's path is the
 * caller's to free.
 */
int image_find(pid_t pid, const struct qemu_command *command, const struct qemu_disk *disk,
	       struct vm_image *image);

#endif

/* The virtual machines that run here: QEMU's processes, their threads and disks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_MACHINES_H
#define SCI_VM_MACHINES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "qcow2.h"
#include "qemu-command.h"

#define VM_ALL_VCPUS UINT_MAX

struct vm_thread {
	pid_t tid;
	bool vcpu;
	unsigned number; /* of a vCPU; VM_ALL_VCPUS: TCG with one thread runs all of them */
	char name[16];	 /* of an I/O thread */
};

/* The image of a disk, as it lies here. */
struct vm_image {
	char *path;	  /* from the root of QEMU's file system, or what the command line says */
	bool local;	  /* a file or device of this machine, no network's */
	bool known, open; /* dev and inode are; QEMU has it open, */
	int descriptor;	  /* by this number */
	bool replaced;	  /* what QEMU has open is not what has the name now */
	bool is_qcow2;	  /* then HEADER is */
	uint32_t dev;	  /* of the file system, major << 20 | minor */
	uint32_t block;	  /* of the block device that the image is, 0: a file */
	uint64_t inode;
	struct qcow2_header header;
};

struct vm {
	pid_t pid;
	char comm[16];
	struct qemu_command command;
	struct vm_thread *threads; /* vCPUs by number, then I/O threads */
	size_t n_threads;
	struct vm_image *images; /* per disk of the command */
};

struct vms {
	struct vm *v; /* by pid */
	size_t n;
};

/*
 * All virtual machines that run here. A process that ends meanwhile is none. 0 or -errno, reported;
 * to be freed after success.
 */
int vms_find(struct vms *vms);
void vms_free(struct vms *vms);

/*
 * Leaves in VMS those that WORDS name: "NAME|PID,..." or "all". -ENOENT: one of them names none, or
 * several; reported.
 */
int vms_select(struct vms *vms, const char *words);

/* "qcow2" or "raw" where the command line does not say, too; "" where it is not known. */
const char *vm_format(const struct qemu_disk *disk, const struct vm_image *image);

#endif

/* Where the bytes of a file lie on the device of its file system. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_EXTENTS_H
#define SCI_VM_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extent {
	uint64_t file, device; /* where it begins, in bytes; DEVICE: of the file system's device */
	uint64_t bytes;
	bool placed; /* DEVICE is known: it is written, and neither compressed nor part of metadata
		      */
};

struct extents {
	struct extent *v; /* in the order of the file; what lies between is a hole */
	size_t n;
};

/*
 * The extents of the file of descriptor FD, as the kernel has them now (FIEMAP; nothing is written
 * for that, so what is dirty may not have a place yet). A block device is one extent, onto itself.
 * 0 or -errno, not reported: -EOPNOTSUPP where the file system does not say. To be freed after
 * success.
 */
int extents_find(int fd, struct extents *extents);
void extents_free(struct extents *extents);

#endif

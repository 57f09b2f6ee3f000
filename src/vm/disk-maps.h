/* Where the disks of traced virtual machines lie, noted when their recording ends. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_DISK_MAPS_H
#define SCI_VM_DISK_MAPS_H

#include "machines.h"

struct held_image;

/* Their images, held open from the begin on: QEMU may be gone at the end, or the names. */
struct disk_maps {
	struct held_image *v; /* of all disks of all machines, in order */
	size_t n;
};

/* 0 or -ENOMEM, reported. disk_maps_free in either case. */
int disk_maps_hold(const struct vms *vms, struct disk_maps *maps);
void disk_maps_free(struct disk_maps *maps);

/*
 * Gives PUT what is to be in the recording, as texts "NAME=value" (eta-ext/format/disk-map.h). What
 * cannot be mapped has a property that says why, and a warning.
 */
void disk_maps_put(const struct vms *vms, const struct disk_maps *maps,
		   void (*put)(void *arg, const char *text), void *arg);

#endif

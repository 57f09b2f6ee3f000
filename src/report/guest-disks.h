/* The disks of guests whose host is in the trace, and where they lie there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_REPORT_GUEST_DISKS_H
#define SCI_REPORT_GUEST_DISKS_H

#include "eta-ext/format/disk-map.h"

struct guest_disk {
	char guest[72], host[72];	/* machines */
	uint32_t machine, host_machine; /* eta_machine */
	char vm[72];
	uint32_t pid;		/* its QEMU */
	uint32_t device;	/* in the guest */
	const char *name;	/* of that there, as "vda" */
	char *image;		/* path, NULL: unknown */
	uint32_t dev, disk_dev; /* of the host: of the image's file system, and all of that disk */
	uint64_t start_sector;	/* of the first on the second */
	struct disk_map map;
	/* as the recording has them; UINT64_MAX: not */
	uint64_t mapped, holes, zeros, compressed, unplaced, left_out, grown, filled;
	char *state; /* what became of the image, or why it has no map; NULL: nothing */
};

struct guest_disks {
	struct guest_disk *v;
	size_t n, room;
};

/* All of them. 0 or -ENOMEM. guest_disks_free in either case. */
int guest_disks_find(const struct eta_defs *defs, struct guest_disks *disks);
void guest_disks_free(struct guest_disks *disks);

/* That which DEVICE of MACHINE is; NULL: none. */
const struct guest_disk *guest_disk_of(const struct guest_disks *disks, uint32_t machine,
				       uint32_t device);

#endif

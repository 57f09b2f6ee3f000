/* What the hosts among the inputs of a merge tell of their virtual machines. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_HOSTS_TOLD_H
#define ETA_HOSTS_TOLD_H

#include <jansson.h>

#include "merge.h"
#include "request-streams.h"

/* A disk of a virtual machine, as the host's recording describes it. */
struct disk {
	uint32_t vm;	 /* index */
	uint32_t number; /* of it in the properties */
	struct request_image image;
	struct disk_map map; /* by places in the image; of one with a format of its own */
	bool is_comparable;  /* its offsets are the guest's, or the map has those */
	json_t *told;	     /* the property */
};

struct vm {
	uint32_t input, pid;
	bool icount;
	char name[64];
};

struct hosts_told {
	struct vm *vms;
	size_t n_vms, vms_room;
	struct disk *disks;
	size_t n_disks, disks_room;
};

/* TOLD: zeroed; hosts_told_free() in any case. 0 or -ENOMEM. */
int hosts_told_read(const struct merge *merge, struct hosts_told *told);
void hosts_told_free(struct hosts_told *told);

#endif

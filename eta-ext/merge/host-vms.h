/* The virtual machines of the hosts in a merge, as the recordings describe them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_HOST_VMS_H
#define ETA_HOST_VMS_H

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
	bool is_tried;	     /* as one of the guest's that is looked at: it is no other's */
	json_t *json;	     /* the property */
};

struct vm {
	uint32_t input, pid;
	bool icount;
	bool is_read; /* what it did for its guest is kept */
	char name[64];
};

struct host_vms {
	struct vm *vms;
	size_t n_vms, vms_room;
	struct disk *disks;
	size_t n_disks, disks_room;
};

/* HOSTS: zeroed; host_vms_free() in any case. 0 or -ENOMEM. */
int host_vms_read(const struct merge *merge, struct host_vms *hosts);
void host_vms_free(struct host_vms *hosts);

#endif

/* A guest that is looked at: its devices, and which virtual machine it is. Internal to the merge.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_MERGE_GUESTS_H
#define ETA_MERGE_GUESTS_H

#include "host-vms.h"
#include "match-requests.h"
#include "merge.h"

/* Fewer that agree may do so by chance. */
enum { PAIRS_MIN = 3 };
/* What two clocks of one machine may differ by: a guest's is its host's. */
enum { RATE_PPM = 100 };

/* A device of a guest, and the disk that it is thought to be. */
struct device {
	uint32_t dev;
	char name[64];
	struct request_sample sample;
	const struct disk *disk; /* NULL: none */
	struct request_vote vote;
	/* the same of the virtual machine that is tried */
	const struct disk *tried;
	struct request_vote tried_vote;
};

struct guests {
	struct merge *merge;
	const struct eta_merge_options *options;
	struct host_vms hosts;
	bool *not_found; /* inputs whose requests are in no virtual machine */
	/* of the guest that is looked at */
	uint32_t input;
	struct device *devices;
	size_t n_devices;
	bool has_requests;
};

/* The image of DISK, with the map that leads to the guest's offsets if it has one. */
struct request_image guest_image_of(const struct disk *disk);
/* May the guest that is looked at run on the machine whose virtual machine VM is? */
bool guest_may_run(const struct guests *g, const struct vm *vm);
/*
 * The machine that the guest is, g->hosts.n_vms: none; each device then has its disk. -EINVAL where
 * it may be two, reported; -ENOMEM and errors of reading.
 */
int guest_find_vm(struct guests *g, uint32_t *found);
/* Adds to SYNC and FOUND what requests of all its devices say of the clocks. 0 or an error of
 * reading. */
int guest_match_devices(struct guests *g, struct eta_sync *sync, struct requests_found *found);

#endif

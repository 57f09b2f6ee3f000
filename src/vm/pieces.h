/* The pieces that a virtual machine's disk is in, from the guest's offsets to the host's device. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_VM_PIECES_H
#define SCI_VM_PIECES_H

#include <stdbool.h>

#include "eta-ext/format/disk-map.h"
#include "machines.h"

/* What has a place, and what has none, in bytes. */
struct pieces_sums {
	size_t pieces;
	uint64_t bytes; /* of the pieces */
	uint64_t zeros, holes, compressed, unplaced;
	bool own_addresses; /* sectors are of btrfs's addresses, not of a device */
};

/*
 * Gives the pieces of IMAGE, which FD has open, to TAKE, in the order of the guest's disk, as they
 * are at this moment. 0, what TAKE returned, or -errno with the reason in *WHY.
 */
int pieces_find(int fd, const struct vm_image *image,
		int (*take)(void *arg, const struct disk_piece *piece), void *arg,
		struct pieces_sums *sums, const char **why);

/* A descriptor of IMAGE, which process PID has open; -errno with the reason in *WHY. */
int pieces_open(pid_t pid, const struct vm_image *image, const char **why);

#endif

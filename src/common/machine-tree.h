/* Where the machines of a trace stand: hosts, the virtual machines on them, the guests in those. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MACHINE_TREE_H
#define SCI_MACHINE_TREE_H

#include "eta-ext/base/eta.h"

/* Machines by the numbers that eta_machine gives. */
struct machine_tree {
	const struct eta_defs *defs;
	bool has_vms; /* a host's recording describes some */
	uint32_t *
		within; /* per machine: the process of QEMU it runs in, ETA_NONE; NULL: no guests */
};

/* 0 or -ENOMEM, reported; to be freed in either case. DEFS are kept, and no more change. */
int machine_tree_new(const struct eta_defs *defs, struct machine_tree *tree);
void machine_tree_free(struct machine_tree *tree);

/* The process of QEMU that MACHINE runs in; ETA_NONE: it is no guest, or its host is not here. */
static inline uint32_t machine_within(const struct machine_tree *tree, uint32_t machine)
{
	return tree->within ? tree->within[machine] : ETA_NONE;
}

/* How many virtual machines MACHINE is in: 0 of a host, 2 of a guest's guest. */
unsigned machine_depth(const struct machine_tree *tree, uint32_t machine);

/* " in NAME (QEMU pid N) on HOST" of a guest, outwards to the host of all; "" of others. */
struct machine_place {
	char text[320];
};
struct machine_place machine_place(const struct machine_tree *tree, uint32_t machine);

/*
 * The machines in the order of a tree: each in front of its guests, otherwise by number. Writes
 * into ORDER (room for defs->n_processes) and gives their number.
 */
uint32_t machine_order(const struct machine_tree *tree, uint32_t *order);

#endif

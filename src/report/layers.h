/* Guests with their hosts: where the time of each went, inside and outside. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_LAYERS_H
#define SCI_LAYERS_H

#include "src/analysis/tables/analysis.h"
#include "src/report/table.h"

/* A guest, and the time in operations of its scored threads, by level. */
struct layers {
	char guest[256];  /* its host name */
	char host[256];	  /* that of the machine that it ran on */
	char name[64];	  /* of the virtual machine */
	uint32_t pid;	  /* of its QEMU */
	uint32_t machine; /* eta_machine */
	/* L1 and L0: their sum is the time of its threads, to the nanosecond */
	int64_t inside_ns[ETA_N_LEVELS], outside_ns[ETA_N_LEVELS];
};

/* Those of A in the order of their names. The caller frees LIST. 0 or -ENOMEM. */
int layers_new(const struct analysis *a, struct layers **list, uint32_t *n);

#endif

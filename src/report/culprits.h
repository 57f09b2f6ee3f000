/* Culprits, those of one program together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CULPRITS_H
#define SCI_CULPRITS_H

#include "src/analysis/tables/analysis.h"

/* All processes of one name on one machine: the compilers of a build are one culprit. */
struct culprit {
	bool is_virtual_machine; /* QEMU, whose guest is not traced: `name` says it all */
	bool is_program;	 /* and no task of which that is not known, nor the rest */
	char name[64];		 /* of the program; "" where nobody was seen, or of no name */
	const char *host;	 /* "" unknown */
	const char *thread;	 /* the location's name, where it is a single thread; else NULL */
	uint32_t processes;	 /* 0: nobody was seen */
	uint32_t threads;
	uint32_t pid; /* of a single process, 0 unknown */
	uint32_t tid; /* of a single thread */
	int64_t ns;
	int64_t named_ns; /* of it, because the kernel named them */
};

/* Those of the N_BLAME of BLAME, descending time; nobody is one of them. The caller frees the list.
 * 0 or -ENOMEM. */
int culprits_new(const struct analysis *a, const struct blame *blame, uint32_t n_blame,
		 struct culprit **list, uint32_t *n);

#endif

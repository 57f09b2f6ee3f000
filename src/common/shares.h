/* Network file systems: what several machines see of one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SHARES_H
#define SCI_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/base/eta.h"

/*
 * A share is one file system of a server, whichever machines have mounted it under whatever device
 * number: by its kind and what is mounted. Shares of one server have the same `server`. Both are
 * numbers from 0 on, by the alphabet, so they are the same wherever the definitions are.
 */
struct share {
	uint64_t dev; /* machine_dev() of a machine that has it */
	uint32_t number, server;
};

struct shares {
	struct share *list; /* by dev */
	uint32_t n;
	uint32_t n_shares, n_servers;
	uint32_t *server_of; /* per share */
	bool several;	     /* more than one machine has the same, or uses the same server */
};

/* Those of DEFS; shares_free. 0 or -ENOMEM. */
int shares_new(const struct eta_defs *defs, struct shares *out);
void shares_free(struct shares *shares);

/* What DEV (machine_dev()) is; NULL: no network file system, or none that is known. */
const struct share *share_of(const struct shares *shares, uint64_t dev);

#endif

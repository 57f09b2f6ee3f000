/* Options of the kernel's side that sci-kernel and sci-record have alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_KERNEL_OPTIONS_H
#define SCI_KERNEL_OPTIONS_H

#include <argp.h>

#include "plugins/kernelio/kernelio.h"

struct kernel_options {
	struct kernelio_filters filters;
	struct kernelio_order order; /* of backends */
	unsigned duration_ms;	     /* 0: until the program ends */
	unsigned wait_writeback_ms;  /* at the end, for what is dirty */
	bool wait_writeback_set;
};

#define KERNEL_WAIT_WRITEBACK_MS 3000 /* where the option was not given */

/*
 * A child for argp, whose input is a struct kernel_options (ARGP_KEY_INIT of the parent sets it in
 * child_inputs). A wrong value is a usage error.
 */
extern const struct argp kernel_argp;

#endif

/* Options of the kernel's side that sci-kernel and sci-record have alike. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_KERNEL_OPTIONS_H
#define SCI_KERNEL_OPTIONS_H

#include "eta-ext/format/spool-budget.h"
#include "options.h"
#include "plugins/kernelio/kernelio.h"

struct kernel_options {
	struct kernelio_filters filters;
	struct kernelio_order order;	/* of backends */
	unsigned duration_ms;		/* 0: until the program ends */
	uint64_t max_bytes, last_bytes; /* of the recording's records; 0: any number, all */
	unsigned wait_writeback_ms;	/* at the end, for what is dirty */
	bool wait_writeback_set;
	bool light;
};

#define KERNEL_WAIT_WRITEBACK_MS 3000 /* where the option was not given */

/* What both tracers may take together, into BUDGET; false: any number of bytes. */
bool kernel_options_budget(const struct kernel_options *o, struct spool_budget *budget);

/* For a struct kernel_options: a part of the commands' tables. */
extern const struct option_row kernel_option_rows[];

#endif

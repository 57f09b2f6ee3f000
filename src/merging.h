/* Merging the traces of a run into one archive, with its counts: for sci-merge and sci-record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_MERGING_H
#define SCI_MERGING_H

#include <stdio.h>

#include "eta-ext/base/eta.h"
#include "inputs.h"
#include "options.h"

struct merging {
	char *const *inputs; /* spool directories, archives, ... */
	size_t n_inputs;
	struct eta_merge_options merge;
	const struct inputs *found; /* what they were found from, NULL: they are as given */
	const char *output;	    /* the archive's anchor, "DIR/unified.otf2" */
	const int *folder; /* descriptor of the folder that it goes to; NULL: as OUTPUT says */
	mode_t mode;	   /* of its files; 0: 0600 */
	struct eta_options open;
	bool no_runs;	  /* each operation by itself */
	unsigned threads; /* 0: the number of CPUs */
	enum eta_links links;
	const char *clock_error; /* of the wall clock of the machine that they are of, NULL: none */
	const char *readings;	 /* of the clock of their machine (ARCHIVE_READINGS), NULL: none */
	/*
	 * Calls EACH for each network file system of the machine that the inputs are of, as
	 * eta_defs_mount takes it; NULL: not known here
	 */
	int (*mounts)(int (*each)(void *arg, const char *text), void *arg);
	const char *again;   /* what writes it after a break; NULL: the same command */
	bool quiet;	     /* no line that moves on a terminal */
	bool strict;	     /* of merging_command */
	FILE *report;	     /* where the counts go, a line per trace; NULL: nowhere */
	bool report_if_lost; /* only where something is missing or damaged */
};

/*
 * Refuses an input given twice and an output that is one of them. 0 or -errno, which has been
 * reported. A signal that breaks it off ends the process, once nothing of the archive is left.
 * COMPLETE: nothing was lost, damaged, orphan, truncated, overlapping or out of order.
 */
int merging_run(const struct merging *merging, bool *complete);

/*
 * The same as a command that ends with it, whose counts go to stdout unless it is quiet: -ENODATA
 * where it is strict and not complete. Reported.
 */
int merging_command(struct merging *merging);

#define NO_RUNS_HELP                                                                               \
	"write each operation by itself, also where many equal ones follow each other (some 130 "  \
	"bytes in place of 9), for programs of others that read the archive"

/* What such a command takes: options of a struct merging. */
extern const struct option_row merging_rows[];

#endif

/* Options of the analysis. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYSIS_OPTIONS_H
#define SCI_ANALYSIS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "operations.h"
#include "reference.h"

struct eta_trace;
struct earlier_references;
struct exchange;

enum sci_kind {
	SCI_DEFAULT, /* slowdown that others caused / lifetime */
	SCI_PAPER,   /* all slowdown / lifetime, as published */
};

/* How many culprits of a thread are listed by default. */
#define ANALYSIS_CULPRITS 32

/*
 * Who else wants the events while they are read: a location's by one thread, those of several at
 * the same time. Where all has to be read again a location begins again. 0 or -errno, which ends
 * the reading.
 */
struct event_tap {
	/* *STATE is of the location; `end` frees it, also where something failed */
	int (*begin)(void *arg, uint32_t location, void **state);
	int (*take)(void *state, const struct eta_event *batch, size_t n);
	int (*end)(void *state);
	void *arg;
};

struct analysis_options {
	enum sci_kind sci;
	enum similar similar;
	enum reference_kind reference;
	double quantile;	    /* of REFERENCE_QUANTILE */
	struct eta_trace *baseline; /* of REFERENCE_BASELINE */
	unsigned threads;	    /* 0: as many as CPUs */
	bool callsites;		    /* by place in the program */
	bool files;		    /* and the files */
	uint32_t n_bins;	    /* number of intervals of time; 0: none */
	uint32_t n_slowed;	    /* number of operations that lost most to list; SCI_DEFAULT */
	uint32_t n_culprits;	    /* per thread, the rest are one entry; 0: all */
	bool habits;  /* how the I/O is done, independent of what was lost; with SCI_DEFAULT */
	bool squares; /* sum squares of times, for the spread of means */
	/*
	 * As in version 1 of json: culprits share all the time lost, not only interference, and
	 * threads are sorted by score, not by time lost.
	 */
	bool version_1;
	/*
	 * Only operations that begin in this part of the trace, from its first event on; to_ns 0:
	 * to its end. Lives are cut to it, and so are the overlaps that decide what is contended.
	 */
	uint64_t from_ns, to_ns;
	const struct event_tap *tap; /* or NULL */
	/* of the pieces of a trace that were analysed before this one: see earlier.h; or NULL */
	struct earlier_references *earlier;
	/* the processes that analyse the trace together, each of which calls this; NULL: one */
	struct exchange *exchange;
	/* called now and then, by one thread at a time; not 0: stop (-ECANCELED). Or NULL */
	int (*progress)(void *arg, uint64_t events_done);
	void *progress_arg;
};

#endif

/* The timeline of the page: the regions of each thread, or as many as there is room for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_LANES_H
#define SCI_HTML_LANES_H

#include <pthread.h>
#include <stdio.h>

#include "src/analysis/tables/analysis.h"

/* Up to so many regions all of them are in the page. */
#define LANES_REGIONS 200000
/* Beyond, those around so many of the operations that lost most. */
#define LANES_DETAILS 64

/* Of `who`: a thread of another machine, that of the virtual machine that waits. */
#define LANE_WHO_LOCATION (1u << 31)

struct lane_region {
	uint64_t begin_ns, ns; /* from the first event on */
	uint64_t inode;
	uint64_t size;
	int64_t offset;
	uint32_t region; /* index into the definitions */
	/* tid of whom it waits for; 0: not known; with LANE_WHO_LOCATION its location */
	uint32_t who;
	uint32_t dev;
	uint8_t depth;
	bool has_size, has_offset, has_file;
};

/* A location: its regions by begin, outer ones first. */
struct lane {
	struct lane_region *regions;
	size_t n, room;
	bool cut; /* there are more in the details than it may have */
};

/* A part of the time that is there in detail. */
struct lane_detail {
	uint64_t begin_ns, end_ns;
};

#define DEPTH_BINS 1024

/* How many requests a device had in flight. */
struct lane_device {
	uint32_t location;
	_Atomic uint64_t busy_ns[DEPTH_BINS]; /* sum over requests of their time in the bin */
};

struct lanes {
	struct lane *list; /* of each location */
	uint32_t n;
	uint64_t n_all; /* regions in the trace */
	bool whole;	/* all of them are here */
	struct lane_detail details[LANES_DETAILS];
	unsigned n_details; /* by begin; where it is not whole */
	struct lane_device *devices;
	uint32_t n_devices;
	struct gathered *gathered; /* all regions, put aside */
	pthread_t freeing;	   /* gives them back */
	bool is_freeing;
};

/* For TRACE, before its analysis. -ENOMEM; -errno, reported. lanes_free. */
int lanes_new(struct eta_trace *trace, struct lanes **out);
/* Gathers the regions while the analysis reads the trace: for its options. */
const struct event_tap *lanes_tap(struct lanes *lanes);
/* Takes of what was gathered what the page shows; A is the analysis. -ENOMEM; -errno, reported. */
int lanes_choose(struct lanes *lanes, const struct analysis *a);
void lanes_free(struct lanes *lanes);
/* As json; of regions at most MOST, of time bins of a thread BINS. */
int lanes_put(FILE *out, const struct lanes *lanes, const struct analysis *a, size_t most,
	      uint32_t bins);

#endif

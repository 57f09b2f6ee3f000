/* The regions and requests of a trace, put aside while the analysis reads it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HTML_GATHER_H
#define SCI_HTML_GATHER_H

#include "lanes.h"
#include "src/common/machines.h"
#include "src/common/spill.h"

/* Deeper ones are not shown. */
#define MOST_DEPTH 64

/* A location. */
struct gathered_location {
	struct spill_stream regions, requests; /* regions in the order of their ends */
	uint64_t n;			       /* regions */
};

struct gathered {
	struct event_tap tap;
	const struct eta_defs *defs;
	struct device_locations devices;
	struct spill spill;
	struct gathered_location *locations;
};

/* The thread and file of the last region that had any, which those that follow may share. */
struct gathered_place {
	uint32_t who, dev;
	uint64_t inode;
	bool has_file, known;
};

struct request {
	uint64_t begin_ns, end_ns;
	uint32_t location; /* of the device */
};

/* -ENOMEM; -errno, reported. gathered_free. */
int gathered_new(struct eta_trace *trace, struct gathered **out);
void gathered_free(struct gathered *g);
/* The next record of a reader of `regions`, in times of the trace; LAST is kept for the one after,
 * and of no meaning before the first. 0 or the reader's -errno. */
int gathered_region(struct spill_reader *r, struct gathered_place *last,
		    struct lane_region *region);
int gathered_request(struct spill_reader *r, struct request *request);

#endif

/* From accesses in time order to rows of the workload. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_WORKLOAD_ROWS_H
#define SCI_WORKLOAD_ROWS_H

#include "src/analysis/tables/accesses.h"
#include "src/common/slots.h"
#include "workload.h"

/* The accesses of one group at one level in time order, over all intervals. */
struct stream {
	uint32_t group;
	uint8_t level;
	bool begun;
	uint64_t last_begin_ns;
	uint64_t next_unit; /* the strict rule: where a sequential access begins */
	struct place {
		uint64_t end;
		uint32_t file;
	} * places; /* the windowed rule: ends of the last ones */
	uint32_t n_places, places_room, oldest;
	uint64_t *ends; /* min-heap: ends of those in flight */
	uint32_t n_ends, ends_room;
	size_t row; /* of the current interval */
};

struct rows {
	struct workload_row *list;
	size_t n, room;
	struct stream *streams;
	uint32_t n_streams, streams_room;
	struct slots slots; /* by group and level */
};

/* A is an access of GROUP in INTERVAL; accesses come in the order of their begins. */
int rows_add(struct rows *rows, uint64_t interval, uint32_t group, const struct access *a);
/* Appends, named, what QEMU counted for its disks, and network file systems for their servers
 * (LEVEL_VIRTUAL_DISK, LEVEL_NET_CLIENT). 0 or -ENOMEM. */
int rows_add_counted(struct rows *rows, struct workload *w);
/* The rows stay, for the caller. */
void rows_free_streams(struct rows *rows);
/* The level of the rows that sum what whole operations moved. */
#define LEVEL_OPERATIONS ETA_LEVEL_NONE

#endif

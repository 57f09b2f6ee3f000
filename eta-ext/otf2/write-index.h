/* OTF2 writer: the index of what is written. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WRITE_INDEX_H
#define ETA_WRITE_INDEX_H

#include "index.h"
#include "runs.h"
#include "write.h"

/* Events between two places of the index. */
enum { INDEX_STEP = 4096 };

/* Inside of a run that is being made: so many operations are before PLACE, the last at LAST_NS. */
struct run_mark {
	uint64_t operations, place, last_ns;
};

/* A location that is being written. */
struct index_builder {
	struct index_location *location;
	const struct eta_defs *defs;
	uint8_t *calls; /* of the archive, by several threads */
	uint64_t last_ns, reach_ns;
	uint32_t depth; /* regions open now */
	uint32_t open[ARCHIVE_DEPTH];
};

void write_index_begin(struct index_builder *b, struct index_location *location, uint64_t id);
/*
 * EVENT is the next record, at TIME_NS. It was the Enter of a run, of N operations like RUN, with
 * the MARKS inside of it; its Leave comes as any other.
 */
void write_index_event(struct index_builder *b, const struct eta_event *event, uint64_t time_ns);
void write_index_run(struct index_builder *b, const struct run *run, uint64_t n,
		     const struct run_mark *marks, size_t n_marks);
void write_index_end(struct index_builder *b);

/* Writes the file, once all others are. 0 or -errno, reported. */
int write_otf2_index(struct archive_writer *writer);

#endif

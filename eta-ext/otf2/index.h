/* The index of an archive: from where on a location is read for a part of the time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_OTF2_INDEX_H
#define ETA_OTF2_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X/times.index, beside the files of events: INDEX_HEAD, then numbers of seven bits a byte, the
 * lowest first, as index.c has them; at last the FNV-1a hash of all before it, 8 bytes, the lowest
 * first.
 */
#define INDEX_NAME "times.index"
#define INDEX_HEAD "eztrace-sci index 1\n"
enum { INDEX_HASH_BYTES = 8 };

/* A place between two events of a location where none of its regions is open. */
struct index_place {
	uint64_t records; /* of the file of events, that come before */
	uint64_t events;  /* the same, with the operations of runs */
	uint64_t last_ns; /* time of the last of them */
	uint64_t
		reach_ns; /* no block request that begins before ends later; never before last_ns */
	/* inside of the run that the next record stands for: operations before, where the next is
	 */
	uint64_t run_operations, run_place;
};

/* Of a location. */
struct index_location {
	uint64_t id;
	uint64_t evt_bytes, run_bytes; /* of its files */
	uint64_t records, events;
	uint64_t first_ns, last_ns;
	uint64_t open_requests; /* block requests without an end */
	bool regions;		/* there are any */
	bool whole;		/* each region has its end, so it may be read in parts */
	struct index_place *places;
	size_t n, room;
};

struct archive_index {
	uint64_t trace_id;
	/* Per region, as the archive numbers them: I/O records of calls lie directly in it. */
	uint8_t *calls;
	uint32_t n_regions;
	struct index_location *locations;
	uint32_t n_locations;
};

/*
 * INDEX as the bytes of its file, the caller's to free; NULL without memory. And from those: 0,
 * -ENOMEM, -EBADMSG where they are damaged; *INDEX is to be freed in any case.
 */
uint8_t *archive_index_pack(const struct archive_index *index, size_t *n);
int archive_index_unpack(const uint8_t *bytes, size_t n, struct archive_index *index);
void archive_index_free(struct archive_index *index);

/*
 * Of LOCATION, the last place before FROM_NS and the first from TO_NS on: what is between them has
 * all that touches this time. NULL: the begin, the end.
 */
const struct index_place *archive_index_before(const struct index_location *location,
					       uint64_t from_ns);
const struct index_place *archive_index_behind(const struct index_location *location,
					       uint64_t to_ns);

#endif

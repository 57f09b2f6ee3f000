/* Inside of Perfetto's form: what its files share. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXPORT_PERFETTO_H
#define SCI_EXPORT_PERFETTO_H

#include "dirty.h"
#include "links.h"
#include "numbers.h"
#include "score.h"
#include "src/export/perfetto.pb-c.h"

/* Of the format: clocks, and what a packet says of the state of its sequence. */
enum { CLOCK_OF_TRACE = 3 /* CLOCK_MONOTONIC */, CLOCK_OF_SEQUENCE = 64 };
enum { STATE_BEGINS = 1, STATE_NEEDED = 2 };

/* Sequences of packets: one of what is seen from outside, then one per location. */
enum { SEQUENCE_OF_ALL = 1, FIRST_LOCATION_SEQUENCE = 2 };

/* Interned in each sequence; numbers from 1. */
enum { NAME_READ = 1, NAME_WRITE, NAME_FLUSH, NAME_WAITED_FOR, N_NAMES = NAME_WAITED_FOR };
enum {
	ARG_SIZE = 1,
	ARG_OFFSET,
	ARG_RET,
	ARG_WHO,
	ARG_PATH,
	ARG_TRUNCATED,
	ARG_TID,
	N_ARGS = ARG_TID
};

/* Requests at one time on a device are on as many tracks, by the end of what is on each. */
struct lanes {
	struct lane {
		uint64_t uuid, end_ns;
	} * list;
	size_t n, room;
};

struct perfetto {
	struct export *e;
	struct export_numbers numbers;
	struct links links;
	struct export_stack stack;
	struct lanes *lanes; /* of each location */
	uint64_t score_uuid, next_uuid;
	uint64_t dirty_uuid; /* of the machine whose first location is dirty_location */
	uint32_t dirty_location;
	uint64_t flows;
	uint32_t *regions, *files; /* the last sequence in which each is interned */
	uint32_t levels[ETA_N_LEVELS + 1];
	uint8_t *buffer; /* of a packet */
	size_t room;
	uint32_t location;
	uint64_t last_ns; /* of its packets */
};

/* Writes PACKET of SEQUENCE. 0 or -ENOMEM, reported. */
int perfetto_packet(struct perfetto *p, TracePacket *packet, uint32_t sequence);

/* TEXT as names are shown; the caller frees it. NULL: no memory, reported. */
char *perfetto_text(const char *text);

/* ---- tracks (perfetto-tracks.c) ---- */

/* Numbers from 1 on: of locations, processes, counters, machines, then what is made meanwhile. */
static inline uint64_t location_uuid(uint32_t location)
{
	return (uint64_t)location + 1;
}

static inline uint64_t process_uuid(const struct perfetto *p, uint32_t process)
{
	return (uint64_t)p->e->defs->n_locations + 1 + process;
}

static inline uint64_t counter_uuid(const struct perfetto *p, uint32_t location)
{
	return process_uuid(p, p->e->defs->n_processes) + location;
}

/* Of a guest or its host (eta_machine). */
static inline uint64_t machine_uuid(const struct perfetto *p, uint32_t machine)
{
	return counter_uuid(p, p->e->defs->n_locations) + 1 + machine;
}

/* A track with this number; PARENT 0: none. As all of them 0 or -ENOMEM, reported. */
int perfetto_track(struct perfetto *p, TrackDescriptor *track, uint64_t uuid, uint64_t parent);
/* A counter's; UNIT: of its values. */
int perfetto_counter(struct perfetto *p, char *name, char *unit, uint64_t uuid, uint64_t parent);
/* Those of all locations. */
int perfetto_tracks(struct perfetto *p);

#endif

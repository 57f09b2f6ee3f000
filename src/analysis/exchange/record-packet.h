/* Records of the spill as bytes, from one process to another. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORD_PACKET_H
#define SCI_RECORD_PACKET_H

#include "src/analysis/tables/records.h"
#include "src/analysis/tables/resources.h"
#include "src/common/packet.h"

/* At the sender, of one of its numbers: on which turn it was told last, as which one. */
struct record_told {
	uint32_t turn, number;
};

/*
 * Files and devices have numbers of their own in each process. In what is sent those of a location
 * are counted from 0; what each is goes before the first record that has it.
 */
struct record_packet {
	bool bytes;		     /* as in records.h */
	uint32_t location;	     /* that of the records */
	uint32_t turn;		     /* from 1 on: a location that is sent */
	uint64_t since_ns;	     /* the begin of the record before */
	uint64_t from_ns, until_ns;  /* see record_packet_time */
	struct resources *resources; /* this process's */
	struct resource_cache cache;
	uint32_t n_files, n_devs; /* told so far */
	/* at the sender, by its own number */
	struct record_told *told_files, *told_devs;
	uint32_t told_file_room, told_dev_room;
	/* at the other, by the number that came: its own */
	uint32_t *files, *devs;
	uint32_t file_room, dev_room;
	uint64_t *words; /* of a record */
	size_t n_words, room;
};

/* RECORDS, which is zeroed or was used before, is for those of LOCATION, which are sent once. */
void record_packet_begin(struct record_packet *records, struct resources *resources,
			 uint32_t location, bool bytes);
void record_packet_free(struct record_packet *records);
/*
 * Until the next begin, puts only what ends at FROM or later and begins before UNTIL (UINT64_MAX:
 * and then, too).
 */
void record_packet_time(struct record_packet *records, uint64_t from_ns, uint64_t until_ns);

/*
 * The next record of R, to P, if its time is right: RECORD_PUT, else 0, or -errno. Behind the last
 * one that can be right nothing is left in R.
 */
#define RECORD_PUT 1
int record_packet_put_operation(struct record_packet *records, struct spill_reader *r,
				struct packet *p);
int record_packet_put_bio(struct record_packet *records, struct spill_reader *r, struct packet *p);

/* All that is left in P: operations and requests are put aside, each as it was, by its writer. */
int record_packet_take(struct record_packet *records, struct packet *p,
		       struct spill_writer *operations, struct spill_writer *bios);

#endif

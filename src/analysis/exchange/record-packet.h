/* Records of the spill as bytes, from one process to another. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORD_PACKET_H
#define SCI_RECORD_PACKET_H

#include "src/analysis/tables/records.h"
#include "src/analysis/tables/resources.h"
#include "src/common/packet.h"

/* At the sender, of one of its numbers: for which location + 1 it was told last, as which one. */
struct record_told {
	uint32_t location, number;
};

/*
 * Files and devices have numbers of their own in each process. In what is sent those of a location
 * are counted from 0; what each is goes before the first record that has it.
 */
struct record_packet {
	bool bytes;		     /* as in records.h */
	uint32_t location;	     /* that of the records */
	uint64_t since_ns;	     /* the begin of the record before */
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

/* RECORDS, which is zeroed or was used for another location, is for those of LOCATION. */
void record_packet_begin(struct record_packet *records, struct resources *resources,
			 uint32_t location, bool bytes);
void record_packet_free(struct record_packet *records);

/* The next record of R, to P. 0 or -errno. */
int record_packet_put_operation(struct record_packet *records, struct spill_reader *r,
				struct packet *p);
int record_packet_put_bio(struct record_packet *records, struct spill_reader *r, struct packet *p);

/* All that is left in P: operations and requests are put aside, each as it was, by its writer. */
int record_packet_take(struct record_packet *records, struct packet *p,
		       struct spill_writer *operations, struct spill_writer *bios);

#endif

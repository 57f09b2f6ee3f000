/* The header of a qcow2 image. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_QCOW2_H
#define SCI_QCOW2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QCOW2_HEADER_BYTES = 104 };

struct qcow2_header {
	uint32_t version;
	uint64_t bytes; /* of the disk that the guest has */
	uint32_t cluster_bytes;
	uint32_t snapshots;
	bool backing, encrypted;
	uint64_t l1_at;	     /* where the first level of its tables is, */
	uint32_t l1_entries; /* and how many entries that has */
	bool extended;	     /* the clusters have parts */
	bool unknown; /* the data is in another file, or features are in use that are not known */
};

/*
 * Reads the BYTES at the image's begin, QCOW2_HEADER_BYTES suffice. False: no qcow2 image, or one
 * whose header says what none can.
 */
bool qcow2_header_read(const unsigned char *data, size_t bytes, struct qcow2_header *header);

#endif

/* Requests that were read once, in temporary files, for who wants them again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_REQUEST_STORE_H
#define ETA_REQUEST_STORE_H

#include "call-pieces.h"
#include "match-requests.h"

struct eta_trace;

/* Whose: of TRACE those to device DEV (PID 0), or those of process PID on the file. */
struct request_key {
	const struct eta_trace *trace;
	uint32_t pid, dev;
	uint64_t inode;
};

/* Zeroed it is empty; request_store_free. */
struct request_store {
	struct kept_requests {
		struct request_key key;
		int fd;
		uint64_t n;
		struct service_piece *pieces; /* of all of them */
		size_t n_pieces, pieces_room;
		bool whole; /* false: somebody writes them, or has not read to the end */
	} * list;
	size_t n, room;
};

void request_store_free(struct request_store *store);

/* The requests of one key, being written or read. */
struct request_file {
	struct request_store *all;
	struct request_store *store; /* NULL: none of both */
	size_t at;		     /* in its list */
	uint64_t next;		     /* request of the file */
	size_t n;		     /* of the buffer */
	struct request buffer[128];
};

/*
 * 1: KEY's requests are there, FILE reads them. 0: request_file_put() each that is read, and
 * request_file_end() behind the last; without a temporary file these do nothing. -ENOMEM.
 */
int request_file_open(struct request_store *store, const struct request_key *key,
		      struct request_file *file);
/* What REQUEST, which is about to be put, was divided into: C's pieces. 0 or -ENOMEM. */
int request_file_pieces(struct request_file *file, const struct call_cutter *c,
			struct request *request);
/* 1, 0 behind the last, -EIO, reported. */
int request_file_next(struct request_file *file, struct request *request);
void request_file_put(struct request_file *file, const struct request *request);
void request_file_end(struct request_file *file);

#endif

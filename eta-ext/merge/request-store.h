/* Requests that were read once, in temporary files, for who wants them again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_REQUEST_STORE_H
#define ETA_REQUEST_STORE_H

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
		bool whole; /* false: somebody writes them, or has not read to the end */
	} * list;
	size_t n, room;
};

void request_store_free(struct request_store *store);

/* The requests of one key, being written or read. */
struct request_file {
	struct request_store *store; /* NULL: none of both */
	size_t at;		     /* in its list */
	uint64_t next;		     /* request of the file */
	size_t n;		     /* of the buffer */
	struct request buffer[128];
};

/*
 * True: KEY's requests are there, FILE reads them. False: request_file_put() each that is read, and
 * request_file_end() behind the last; without a temporary file these do nothing.
 */
bool request_file_open(struct request_store *store, const struct request_key *key,
		       struct request_file *file);
/* 1, 0 behind the last, -EIO, reported. */
int request_file_next(struct request_file *file, struct request *request);
void request_file_put(struct request_file *file, const struct request *request);
void request_file_end(struct request_file *file);

#endif

/* Requests of a guest's disk and what its host did for them: which belong together, and how the
 * clocks stand. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_MATCH_REQUESTS_H
#define ETA_MATCH_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eta-ext/base/clocks.h"

struct request {
	uint64_t begin_ns, end_ns; /* by the clock of its own side */
	uint64_t offset, bytes;	   /* on the disk, in the image */
	bool write;
	bool clock_only; /* for the clock: it is in no trace of the guest */
	bool flush;   /* no transfer: a flush of the guest's disk, a sync of the image; bytes 0 */
	bool no_file; /* a guest's: a journal's or of metadata */
	uint32_t location; /* of its trace */
	uint32_t owner;	   /* tid of the thread whose pages it writes, 0: its own */
	uint32_t number;   /* of a requests_pair_fn; 0: it has given none */
	union {
		uint32_t first_piece; /* of a host's: see request_stream_pieces() */
		uint32_t queued_ns;   /* of a guest's: until it was issued to the disk */
	};
	uint32_t n_pieces;
};

/* The next request of ARG into REQUEST: 1, 0 at the end, -errno. */
struct requests {
	int (*next)(void *arg, struct request *request);
	void *arg;
};

/*
 * The functions below compare transfers. They leave out flushes: by those it cannot be told which
 * of the host's is which of the guest's.
 */

/* Some requests of a guest, evenly over its run, for requests_vote. */
struct request_sample {
	struct request *v; /* by direction, offset, size; freed by free() */
	size_t n;
};

/* Of GUEST's requests, which are all read. 0 or -errno. */
int requests_sample(const struct requests *guest, struct request_sample *sample);

/*
 * How far the host's clock may be ahead of the guest's: the difference of begins that most pairs of
 * equal requests (direction, offset, size) have to within 20 ms.
 */
struct request_vote {
	int64_t ahead_ns;
	uint64_t votes, second; /* pairs that say so, and that say what is said second most */
};

/* HOST's requests are all read. 0 or -errno. */
int requests_vote(const struct request_sample *sample, const struct requests *host,
		  struct request_vote *vote);

struct requests_found {
	uint64_t requests, found; /* the guest's, and those all of whose bytes were found */
	uint64_t bytes, found_bytes;
	uint64_t pairs, dropped; /* and those that do not agree with most others of their time */
	uint64_t ambiguous;	 /* no pairs, since another may be meant as well */
};

/*
 * Finds for each request of GUEST (in order of begin) what of HOST (in order of end) moved its
 * bytes while it lasted: several where the guest splits less than QEMU, one for several where QEMU
 * merges. Each such pair is one of SYNC, the guest's outside. AHEAD_NS is a vote's. The counts are
 * added to. Memory: what is in flight. 0 or -errno.
 */
int requests_match(const struct requests *guest, const struct requests *host, int64_t ahead_ns,
		   struct eta_sync *sync, struct requests_found *found);

/*
 * What a request of the guest and one of the host that moved bytes of it are told to. It may number
 * HOST, which comes with that number again where it has moved bytes of another one, too.
 */
typedef int (*requests_pair_fn)(void *arg, const struct request *guest, struct request *host);

/*
 * The same once the clocks are known to SLACK_NS, of which nothing is learnt any more: FN for each
 * pair, those of one request of the guest behind each other. GUEST's times are by the host's clock.
 */
int requests_assign(const struct requests *guest, const struct requests *host, uint64_t slack_ns,
		    requests_pair_fn fn, void *arg);

#endif

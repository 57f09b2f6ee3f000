/* One operation of the kernel's side as nested regions. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_KERNEL_EXPAND_H
#define ETA_KERNEL_EXPAND_H

#include "eta-ext/base/array.h"
#include "kernel-index.h"

/*
 * A block request of the thread, or made for it, that may be in flight; or one to a file server,
 * which is issued when it is sent.
 */
struct expand_bio {
	uint64_t queue_ns, issue_ns, end_ns; /* 0: not seen */
	uint64_t resent_ns;		     /* 0: never */
	uint32_t queue_who, device_who;	     /* who was ahead of it there; 0: nobody known */
	/* for which part of the time there, in ETA_SLEEP_WHOLE */
	uint32_t queue_part, device_part;
	/* whose requests were there in that part as well, and their share of them, in the same */
	uint32_t beside_who, beside_share;
};

struct expand_span {
	uint64_t begin_ns, end_ns;
	uint64_t object;
	uint32_t who;
	union {
		uint16_t place;	  /* OTHER_LOCK: SLEEP id; else 0: unknown */
		uint16_t changes; /* SLEEP: of ETA_SLEEP_CHANGES */
	};
	uint8_t kind; /* ETA_N_SPANS: the file system's function, which no span says */
	uint8_t flags;
};

struct expand {
	const char *path; /* of the trace, for messages */
	const struct spool_index *index;
	struct eta_counts *counts;
	struct eta_event *events; /* the result: ENTERs and LEAVEs, nested, by time */
	size_t n, room;
	bool adds_pages;	   /* the operation, to the page cache */
	bool asynchronous;	   /* its requests are on their way, and nobody sleeps */
	bool remote;		   /* what it waits for is at a file server */
	bool fuse;		   /* and is a request to the server of a FUSE file system */
	struct expand_span *spans; /* scratch */
	size_t span_room;
	struct expand_open *stack;
	size_t depth, stack_room;
};

/*
 * The spans of OP in EXPAND->spans, clipped to it, sorted: how many, or -ENOMEM. END_NS is the end
 * of the operation, KIND its kind (enum eta_op_kind).
 */
ssize_t expand_take_spans(struct expand *expand, const struct eta_kernel_op *op, uint64_t end_ns,
			  uint8_t kind);

/*
 * OP as regions. NAME is its system call, BIOS the thread's requests that may be in flight during
 * it: to a file server, where REMOTE. 0 or -ENOMEM.
 */
int expand_operation(struct expand *expand, const struct eta_kernel_op *op, struct spool_name name,
		     const struct expand_bio *bios, size_t n_bios, bool remote);
void expand_free(struct expand *expand);

/* As ARRAY_FITS, where a failure is reported; EXPAND is for the message. */
#define EXPAND_FITS(expand, array, n, room)                                                        \
	(ARRAY_FITS(array, n, room) || (expand_no_memory(expand), false))
void expand_no_memory(const struct expand *expand);

#endif

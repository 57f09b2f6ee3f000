/* The processes that analyse one trace together: what they send each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_EXCHANGE_H
#define SCI_EXCHANGE_H

#include "src/common/packet.h"

/*
 * How messages go from one process to another: in the order in which they were sent from it, as
 * long as they are. A process alone has none of this (NULL). 0 or -errno, reported.
 */
struct exchange {
	unsigned rank, n; /* this process, of how many; rank 0 has the result in the end */
	int (*send)(void *arg, unsigned to, const void *bytes, size_t size);
	/* P is emptied, and holds what came */
	int (*receive)(void *arg, unsigned from, struct packet *p);
	void *arg;
	/* what this process has done: bytes sent, events read, bytes put aside on its disk */
	uint64_t sent_bytes, events, spilled_bytes;
	uint64_t gathered_bytes;     /* of those sent: to rank 0 alone */
	uint64_t company_bytes;	     /* of those sent: operations on what several machines use, */
	uint64_t company_operations; /* and how many this process has read of those */
	uint64_t handed_bytes;	     /* of those sent: operations that others need, */
	uint64_t handed_operations;  /* how many, each as often as it was sent */
	uint64_t swept_operations;   /* for which this process has found who was in their way */
	char failure[512]; /* what failed here, or where another process said so; "" unknown */
};

/* What a process adds to a message, and what it takes from one; 0 or -errno. */
typedef int (*exchange_fn)(void *arg, struct packet *p);

/*
 * In each of these all processes take part, whatever has happened to them: RC is what came of what
 * they did before. The result is RC if it is a failure, else the first failure of PUT, TAKE or the
 * sending, else -ECANCELED where another process has failed: rank 0 reports what. X NULL: RC.
 *
 * To rank 0, along a binomial tree (each process sends once, after it took from up to log2(n)
 * others): TAKE adds what came to the process's own, PUT gives both. Only rank 0 knows of all
 * failures afterwards.
 */
int exchange_reduce(struct exchange *x, int rc, exchange_fn put, exchange_fn take, void *arg);
/* From rank 0 to all, along the same tree. All know of a failure of rank 0. */
int exchange_broadcast(struct exchange *x, int rc, exchange_fn put, exchange_fn take, void *arg);
/*
 * From one process to another, in as many messages as it takes: PUT gives EXCHANGE_MORE where it
 * has more for the next. Only these two take part. One that has failed takes what comes, and drops
 * it. If there are several, all processes call it for those that they take part in, in one order.
 */
#define EXCHANGE_MORE 1
int exchange_hand_over(struct exchange *x, unsigned from, unsigned to, int rc, exchange_fn put,
		       exchange_fn take, void *arg);
/* From each to rank 0, in the order of the ranks. */
int exchange_gather(struct exchange *x, int rc, exchange_fn put, exchange_fn take, void *arg);
/* All know of the failure of any. */
int exchange_agree(struct exchange *x, int rc);

#endif

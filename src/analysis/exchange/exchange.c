/* What processes send each other: to rank 0 and from it along a binomial tree. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "eta-ext/base/eta.h"

/* What failed, where nobody has said it yet. */
static void name_failure(struct exchange *x, int rc)
{
	if (!*x->failure && rc != -ECANCELED)
		snprintf(x->failure, sizeof(x->failure), "rank %u: %s", x->rank, strerror(-rc));
}

/* What a message begins with. */
enum {
	MESSAGE_LAST,	/* of the sender; what PUT gave follows */
	MESSAGE_FAILED, /* the sender has failed; then follows what, as it is */
	MESSAGE_MORE,	/* as the last, but another one comes */
};

static int send_failure(struct exchange *x, unsigned to, int rc)
{
	unsigned char bytes[1 + sizeof(x->failure)] = { MESSAGE_FAILED };

	name_failure(x, rc);
	memcpy(bytes + 1, x->failure, sizeof(x->failure));
	return x->send(x->arg, to, bytes, sizeof(bytes));
}

/* 0, EXCHANGE_MORE from PUT, or -errno. */
static int send_one(struct exchange *x, unsigned to, int rc, exchange_fn put, void *arg)
{
	struct packet p = { 0 };
	bool more = false;
	int sent;

	packet_put(&p, MESSAGE_LAST);
	if (!rc && put)
		rc = put(arg, &p);
	if (rc == EXCHANGE_MORE) {
		more = true;
		rc = 0;
	}
	rc = rc ? rc : p.rc;
	if (more && !rc)
		p.bytes[0] = MESSAGE_MORE;
	sent = rc ? send_failure(x, to, rc) : x->send(x->arg, to, p.bytes, p.n);
	x->sent_bytes += rc ? 0 : p.n;
	packet_free(&p);
	rc = rc ? rc : sent;
	return !rc && more ? EXCHANGE_MORE : rc;
}

/* IS_FIRST: nothing has failed here. */
static void take_failure(struct exchange *x, const struct packet *p, bool is_first)
{
	if (*x->failure || p->n != 1 + sizeof(x->failure))
		return;
	memcpy(x->failure, p->bytes + 1, sizeof(x->failure));
	x->failure[sizeof(x->failure) - 1] = '\0';
	if (x->rank == 0 && is_first && *x->failure)
		eta_error("%s", x->failure);
}

/* *MORE: another one comes; NULL where it never does. */
static int receive_one(struct exchange *x, unsigned from, int rc, exchange_fn take, void *arg,
		       bool *more)
{
	struct packet p = { 0 };
	int received = x->receive(x->arg, from, &p);
	uint64_t kind = received ? MESSAGE_LAST : packet_take(&p);
	bool failed = kind == MESSAGE_FAILED;

	if (more)
		*more = kind == MESSAGE_MORE;
	if (!rc)
		rc = received;
	if (failed)
		take_failure(x, &p, rc == 0);
	if (!rc && failed)
		rc = -ECANCELED;
	if (!rc && take)
		rc = take(arg, &p);
	if (!rc)
		rc = p.rc;
	packet_free(&p);
	return rc;
}

int exchange_reduce(struct exchange *x, int rc, exchange_fn put, exchange_fn take, void *arg)
{
	if (!x)
		return rc;
	for (unsigned step = 1; step < x->n; step *= 2) {
		if (x->rank & step)
			return send_one(x, x->rank - step, rc, put, arg);
		if (x->rank + step < x->n)
			rc = receive_one(x, x->rank + step, rc, take, arg, NULL);
	}
	return rc;
}

int exchange_broadcast(struct exchange *x, int rc, exchange_fn put, exchange_fn take, void *arg)
{
	unsigned step = 1;

	if (!x)
		return rc;
	while (step < x->n && !(x->rank & step))
		step *= 2;
	if (x->rank)
		rc = receive_one(x, x->rank - step, rc, take, arg, NULL);
	for (step /= 2; step; step /= 2)
		if (x->rank + step < x->n)
			rc = send_one(x, x->rank + step, rc, put, arg);
	return rc;
}

int exchange_hand_over(struct exchange *x, unsigned from, unsigned to, int rc, exchange_fn put,
		       exchange_fn take, void *arg)
{
	bool more = true;

	if (x->rank == to) {
		while (more)
			rc = receive_one(x, from, rc, take, arg, &more);
		return rc;
	}
	while (more) {
		rc = send_one(x, to, rc, put, arg);
		more = rc == EXCHANGE_MORE;
		rc = more ? 0 : rc;
	}
	return rc;
}

int exchange_gather(struct exchange *x, int rc, exchange_fn put, exchange_fn take, void *arg)
{
	if (!x)
		return rc;
	if (x->rank) {
		uint64_t before = x->sent_bytes;

		rc = send_one(x, 0, rc, put, arg);
		x->gathered_bytes += x->sent_bytes - before;
		return rc;
	}
	for (unsigned from = 1; from < x->n; from++)
		rc = receive_one(x, from, rc, take, arg, NULL);
	return rc;
}

int exchange_agree(struct exchange *x, int rc)
{
	rc = exchange_reduce(x, rc, NULL, NULL, NULL);
	return exchange_broadcast(x, rc, NULL, NULL, NULL);
}

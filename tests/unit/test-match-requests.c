/* Requests of a guest and of its host, made up with a known offset and rate: what is found of them.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/merge/match-requests.h"

struct side {
	struct request *v;
	size_t n, at;
};

static int next_of(void *arg, struct request *request)
{
	struct side *side = arg;

	if (side->at == side->n)
		return 0;
	*request = side->v[side->at++];
	return 1;
}

static struct requests all_of(struct side *side)
{
	side->at = 0;
	return (struct requests){ next_of, side };
}

static void put(struct side *side, struct request one)
{
	side->v = reallocarray(side->v, side->n + 1, sizeof(*side->v));
	assert_non_null(side->v);
	side->v[side->n++] = one;
}

static int by_begin(const void *left, const void *right)
{
	const struct request *a = left, *b = right;

	return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

static int by_end(const void *left, const void *right)
{
	const struct request *a = left, *b = right;

	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static uint64_t draw(uint64_t below)
{
	return (uint64_t)random() % below;
}

struct world {
	struct side guest, host;
	int64_t ahead_ns; /* of the host, when the guest's clock is 0 */
	double ppm;
	bool alone;  /* nothing of the guest is in the host's trace */
	bool poison; /* now and then it is at a wrong time */
};

static uint64_t at_host(const struct world *w, uint64_t guest_ns)
{
	return (uint64_t)((int64_t)guest_ns + w->ahead_ns +
			  (int64_t)((double)guest_ns * w->ppm / 1e6));
}

enum { BLOCK = 4096, GAP_NS = 30000 };

/* A request of the guest at NOW, and what the host does for it: more than GAP_NS later, and less.
 */
static void add(struct world *w, uint64_t now_ns, uint64_t offset, uint64_t blocks)
{
	uint64_t took = 200000 + draw(2000000), left = blocks, from = offset;
	struct request one = { now_ns, now_ns + took + 2 * GAP_NS, offset, blocks * BLOCK,
			       draw(2) };

	if (!w->alone && one.write && blocks > 4 && draw(2)) {
		/* merged by QEMU: the guest made two of it */
		struct request half = one;

		half.bytes = blocks / 2 * BLOCK;
		put(&w->guest, half);
		one.offset += half.bytes;
		one.bytes -= half.bytes;
		put(&w->guest, one);
		put(&w->host, (struct request){ at_host(w, now_ns + GAP_NS),
						at_host(w, now_ns + GAP_NS + took), offset,
						blocks * BLOCK, true });
		return;
	}
	put(&w->guest, one);
	if (w->poison && draw(20) == 0) {
		/* another's on the same place; if it is some ms off, the right one is lost */
		uint64_t off = draw(2) ? 5000000 + draw(8000000) : 0;
		uint64_t begin = at_host(w, now_ns) + off - draw(2) * 2 * off;

		put(&w->host,
		    (struct request){ begin, begin + 50000, offset, blocks * BLOCK, one.write });
		if (off)
			return;
	}
	while (!w->alone && left) {
		/* or split */
		uint64_t n = blocks > 4 ? 1 + draw(left) : left;
		uint64_t begin = now_ns + GAP_NS + draw(took / 4);

		put(&w->host, (struct request){ at_host(w, begin), at_host(w, begin + took / 2),
						from, n * BLOCK, one.write });
		from += n * BLOCK;
		left -= n;
	}
}

/* N requests in flight four at a time, after what another guest did before on the same image. */
static void make(struct world *w, size_t n)
{
	uint64_t now = 3000000000;

	for (size_t i = 0; i < n; i++) {
		uint64_t begin = at_host(w, now) - 9000000000 + draw(8000000000);

		put(&w->host,
		    (struct request){ begin, begin + 100000, draw(512) * BLOCK, BLOCK, draw(2) });
		now += 100000 + draw(1200000);
		add(w, now, draw(512) * 64 * BLOCK, draw(8) ? 1 : 1 + draw(60));
	}
	qsort(w->guest.v, w->guest.n, sizeof(*w->guest.v), by_begin);
	qsort(w->host.v, w->host.n, sizeof(*w->host.v), by_end);
}

static void forget(struct world *w)
{
	free(w->guest.v);
	free(w->host.v);
}

static void look(struct world *w, struct request_vote *vote, struct requests_found *found,
		 struct eta_sync_result *result)
{
	struct requests guest = all_of(&w->guest), host = all_of(&w->host);
	struct request_sample sample;
	struct eta_sync *sync;

	*found = (struct requests_found){ 0 };
	assert_int_equal(requests_sample(&guest, &sample), 0);
	assert_true(sample.n > 0 && sample.n <= w->guest.n);
	assert_int_equal(requests_vote(&sample, &host, vote), 0);
	free(sample.v);
	guest = all_of(&w->guest);
	host = all_of(&w->host);
	assert_int_equal(eta_sync_new(100, &sync), 0);
	assert_int_equal(requests_match(&guest, &host, vote->ahead_ns, sync, found), 0);
	eta_sync_result(sync, result);
	eta_sync_free(sync);
}

static void the_clock_is_found(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 10; seed++) {
		/* up to four minutes, and a first clock that began long before or after */
		struct world w = { .ahead_ns = (int64_t)draw(UINT64_C(1) << 50) - (1 << 28),
				   .ppm = (double)((int)(seed % 5) - 2) * 20 };
		struct requests_found found;
		struct eta_sync_result r;
		struct request_vote vote;
		int64_t truth;

		srandom(seed);
		make(&w, seed % 5 ? 600 : 6000);
		look(&w, &vote, &found, &r);
		truth = (int64_t)(at_host(&w, (uint64_t)r.map.from_ns));
		print_message("%" PRIu64 " votes, %" PRIu64 " for another; %" PRIu64 " of %" PRIu64
			      " found, %" PRIu64 " pairs, %" PRIu64 "+%" PRIu64 " bad, +-%" PRIu64
			      " ns\n",
			      vote.votes, vote.second, found.found, found.requests, found.pairs,
			      found.dropped, r.bad, r.map.error_ns);
		assert_true(vote.votes > 3 * vote.second);
		assert_int_equal(found.requests, w.guest.n);
		assert_int_equal(found.found_bytes, found.bytes);
		assert_int_equal(found.found, found.requests);
		assert_true(llabs(r.map.to_ns - truth) <= (int64_t)r.map.error_ns + 2);
		assert_true(r.map.error_ns < 2 * GAP_NS);
		/* at most what happens to have been there at another's time */
		assert_true((r.bad + found.dropped) * 100 <= found.pairs);
		forget(&w);
	}
}

/* One request in twenty has a wrong one in its place. */
static void wrong_ones_are_dropped(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 10; seed++) {
		struct world w = { .ahead_ns = INT64_C(1) << 45, .ppm = 15, .poison = true };
		struct requests_found found;
		struct eta_sync_result r;
		struct request_vote vote;
		int64_t truth;

		srandom(seed);
		make(&w, seed % 5 ? 500 : 4000);
		look(&w, &vote, &found, &r);
		truth = (int64_t)(at_host(&w, (uint64_t)r.map.from_ns));
		print_message("%" PRIu64 " of %" PRIu64 " found, %" PRIu64 "+%" PRIu64
			      " bad, +-%" PRIu64 " ns\n",
			      found.found, found.requests, found.dropped, r.bad, r.map.error_ns);
		assert_true(found.dropped + r.bad + found.ambiguous > 0);
		assert_true(found.found * 10 > found.requests * 9);
		assert_true(llabs(r.map.to_ns - truth) <= (int64_t)r.map.error_ns + 2);
		assert_true(r.map.error_ns < 2 * GAP_NS);
		forget(&w);
	}
}

static void strangers_are_not_matched(void **state)
{
	struct requests_found found;
	struct eta_sync_result r;
	struct request_vote vote;
	struct world w = { .ahead_ns = 77000000000, .alone = true };

	(void)state;
	srandom(1);
	make(&w, 600);
	look(&w, &vote, &found, &r);
	assert_true(vote.votes < 2 * vote.second + 8);
	assert_true(found.found * 20 < found.requests);
	forget(&w);
}

/* Reads for the clock have bytes of those behind them, which are no others for that. */
static void clock_reads_are_found(void **state)
{
	enum { READS = 50, SECTOR = 512 };
	struct world w = { .ahead_ns = INT64_C(1) << 40, .ppm = -30 };
	uint64_t now = 1000000000;
	struct requests_found found;
	struct eta_sync_result r;
	struct request_vote vote;

	(void)state;
	srandom(7);
	for (uint64_t i = 0; i < READS; i++, now += 400000) {
		/* 7 has no divisor in common with 50: each once */
		uint64_t offset = i * 7 % READS * SECTOR;

		put(&w.guest, (struct request){ now, now + 300000, offset, BLOCK, false, true });
		put(&w.host, (struct request){ at_host(&w, now + GAP_NS + draw(100000)),
					       at_host(&w, now + 300000 - GAP_NS - draw(100000)),
					       offset, BLOCK, false });
	}
	look(&w, &vote, &found, &r);
	assert_int_equal(found.requests, 0);
	assert_int_equal(found.pairs, READS);
	assert_int_equal(found.ambiguous + found.dropped + r.bad, 0);
	assert_true(r.map.error_ns < 2 * GAP_NS);
	forget(&w);
}

/* How long a request was queued in the guest says nothing of the clock. */
static void queue_time_is_left_out(void **state)
{
	enum { REQUESTS = 100, QUEUED_NS = 500000 };
	struct world w = { .ahead_ns = INT64_C(1) << 40 };
	uint64_t now = 1000000000;
	struct requests_found found;
	struct eta_sync_result r;
	struct request_vote vote;

	(void)state;
	srandom(7);
	for (uint64_t i = 0; i < REQUESTS; i++, now += 1000000) {
		struct request one = { now, now + QUEUED_NS + 300000, i * 7 % REQUESTS * BLOCK,
				       BLOCK, false };

		one.queued_ns = QUEUED_NS;
		put(&w.guest, one);
		put(&w.host, (struct request){ at_host(&w, now + QUEUED_NS + GAP_NS + draw(100000)),
					       at_host(&w, one.end_ns - GAP_NS - draw(100000)),
					       one.offset, BLOCK, false });
	}
	look(&w, &vote, &found, &r);
	assert_int_equal(found.found, REQUESTS);
	assert_true(r.map.error_ns < 2 * GAP_NS);
	forget(&w);
}

static void nothing_is_nothing(void **state)
{
	struct world w = { 0 };
	struct requests guest = all_of(&w.guest), host = all_of(&w.host);
	struct request_sample sample;
	struct request_vote vote;

	(void)state;
	assert_int_equal(requests_sample(&guest, &sample), 0);
	assert_int_equal(requests_vote(&sample, &host, &vote), 0);
	assert_int_equal(vote.votes, 0);
	free(sample.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_is_found),
		cmocka_unit_test(wrong_ones_are_dropped),
		cmocka_unit_test(strangers_are_not_matched),
		cmocka_unit_test(clock_reads_are_found),
		cmocka_unit_test(queue_time_is_left_out),
		cmocka_unit_test(nothing_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

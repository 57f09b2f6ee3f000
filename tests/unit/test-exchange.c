/* What processes send each other: numbers as bytes, and the tree; the processes are threads here.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "src/analysis/exchange/exchange.h"
#include "src/analysis/tables/durations.h"
#include "unit.h"

enum { MOST = 9, SAMPLES = 5000 };

/* ---- numbers ---- */

static const uint64_t numbers[] = { 0,	 1,	  127,	      128,	  16383,     16384,
				    255, 1 << 20, UINT32_MAX, 1ull << 63, UINT64_MAX };
enum { N = sizeof(numbers) / sizeof(*numbers) };

static void put_all(struct packet *p)
{
	for (int i = 0; i < N; i++) {
		packet_put(p, numbers[i]);
		packet_put_signed(p, (int64_t)numbers[i]);
		packet_put_signed(p, -(int64_t)(numbers[i] >> 1));
		packet_put_wide(p, (unsigned __int128)numbers[i] * numbers[i]);
	}
	packet_put_text(p, "a/path");
	packet_put_text(p, "");
	packet_put_text(p, NULL);
}

static void numbers_come_back(void **state)
{
	struct packet p = { 0 };
	char *text;

	(void)state;
	put_all(&p);
	for (int i = 0; i < N; i++) {
		assert_true(packet_take(&p) == numbers[i]);
		assert_true(packet_take_signed(&p) == (int64_t)numbers[i]);
		assert_true(packet_take_signed(&p) == -(int64_t)(numbers[i] >> 1));
		assert_true(packet_take_wide(&p) == (unsigned __int128)numbers[i] * numbers[i]);
	}
	text = packet_take_text(&p);
	assert_string_equal(text, "a/path");
	free(text);
	text = packet_take_text(&p);
	assert_string_equal(text, "");
	free(text);
	assert_null(packet_take_text(&p));
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.at, p.n);
	packet_take(&p);
	assert_int_equal(p.rc, -EBADMSG);
	packet_free(&p);
}

/* Cut anywhere it says so, and reads nothing behind its end. */
static void what_is_cut_is_refused(void **state)
{
	struct packet whole = { 0 };

	(void)state;
	put_all(&whole);
	for (size_t n = 0; n < whole.n; n++) {
		struct packet p = { .bytes = malloc(n + 1), .n = n };

		memcpy(p.bytes, whole.bytes, n);
		for (int i = 0; i < N; i++) {
			packet_take(&p);
			packet_take_signed(&p);
			packet_take_signed(&p);
			packet_take_wide(&p);
		}
		for (int i = 0; i < 3; i++)
			free(packet_take_text(&p));
		assert_int_equal(p.rc, -EBADMSG);
		packet_free(&p);
	}
	packet_free(&whole);
}

/* Few are exact, many are in the histogram, too. */
static void durations_come_back(void **state)
{
	(void)state;
	for (int n = 0; n <= SAMPLES; n = n ? n * 7 : 1) {
		struct durations before = DURATIONS_EMPTY, after;
		struct packet p = { 0 };

		for (int i = 0; i < n; i++)
			assert_int_equal(durations_add(&before, (uint64_t)i * i % 1000003), 0);
		assert_int_equal(durations_put(&before, &p), 0);
		assert_int_equal(durations_take(&after, &p), 0);
		assert_int_equal(p.at, p.n);
		/* more is added to both */
		for (int i = 0; i < 10; i++) {
			durations_add(&before, (uint64_t)i * 100);
			durations_add(&after, (uint64_t)i * 100);
		}
		durations_sort(&before);
		durations_sort(&after);
		assert_int_equal(before.n, after.n);
		for (uint64_t rank = 1; rank <= before.n; rank++) {
			uint64_t low[2], high[2];

			durations_rank(&before, rank, &low[0], &high[0]);
			durations_rank(&after, rank, &low[1], &high[1]);
			assert_true(low[0] == low[1] && high[0] == high[1]);
		}
		durations_free(&before);
		durations_free(&after);
		packet_free(&p);
	}
}

/* ---- processes ---- */

/* A message on its way: one at a time from each to each. */
static struct message {
	unsigned char *bytes;
	size_t n;
	bool is_there;
} mail[MOST][MOST];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int mail_send(void *arg, unsigned to, const void *bytes, size_t size)
{
	const struct exchange *x = arg;
	struct message *m = &mail[x->rank][to];

	pthread_mutex_lock(&lock);
	while (m->is_there)
		pthread_cond_wait(&changed, &lock);
	m->bytes = malloc(size + 1);
	memcpy(m->bytes, bytes, size);
	m->n = size;
	m->is_there = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

static int mail_receive(void *arg, unsigned from, struct packet *p)
{
	const struct exchange *x = arg;
	struct message *m = &mail[from][x->rank];

	packet_free(p);
	pthread_mutex_lock(&lock);
	while (!m->is_there)
		pthread_cond_wait(&changed, &lock);
	p->bytes = m->bytes;
	p->n = p->room = m->n;
	m->is_there = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return 0;
}

struct process {
	struct exchange x;
	pthread_t thread;
	unsigned fails; /* the rank that does; x.n: none */
	uint64_t sum;
	unsigned gathered[MOST], n_gathered;
	int reduced, all, last;
};

static int put_sum(void *arg, struct packet *p)
{
	packet_put(p, ((struct process *)arg)->sum);
	return 0;
}

static int add_sum(void *arg, struct packet *p)
{
	((struct process *)arg)->sum += packet_take(p);
	return 0;
}

static int take_sum(void *arg, struct packet *p)
{
	((struct process *)arg)->sum = packet_take(p);
	return 0;
}

static int put_rank(void *arg, struct packet *p)
{
	packet_put(p, ((struct process *)arg)->x.rank);
	return 0;
}

static int take_rank(void *arg, struct packet *p)
{
	struct process *of = arg;

	of->gathered[of->n_gathered++] = (unsigned)packet_take(p);
	return 0;
}

static void *run_tree(void *arg)
{
	struct process *p = arg;
	int rc = p->x.rank == p->fails ? -EIO : 0;

	if (rc)
		strcpy(p->x.failure, "the disk is gone");
	p->reduced = exchange_reduce(&p->x, rc, put_sum, add_sum, p);
	p->all = exchange_broadcast(&p->x, p->reduced, put_sum, take_sum, p);
	p->last = exchange_gather(&p->x, p->all, put_rank, take_rank, p);
	return NULL;
}

static void run_all(struct process *list, unsigned n, unsigned fails, void *(*run)(void *arg))
{
	memset(list, 0, MOST * sizeof(*list));
	for (unsigned i = 0; i < n; i++) {
		struct process *p = &list[i];

		p->x = (struct exchange){
			.rank = i, .n = n, .send = mail_send, .receive = mail_receive
		};
		p->x.arg = &p->x;
		p->fails = fails;
		p->sum = 1ull << i;
		assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(list[i].thread, NULL);
}

static void all_have_all(void **state)
{
	struct process list[MOST];

	(void)state;
	for (unsigned n = 1; n <= MOST; n++) {
		run_all(list, n, n, run_tree);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(list[i].last, 0);
			assert_int_equal(list[i].sum, (1u << n) - 1);
		}
		assert_int_equal(list[0].n_gathered, n - 1);
		for (unsigned i = 1; i < n; i++)
			assert_int_equal(list[0].gathered[i - 1], i);
	}
}

static unsigned n_reported;
static char reported[512];

static void count_message(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	n_reported++;
	snprintf(reported, sizeof(reported), "%s", text);
}

/* All hear of one's failure; rank 0 says it once, unless it is its own, which it has reported. */
static void all_hear_of_a_failure(void **state)
{
	struct process list[MOST];

	(void)state;
	eta_set_message_fn(count_message, NULL);
	for (unsigned n = 1; n <= MOST; n++)
		for (unsigned fails = 0; fails < n; fails++) {
			n_reported = 0;
			run_all(list, n, fails, run_tree);
			for (unsigned i = 0; i < n; i++) {
				assert_int_equal(list[i].all, i == fails ? -EIO : -ECANCELED);
				assert_int_equal(list[i].last, list[i].all);
			}
			assert_int_equal(n_reported, fails != 0);
			if (fails)
				assert_string_equal(reported, "the disk is gone");
		}
	eta_set_message_fn(NULL, NULL);
}

/* ---- from one to another ---- */

/* Each has PARTS messages for the next one; the last one's are for the first. */
enum { PARTS = 3 };

struct handing {
	struct process *process;
	unsigned from;
	uint64_t n;
};

static int put_part(void *arg, struct packet *p)
{
	struct handing *h = arg;

	packet_put(p, 100 * h->from + h->n);
	return ++h->n < PARTS ? EXCHANGE_MORE : 0;
}

static int take_part(void *arg, struct packet *p)
{
	struct handing *h = arg;

	assert_int_equal(packet_take(p), 100 * h->from + h->n);
	h->n++;
	h->process->sum++;
	return 0;
}

static void *run_handing(void *arg)
{
	struct process *p = arg;
	unsigned n = p->x.n;
	int rc = p->x.rank == p->fails ? -EIO : 0;

	if (rc)
		strcpy(p->x.failure, "the disk is gone");
	p->sum = 0;
	for (unsigned from = 0; from < n; from++) {
		unsigned to = (from + 1) % n;
		struct handing h = { p, from, 0 };

		if (p->x.rank == from || p->x.rank == to)
			rc = exchange_hand_over(&p->x, from, to, rc, put_part, take_part, &h);
	}
	p->all = rc;
	p->last = exchange_agree(&p->x, rc);
	return NULL;
}

static void parts_go_to_one(void **state)
{
	struct process list[MOST];

	(void)state;
	eta_set_message_fn(count_message, NULL);
	for (unsigned n = 2; n <= MOST; n++) {
		run_all(list, n, n, run_handing);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(list[i].all, 0);
			assert_int_equal(list[i].sum, PARTS);
		}
		for (unsigned fails = 0; fails < n; fails++) {
			n_reported = 0;
			run_all(list, n, fails, run_handing);
			for (unsigned i = 0; i < n; i++)
				assert_int_equal(list[i].last, i == fails ? -EIO : -ECANCELED);
			assert_int_equal(list[(fails + 1) % n].sum, 0);
			assert_int_equal(n_reported, fails != 0);
		}
	}
	eta_set_message_fn(NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back),	 cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(durations_come_back),	 cmocka_unit_test(all_have_all),
		cmocka_unit_test(all_hear_of_a_failure), cmocka_unit_test(parts_go_to_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

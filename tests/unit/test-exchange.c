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
#include "src/analysis/exchange/record-packet.h"
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

/* ---- records ---- */

enum { OPERATIONS = 3000, FILES = 40 };

static int number_of_dev(void *arg, const struct stretch *s, uint32_t *number)
{
	struct resource_cache cache = { 0 };

	return resource_dev(arg, &cache, 1000 + s->what, number);
}

/* One that has all that a record may have. */
static void spill_one(struct spill_writer *w, struct resources *r, uint32_t i, bool bytes)
{
	struct resource_cache cache = { 0 };
	struct stretch stretches[N_CELLS];
	struct operation op = { .begin_ns = 1000ull * i, .bytes = i, .mode = i % 3 };
	uint32_t file, dev;

	op.end_ns = op.begin_ns + i * 77ull;
	op.others_ns = i % 4 ? 0 : i;
	op.direct = i % 5 == 0;
	op.changes = i % 3 == 0;
	op.truncated = i % 7 == 0;
	op.stretches = stretches;
	op.n_stretches = i % N_CELLS;
	for (uint32_t k = 0; k < op.n_stretches; k++) {
		uint8_t cell = (uint8_t)((i * 7 + k) % N_CELLS);
		bool device = cell_table[cell].group == GROUP_DEVICE;
		bool nature = cell_table[cell].group == GROUP_NATURE;

		stretches[k] = (struct stretch){
			.ns = (i + k) % 3 ? i * 13ull : 1ull << (i % 40),
			.what = (device && (i + k) % 4) || nature ? 1 + i % 11 : 0,
			.who = cell_names_others(cell) && (i + k) % 2 ? 50000 + i : 0,
			.cell = cell,
		};
	}
	assert_int_equal(resource_file(r, &cache, 5, i % FILES, i % 2, &file), 0);
	assert_int_equal(resource_dev(r, &cache, 2000 + i % 3, &dev), 0);
	assert_int_equal(operation_spill(w, &op, i % 100, file, dev, bytes, number_of_dev, r), 0);
}

static void same_stretches(const struct operation_record *a, const struct resources *of_a,
			   const struct operation_record *b, const struct resources *of_b)
{
	assert_int_equal(a->n_stretches, b->n_stretches);
	for (uint32_t k = 0; k < a->n_stretches; k++) {
		const struct stretch *x = &a->stretches[k], *y = &b->stretches[k];

		assert_int_equal(x->ns, y->ns);
		assert_int_equal(x->cell, y->cell);
		assert_int_equal(x->who, y->who);
		if (x->who || cell_table[x->cell].group == GROUP_DEVICE)
			assert_int_equal(of_a->devs[x->what], of_b->devs[y->what]);
		else
			assert_int_equal(x->what, y->what);
	}
}

static void same_operation(const struct operation_record *a, const struct resources *of_a,
			   const struct operation_record *b, const struct resources *of_b)
{
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->tally, b->tally);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->others_ns, b->others_ns);
	assert_true(a->dirties == b->dirties && a->changes == b->changes);
	assert_int_equal(a->truncated, b->truncated);
	assert_int_equal(of_a->files[a->file].inode, of_b->files[b->file].inode);
	assert_int_equal(of_a->devs[a->dev], of_b->devs[b->dev]);
	same_stretches(a, of_a, b, of_b);
}

/* One process's records, as another one has them that knows other files and devices already. */
struct side {
	struct spill spill;
	struct resources resources;
	struct spill_stream operations, bios;
	struct spill_writer out[2];
	struct spill_reader in[2];
	struct record_packet records;
};

static void side_begin(struct side *s, bool bytes)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(spill_open(&s->spill), 0);
	resources_init(&s->resources);
	spill_writer_begin(&s->out[0], &s->spill, &s->operations);
	spill_writer_begin(&s->out[1], &s->spill, &s->bios);
	record_packet_begin(&s->records, &s->resources, 1, bytes);
}

static void side_read(struct side *s)
{
	assert_int_equal(spill_writer_end(&s->out[0]), 0);
	assert_int_equal(spill_writer_end(&s->out[1]), 0);
	spill_reader_begin(&s->in[0], &s->spill, &s->operations);
	spill_reader_begin(&s->in[1], &s->spill, &s->bios);
}

static void side_end(struct side *s)
{
	record_packet_free(&s->records);
	spill_stream_free(&s->operations);
	spill_stream_free(&s->bios);
	resources_free(&s->resources);
	spill_close(&s->spill);
}

static void compare(struct side *a, struct side *b, bool bytes)
{
	struct operation_record x = { 0 }, y = { 0 };
	struct bio_record p, q;

	side_read(a);
	side_read(b);
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		assert_int_equal(operation_unspill(&a->in[0], bytes, &x), 0);
		assert_int_equal(operation_unspill_stretches(&a->in[0], &x), 0);
		assert_int_equal(operation_unspill(&b->in[0], bytes, &y), 0);
		assert_int_equal(operation_unspill_stretches(&b->in[0], &y), 0);
		same_operation(&x, &a->resources, &y, &b->resources);
		assert_int_equal(bio_unspill(&a->in[1], &p), 0);
		assert_int_equal(bio_unspill(&b->in[1], &q), 0);
		assert_true(p.begin_ns == q.begin_ns && p.end_ns == q.end_ns);
		assert_int_equal(p.owner, q.owner);
		assert_int_equal(a->resources.devs[p.dev], b->resources.devs[q.dev]);
	}
	assert_int_equal(a->in[0].left + a->in[1].left + b->in[0].left + b->in[1].left, 0);
	operation_record_free(&x);
	operation_record_free(&y);
}

static void records_come_back_as(bool bytes)
{
	static struct side a, b;
	struct resource_cache cache = { 0 };
	struct packet p = { 0 };
	uint32_t number;

	side_begin(&a, bytes);
	side_begin(&b, bytes);
	/* numbers differ; location 0 uses one of the files, too, and one is another's */
	assert_int_equal(resource_file(&b.resources, &cache, 6, 1, 0, &number), 0);
	assert_int_equal(resource_file(&b.resources, &cache, 5, 7, 0, &number), 0);
	assert_int_equal(resource_dev(&b.resources, &cache, 1003, &number), 0);
	for (uint32_t i = 0; i < OPERATIONS; i++) {
		struct bio_record bio = { i * 10ull, i * 12ull, 0, i % 3 ? i : TID_LOCATION | i };

		spill_one(&a.out[0], &a.resources, i, bytes);
		assert_int_equal(resource_dev(&a.resources, &cache, 3000 + i % 2, &bio.dev), 0);
		bio_spill(&a.out[1], &bio);
	}
	side_read(&a);
	while (a.in[0].left)
		assert_int_equal(record_packet_put_operation(&a.records, &a.in[0], &p), 0);
	while (a.in[1].left)
		assert_int_equal(record_packet_put_bio(&a.records, &a.in[1], &p), 0);
	assert_int_equal(record_packet_take(&b.records, &p, &b.out[0], &b.out[1]), 0);
	compare(&a, &b, bytes);
	for (uint32_t f = 0; f < b.resources.n_files; f++)
		assert_int_equal(b.resources.files[f].shared,
				 b.resources.files[f].dev == 5 && b.resources.files[f].inode == 7);
	packet_free(&p);
	side_end(&a);
	side_end(&b);
}

static void records_come_back(void **state)
{
	(void)state;
	records_come_back_as(false);
	records_come_back_as(true);
}

/* What nobody has sent is refused, without reading behind its end. */
static void records_that_are_none_are_refused(void **state)
{
	static struct side a, b;
	struct packet whole = { 0 };

	(void)state;
	side_begin(&a, true);
	for (uint32_t i = 60; i < 64; i++)
		spill_one(&a.out[0], &a.resources, i, true);
	side_read(&a);
	while (a.in[0].left)
		assert_int_equal(record_packet_put_operation(&a.records, &a.in[0], &whole), 0);
	for (size_t n = 0; n < whole.n; n++)
		for (size_t from = 0; from < 40; from++) {
			struct packet p = { .bytes = malloc(n + 1), .n = n };

			memcpy(p.bytes, whole.bytes, n);
			/* the first without what its numbers mean, then damaged ones */
			p.at = from < n && !from ? n / 2 : 0;
			if (from && from < n)
				p.bytes[from * n / 40] ^= 0x55;
			side_begin(&b, true);
			(void)record_packet_take(&b.records, &p, &b.out[0], &b.out[1]);
			packet_free(&p);
			side_end(&b);
		}
	packet_free(&whole);
	side_end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_back),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(durations_come_back),
		cmocka_unit_test(all_have_all),
		cmocka_unit_test(all_hear_of_a_failure),
		cmocka_unit_test(parts_go_to_one),
		cmocka_unit_test(records_come_back),
		cmocka_unit_test(records_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

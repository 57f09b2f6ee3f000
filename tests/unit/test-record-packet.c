/* Operations and requests from one process to another, whose numbers of files and devices differ.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "src/analysis/exchange/record-packet.h"
#include "unit.h"

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
		assert_int_equal(record_packet_put_operation(&a.records, &a.in[0], &p), RECORD_PUT);
	while (a.in[1].left)
		assert_int_equal(record_packet_put_bio(&a.records, &a.in[1], &p), RECORD_PUT);
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

/* Of a time: what ends at its begin or later and begins before its end, also for a second one. */
static void records_of_a_time_come(void **state)
{
	static struct side a, b;

	(void)state;
	side_begin(&a, false);
	for (uint32_t i = 0; i < OPERATIONS; i++)
		spill_one(&a.out[0], &a.resources, i, false);
	side_read(&a);
	for (uint64_t from = 0; from < 1000ull * OPERATIONS; from += 70000) {
		uint64_t until = from + 70000;
		struct operation_record op = { 0 };
		struct packet p = { 0 };
		uint32_t n = 0;

		side_begin(&b, false);
		spill_reader_begin(&a.in[0], &a.spill, &a.operations);
		record_packet_begin(&a.records, &a.resources, 1, false);
		record_packet_time(&a.records, from, until);
		while (a.in[0].left)
			assert_true(record_packet_put_operation(&a.records, &a.in[0], &p) >= 0);
		assert_int_equal(record_packet_take(&b.records, &p, &b.out[0], &b.out[1]), 0);
		side_read(&b);
		for (uint32_t i = 0; i < OPERATIONS; i++) {
			uint64_t begin = 1000ull * i;

			if (begin >= until || begin + i * 77ull < from)
				continue;
			assert_int_equal(operation_unspill(&b.in[0], false, &op), 0);
			operation_skip_stretches(&b.in[0], &op);
			assert_int_equal(op.begin_ns, begin);
			assert_int_equal(b.resources.files[op.file].inode, i % FILES);
			n++;
		}
		assert_true(n > 0 && b.in[0].left == 0);
		operation_record_free(&op);
		packet_free(&p);
		side_end(&b);
	}
	side_end(&a);
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
		assert_int_equal(record_packet_put_operation(&a.records, &a.in[0], &whole),
				 RECORD_PUT);
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
		cmocka_unit_test(records_come_back),
		cmocka_unit_test(records_of_a_time_come),
		cmocka_unit_test(records_that_are_none_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

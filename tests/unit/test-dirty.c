/* How much of the page cache was dirty: looked at by the tracer, as text, merged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/format/samples.h"
#include "plugins/kernelio/internal.h"
#include "score-trace.h"

/* ---- what the rest of the tracer gives ---- */

static uint64_t now_ns;
static struct eta_trace *told; /* has what was put */

static void put(struct kernelio *k, const char *text)
{
	const char *value = strchr(text, '=');
	char name[32];

	(void)k;
	assert_in_range(strlen(text), 1, 4096);
	snprintf(name, sizeof(name), "SCI::%.*s", (int)(value - text), text);
	assert_int_not_equal(eta_defs_property(told, name, value + 1), ETA_NONE);
}

/* ---- a machine whose pages the test counts ---- */

static struct kernelio *tracer_new(FILE *vmstat)
{
	static struct eta_spool_header header = { .host = "a b" };
	struct kernelio *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	now_ns = 1000000000;
	dirty_open(k, now_ns);
	close(k->dirty.fd);
	k->dirty.fd = dup(fileno(vmstat));
	k->dirty.n = 0;
	k->meta.header = &header;
	told = memory_trace_new("told");
	return k;
}

static void set_pages(FILE *vmstat, unsigned dirty, unsigned written)
{
	rewind(vmstat);
	fprintf(vmstat, "nr_free 7\nnr_dirty %010u\nnr_writeback %010u\nnr_dirty_threshold 5\n",
		dirty, written);
	fflush(vmstat);
}

/* What was put: how many samples, each of them that of its time. */
static unsigned samples_of(uint64_t *first_ns, uint64_t *last_ns)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t before_ns = 0, time_ns, bytes;
	unsigned n = 0;

	for (uint32_t p = 0; p < told->defs.n_properties; p++) {
		struct samples samples;

		assert_int_equal(samples_kind(&told->defs.properties[p]), SAMPLES_DIRTY);
		assert_true(samples_parse(told->defs.properties[p].value, &samples));
		assert_string_equal(samples.host, "a b");
		while (samples_dirty(&samples, &time_ns, &bytes)) {
			assert_true(time_ns > before_ns);
			before_ns = time_ns;
			/* 1 page more each ms, in two parts */
			assert_int_equal(bytes, time_ns / 1000000 * page);
			if (n++ == 0)
				*first_ns = time_ns;
		}
		assert_ptr_equal(samples.next + strlen("of a b"), samples.host + strlen("a b"));
	}
	*last_ns = before_ns;
	return n;
}

static void any_length_is_a_thousand(void **state)
{
	static const struct {
		unsigned seconds;
		bool busy, last_only;
		unsigned least, most;
	} rows[] = {
		{ 10, true, false, 200, 202 },	   /* each 50 ms */
		{ 10, false, false, 10, 12 },	   /* each second */
		{ 4000, true, false, 512, 1024 },  /* every second one goes, again and again */
		{ 4000, false, false, 512, 1024 }, /* the same */
		{ 4000, true, true, 512, 1024 },   /* the last ones */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		FILE *vmstat = tmpfile();
		struct kernelio *k = tracer_new(vmstat);
		uint64_t first_ns = 0, last_ns, end_ns = now_ns + rows[i].seconds * 1000000000ull;
		unsigned n;

		k->definitions = rows[i].last_only ? (void *)k : NULL;
		for (; now_ns < end_ns; now_ns += 10000000) {
			set_pages(vmstat, (unsigned)(now_ns / 1000000) - 100, 100);
			dirty_sample(k, now_ns, rows[i].busy);
		}
		set_pages(vmstat, (unsigned)(now_ns / 1000000) - 100, 100);
		dirty_end(k, now_ns);
		dirty_put(k, put);
		n = samples_of(&first_ns, &last_ns);
		assert_in_range(n, rows[i].least, rows[i].most);
		assert_int_equal(last_ns, end_ns);
		if (rows[i].last_only)
			assert_true(end_ns - first_ns < 60 * 1000000000ull);
		else
			assert_true(first_ns <= 2000000000);
		dirty_close(k);
		eta_close(told);
		fclose(vmstat);
		free(k);
	}
}

static void equal_ones_are_one(void **state)
{
	FILE *vmstat = tmpfile();
	struct kernelio *k = tracer_new(vmstat);

	(void)state;
	for (; now_ns < 9000000000; now_ns += 50000000) {
		set_pages(vmstat, now_ns < 5000000000 ? 3 : 4, 0);
		dirty_sample(k, now_ns, true);
	}
	assert_int_equal(k->dirty.n, 2);
	/* nobody says how many there are */
	dirty_close(k);
	dirty_open(k, now_ns);
	close(k->dirty.fd);
	k->dirty.fd = -1;
	k->dirty.n = 0;
	dirty_end(k, now_ns);
	dirty_put(k, put);
	assert_int_equal(told->defs.n_properties, 0);
	dirty_close(k);
	eta_close(told);
	fclose(vmstat);
	free(k);
}

static void what_is_none_is_refused(void **state)
{
	static const struct {
		const char *text;
		unsigned n; /* samples before what is damaged */
		bool none;
	} rows[] = {
		{ "5 0:1 50:2 of host", 2, false },
		{ "5 of host", 0, true },
		{ "", 0, true },
		{ "x 0:1 of host", 0, true },
		{ "5 0:1 50:2", 0, true },
		{ "5 0:1 50 of host", 1, false },
		{ "5 0:1 -1:7 50:2 of host", 1, false },
		{ "5 0:1 99999999999999999999:2 of host", 1, false },
		{ "5 0:1 7:99999999999999999999 of host", 1, false },
		{ "5 0:1 50:2 of ", 2, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct samples samples;
		uint64_t time_ns, bytes;
		unsigned n = 0;

		if (!samples_parse(rows[i].text, &samples)) {
			assert_true(rows[i].none);
			continue;
		}
		while (samples_dirty(&samples, &time_ns, &bytes))
			n++;
		assert_int_equal(n, rows[i].n);
	}
}

/* Two machines, one of them with another clock: numbered anew, by the result's. */
static void machines_are_merged(void **state)
{
	const struct eta_clock_map later = eta_clock_offset(700, 0);
	const struct eta_clock_map *clocks[2] = { NULL, &later };
	const struct eta_merge_options options = { .clocks = clocks };
	static const char *const values[] = { "1000 0:4 50:8 of here", "2000 7:4 of there",
					      "no samples" };
	static const char *const wanted[] = { "1000 0:4 50:8 of here", "2700 7:4 of there" };
	struct eta_trace *in[2], *merged;
	struct eta_counts counts;
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		in[i] = memory_trace_new(i ? "b" : "a");
		memory_thread(in[i], 7, 11 + (uint32_t)i);
		in[i]->defs.processes[0].host = i ? "there" : "here";
		eta_defs_property(in[i], "SCI::DIRTY_1", values[i]);
		memory_enter(in[i], 0, 3000, "write");
		memory_leave(in[i], 0, 3100, "write");
	}
	eta_defs_property(in[1], "SCI::DIRTY_2", values[2]);
	assert_int_equal(eta_merge_with(in, 2, &options, &merged), 0);
	for (uint32_t p = 0; p < merged->defs.n_properties; p++) {
		char name[32];

		if (samples_kind(&merged->defs.properties[p]) != SAMPLES_DIRTY)
			continue;
		assert_true(n < 2);
		assert_string_equal(merged->defs.properties[p].value, wanted[n++]);
		snprintf(name, sizeof(name), "SCI::DIRTY_%u", n);
		assert_string_equal(merged->defs.properties[p].name, name);
	}
	assert_int_equal(n, 2);
	eta_trace_counts(merged, &counts);
	assert_int_equal(counts.bad, 1);
	eta_close(merged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_length_is_a_thousand),
		cmocka_unit_test(equal_ones_are_one),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(machines_are_merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

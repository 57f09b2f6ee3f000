/* Files of the spool that several threads wrote to, one after the other; and how files end. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "events.h"
#include "spool-maker.h"

#define DIR_TEMPLATE "/tmp/sci-test.XXXXXX"
#define NAME_WRITE 1

static char said[4096];

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	snprintf(said, sizeof(said), "%s", text);
}

static void put_write(struct spool *spool, uint64_t begin_ns, uint64_t end_ns)
{
	maker_user_op(spool, (struct eta_user_op){
				     .head = { .time_ns = begin_ns, .end_ns = end_ns, .id = 1 },
				     .fd = 3,
				     .offset = ETA_OFFSET_UNKNOWN,
			     });
}

/* A process, and a file of three threads: one is killed in a call, one makes none. */
static void make(const char *dir, bool broken)
{
	struct eta_spool_header header = {
		.kind = ETA_SPOOL_PROCESS, .pid = 7, .tid = 7, .start_ns = 1, .exe = "/bin/app"
	};
	struct spool spool;
	uint64_t first;

	maker_file(&spool, dir, "process.7.1", &header);
	maker_name(&spool, ETA_RECORD_NAME, NAME_WRITE, ETA_OP_WRITE, "write");
	spool_close(&spool);
	header.kind = ETA_SPOOL_USER;
	header.tid = 8;
	header.start_ns = 2;
	strcpy(header.comm, "first");
	maker_file(&spool, dir, "user.7.8.2", &header);
	put_write(&spool, 10, 15);
	put_write(&spool, 20, 0);
	maker_thread(&spool, 9, 30, "second");
	first = spool.header->last_thread;
	maker_thread(&spool, 10, 40, "third");
	put_write(&spool, 50, 55);
	if (broken) { /* the chain now leads to a call */
		struct eta_thread_record *last = (void *)(spool.next - 128);

		last->prev = first - 64;
	}
	spool_close(&spool);
}

static void each_thread_has_its_part(void **state)
{
	static const struct {
		const char *name, *events;
		uint32_t tid;
		uint64_t start_ns;
	} expected[] = {
		{ "first tid 8", "+write@10 -write@15 +write@20", 8, 2 },
		{ "second tid 9", "", 9, 30 },
		{ "third tid 10", "+write@50 -write@55", 10, 40 },
	};
	char dir[] = DIR_TEMPLATE, text[256];
	struct eta_trace *trace;
	struct eta_counts counts;

	(void)state;
	maker_begin(dir);
	make(dir, false);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_trace_defs(trace)->n_locations, 3);
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const struct eta_location *location = &eta_trace_defs(trace)->locations[i];

		assert_string_equal(location->name, expected[i].name);
		assert_int_equal(location->tid, expected[i].tid);
		assert_int_equal(location->start_ns, expected[i].start_ns);
		text[0] = '\0';
		assert_int_equal(events_print(trace, i, text, sizeof(text)), 0);
		assert_string_equal(text, expected[i].events);
	}
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, 0);
	eta_close(trace);
	maker_end(dir);
}

static void a_broken_chain_is_said(void **state)
{
	char dir[] = DIR_TEMPLATE, text[256] = "";
	struct eta_trace *trace;
	struct eta_counts counts;

	(void)state;
	maker_begin(dir);
	make(dir, true);
	eta_set_message_fn(listen, NULL);
	said[0] = '\0';
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_non_null(strstr(said, "/user.7.8.2: the list of threads is broken at byte "));
	assert_int_equal(eta_trace_defs(trace)->n_locations, 2);
	assert_int_equal(events_print(trace, 1, text, sizeof(text)), 0);
	assert_string_equal(text, "+write@50 -write@55");
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, 1);
	eta_close(trace);
	eta_set_message_fn(NULL, NULL);
	maker_end(dir);
}

/* What is reserved ahead of the records is neither part of a finished file nor kept by it. */
static void a_closed_file_has_only_its_records(void **state)
{
	enum { RECORDS = 300 }; /* what more than a window leaves: test-spool-window.c */
	const struct eta_spool_header header = { .kind = ETA_SPOOL_USER, .pid = 1, .tid = 1 };
	struct eta_record_head head = { .type = ETA_RECORD_USER_OP, .units = 2 };
	char dir[] = DIR_TEMPLATE, path[64];
	struct spool spool;
	struct stat open_st, st;

	(void)state;
	maker_begin(dir);
	maker_file(&spool, dir, "user.1.1.0", &header);
	for (uint64_t i = 1; i <= RECORDS; i++) {
		struct eta_user_op *record = spool_reserve(&spool, sizeof(*record));
		static const struct eta_user_op zeros;

		assert_non_null(record);
		assert_memory_equal(record, &zeros, sizeof(*record));
		head.time_ns = i;
		record->head = head;
	}
	snprintf(path, sizeof(path), "%s/user.1.1.0", dir);
	assert_int_equal(stat(path, &open_st), 0);
	spool_close(&spool);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, ETA_SPOOL_HEADER_BYTES + RECORDS * 64);
	assert_true(open_st.st_size > st.st_size);
	assert_true(st.st_blocks * 512 < st.st_size + 2 * 4096);
	maker_end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_part),
		cmocka_unit_test(a_broken_chain_is_said),
		cmocka_unit_test(a_closed_file_has_only_its_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

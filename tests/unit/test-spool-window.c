/* A spool file's window: appended when it is full, read in order whenever its writer is killed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "spool-maker.h"

#define DIR_TEMPLATE "/tmp/sci-test.XXXXXX"
#define FILE_NAME "user.7.8.1"

enum { WINDOW_BYTES = 65536, PER_WINDOW = WINDOW_BYTES / 64 - 1 /* a unit stays free */ };

static int times_said;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	(void)text;
	times_said++;
}

static void begin(char *dir, struct spool *spool)
{
	struct eta_spool_header header = { .kind = ETA_SPOOL_PROCESS, .pid = 7, .tid = 7 };

	maker_begin(dir);
	maker_file(spool, dir, "process.7.0", &header);
	maker_name(spool, ETA_RECORD_NAME, 1, ETA_OP_WRITE, "write");
	spool_close(spool);
	header = (struct eta_spool_header){
		.kind = ETA_SPOOL_USER, .pid = 7, .tid = 8, .start_ns = 1
	};
	maker_file(spool, dir, FILE_NAME, &header);
}

/* Call number N, of 10 ns each 100 ns. */
static struct eta_user_op call(uint64_t n)
{
	return (struct eta_user_op){
		.head = { .time_ns = 100 * n, .end_ns = 100 * n + 10, .id = 1 },
		.fd = 3,
		.size = n,
		.offset = ETA_OFFSET_UNKNOWN,
		.ret = 5,
	};
}

static int file_open(const char *dir)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, FILE_NAME);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* The calls in DIR are 1 to N, in order. */
static void expect_calls(const char *dir, uint64_t n)
{
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct eta_trace *trace;
	struct eta_counts counts;
	uint64_t seen = 0;
	ssize_t events;

	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_trace_defs(trace)->n_locations, 1);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	while ((events = eta_cursor_read(cursor, &batch)) > 0) {
		for (ssize_t i = 0; i < events; i++) {
			if (batch[i].kind != ETA_ENTER)
				continue;
			seen++;
			assert_int_equal(batch[i].time_ns, 100 * seen);
			assert_int_equal(batch[i].size, seen);
		}
	}
	assert_int_equal(events, 0);
	eta_cursor_close(cursor);
	assert_int_equal(seen, n);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, 0);
	assert_int_equal(counts.truncated, 0);
	eta_close(trace);
}

static void what_was_stored_is_read(void **state)
{
	/* within the first window, at its ends, after several */
	static const uint64_t cases[] = { 1,
					  60,
					  63,
					  64,
					  PER_WINDOW,
					  PER_WINDOW + 1,
					  2 * PER_WINDOW,
					  2 * PER_WINDOW + 1,
					  5 * PER_WINDOW + 17 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int killed = 0; killed < 2; killed++) {
			char dir[] = DIR_TEMPLATE;
			struct spool spool;

			begin(dir, &spool);
			for (uint64_t n = 1; n <= cases[i]; n++)
				maker_user_op(&spool, call(n));
			if (killed)
				spool_abandon(&spool);
			else
				spool_close(&spool);
			expect_calls(dir, cases[i]);
			maker_end(dir);
		}
	}
}

static void trimmed_and_written_on(void **state)
{
	char dir[] = DIR_TEMPLATE;
	struct spool spool;
	uint64_t n = 1;

	(void)state;
	begin(dir, &spool);
	for (; n <= 70; n++)
		maker_user_op(&spool, call(n));
	spool_trim(&spool);
	expect_calls(dir, n - 1);
	for (; n <= 3 * PER_WINDOW; n++)
		maker_user_op(&spool, call(n));
	spool_trim(&spool);
	expect_calls(dir, n - 1);
	maker_user_op(&spool, call(n));
	spool_close(&spool);
	expect_calls(dir, n);
	maker_end(dir);
}

/* The steps in which a full window is appended, each as a kill would leave it. */
static void killed_while_it_is_appended(void **state)
{
	const uint64_t stored = ETA_SPOOL_HEADER_BYTES + PER_WINDOW * 64;
	char dir[] = DIR_TEMPLATE, *window = malloc(WINDOW_BYTES);
	struct spool spool;
	uint8_t none = 0;
	int fd;

	(void)state;
	assert_non_null(window);
	begin(dir, &spool);
	for (uint64_t n = 1; n <= PER_WINDOW; n++)
		maker_user_op(&spool, call(n));
	spool_abandon(&spool);
	fd = file_open(dir);
	assert_int_equal(pread(fd, window, WINDOW_BYTES, ETA_SPOOL_HEADER_BYTES), WINDOW_BYTES);
	assert_int_equal(pwrite(fd, window, PER_WINDOW * 64, ETA_SPOOL_HEADER_BYTES + WINDOW_BYTES),
			 PER_WINDOW * 64);
	expect_calls(dir, PER_WINDOW);
	assert_int_equal(
		pwrite(fd, &stored, sizeof(stored), offsetof(struct eta_spool_header, stored)),
		sizeof(stored));
	expect_calls(dir, PER_WINDOW);
	assert_int_equal(pwrite(fd, &none, 1,
				ETA_SPOOL_HEADER_BYTES + offsetof(struct eta_record_head, type)),
			 1);
	expect_calls(dir, PER_WINDOW);
	assert_int_equal(
		pwrite(fd, &stored, sizeof(stored), offsetof(struct eta_spool_header, window_at)),
		sizeof(stored));
	expect_calls(dir, PER_WINDOW);
	close(fd);
	free(window);
	maker_end(dir);
}

static void damaged(void **state)
{
	static const struct {
		size_t field;
		uint64_t value;
	} cases[] = {
		{ offsetof(struct eta_spool_header, window_bytes), 0 },
		{ offsetof(struct eta_spool_header, window_bytes), UINT64_MAX },
		{ offsetof(struct eta_spool_header, window_at), 0 },
		{ offsetof(struct eta_spool_header, window_at), UINT64_MAX },
		{ offsetof(struct eta_spool_header, stored), 1 },
		{ offsetof(struct eta_spool_header, stored), UINT64_MAX },
		{ 0, ETA_SPOOL_HEADER_BYTES + WINDOW_BYTES + 6400 }, /* cut */
		{ 0, ETA_SPOOL_HEADER_BYTES + 6400 },
	};
	(void)state;
	eta_set_message_fn(listen, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char dir[] = DIR_TEMPLATE;
		struct eta_counts counts;
		struct eta_trace *trace;
		struct spool spool;
		int fd;

		begin(dir, &spool);
		for (uint64_t n = 1; n <= 2 * PER_WINDOW; n++)
			maker_user_op(&spool, call(n));
		spool_close(&spool);
		fd = file_open(dir);
		if (cases[i].field)
			assert_int_equal(pwrite(fd, &cases[i].value, 8, (off_t)cases[i].field), 8);
		else
			assert_int_equal(ftruncate(fd, (off_t)cases[i].value), 0);
		close(fd);
		times_said = 0;
		assert_int_equal(eta_open(dir, NULL, &trace), 0);
		assert_true(times_said > 0);
		eta_trace_counts(trace, &counts);
		assert_true(counts.bad > 0);
		eta_close(trace);
		maker_end(dir);
	}
	eta_set_message_fn(NULL, NULL);
}

static void calls_like_others(void **state)
{
	const uint8_t one = 1 << ETA_USER_PATTERN_SHIFT, two = 2 << ETA_USER_PATTERN_SHIFT;
	struct eta_record_head again = { .type = ETA_RECORD_USER_REPEAT, .flags = one, .id = 5 };
	const int64_t offset = 4096;
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct eta_trace *trace;
	struct eta_counts counts;
	char dir[] = DIR_TEMPLATE;
	struct eta_user_op op;
	struct spool spool;

	(void)state;
	begin(dir, &spool);
	op = call(1);
	op.head.flags = one;
	maker_user_op(&spool, op);
	op = call(2);
	op.head.flags = two;
	maker_user_op(&spool, op);
	again.time_ns = 300;
	again.end_ns = 310;
	maker_record(&spool, again, &offset, sizeof(offset));
	again.flags = two;
	again.time_ns = 400;
	again.end_ns = 410;
	again.id = (uint32_t)-EIO;
	maker_record(&spool, again, &offset, sizeof(offset));
	again.flags = 3 << ETA_USER_PATTERN_SHIFT; /* of a call that is not there */
	maker_record(&spool, again, &offset, sizeof(offset));
	/* another thread's calls are like its own */
	maker_thread(&spool, 9, 500, "next");
	again.flags = one;
	again.time_ns = 600;
	maker_record(&spool, again, &offset, sizeof(offset));
	spool_close(&spool);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 8);
	assert_int_equal(batch[4].time_ns, 300);
	assert_int_equal(batch[4].size, 1);
	assert_int_equal(batch[4].offset, 4096);
	assert_int_equal(batch[5].time_ns, 310);
	assert_int_equal(batch[5].ret, 5);
	assert_int_equal(batch[6].size, 2);
	assert_int_equal(batch[7].ret, -EIO);
	assert_int_equal(eta_cursor_read(cursor, &batch), 0);
	eta_cursor_close(cursor);
	assert_int_equal(eta_cursor_open(trace, 1, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 0);
	eta_cursor_close(cursor);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, 2);
	eta_close(trace);
	maker_end(dir);
}

/* A file that could not be filled is gone again; of another folder that stands there now nothing
 * is. */
static void what_cannot_be_filled_goes(void **state)
{
	struct eta_spool_header header = { .kind = ETA_SPOOL_USER, .pid = 7, .tid = 8 };
	char dir[] = DIR_TEMPLATE, path[64], other[64];
	struct rlimit before, none;
	struct spool spool;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(stat(dir, &st), 0);
	spool_expect_folder(st.st_dev, st.st_ino);
	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	assert_int_equal(spool_create(&spool, path, &header, 4096, WINDOW_BYTES), -EFBIG);
	assert_int_equal(access(path, F_OK), -1);

	/* another folder in its place, with a file of that name */
	snprintf(other, sizeof(other), "%s.other", dir);
	assert_int_equal(rename(dir, other), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	assert_int_equal(spool_create(&spool, path, &header, 4096, WINDOW_BYTES), -ESTALE);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(other), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_stored_is_read),
		cmocka_unit_test(trimmed_and_written_on),
		cmocka_unit_test(killed_while_it_is_appended),
		cmocka_unit_test(damaged),
		cmocka_unit_test(calls_like_others),
		/* the last: from here on files belong to its folder */
		cmocka_unit_test(what_cannot_be_filled_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

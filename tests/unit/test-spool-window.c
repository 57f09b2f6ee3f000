/* A spool file's window: appended when it is full, read in order whenever its writer is killed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/archive.h"
#include "eta-ext/format/spool-budget.h"
#include "eta-ext/spool/live.h"
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

/* A field of the file's header that has another value; 0: the length of the file. */
struct damage {
	size_t field;
	uint64_t value;
};

/* The file in DIR, with that damage, is read, reported and counted as bad. Removes DIR. */
static void expect_damage(char *dir, const struct damage *damage)
{
	int fd = file_open(dir);
	struct eta_counts counts;
	struct eta_trace *trace;

	if (damage->field)
		assert_int_equal(pwrite(fd, &damage->value, 8, (off_t)damage->field), 8);
	else
		assert_int_equal(ftruncate(fd, (off_t)damage->value), 0);
	close(fd);
	times_said = 0;
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	assert_true(times_said > 0);
	eta_trace_counts(trace, &counts);
	assert_true(counts.bad > 0);
	eta_close(trace);
	maker_end(dir);
}

static void damaged(void **state)
{
	static const struct damage cases[] = {
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
		struct spool spool;

		begin(dir, &spool);
		for (uint64_t n = 1; n <= 2 * PER_WINDOW; n++)
			maker_user_op(&spool, call(n));
		spool_close(&spool);
		expect_damage(dir, &cases[i]);
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

/* ---- with a limit to what all files take together ---- */

static void put_call(struct spool *spool, uint64_t n)
{
	struct eta_user_op op = call(n), *at = spool_take(spool, sizeof(op));

	if (!at)
		return;
	op.head.units = sizeof(op) / ETA_UNIT_BYTES;
	*at = op;
	__atomic_store_n(&at->head.type, ETA_RECORD_USER_OP, __ATOMIC_RELEASE);
}

/* As FILE_NAME, with windows of WINDOW_BYTES from the begin on; N calls. */
static void write_calls(const char *dir, struct spool *spool, uint64_t n)
{
	struct eta_spool_header header = {
		.kind = ETA_SPOOL_USER, .pid = 7, .tid = 8, .start_ns = 1
	};
	char path[64];

	snprintf(path, sizeof(path), "%s/" FILE_NAME, dir);
	assert_int_equal(spool_create(spool, path, &header, WINDOW_BYTES, WINDOW_BYTES), 0);
	for (uint64_t i = 1; i <= n; i++)
		put_call(spool, i);
}

static void begin_with_budget(char *dir, struct spool_budget *budget, uint64_t bytes, bool last)
{
	struct spool spool;

	begin(dir, &spool);
	spool_close(&spool);
	snprintf(spool.path, sizeof(spool.path), "%s/" FILE_NAME, dir);
	assert_int_equal(unlink(spool.path), 0);
	spool_budget_begin(budget, bytes, last);
	spool_budget = budget;
}

static off_t size_in(const char *dir)
{
	struct stat st;
	int fd = file_open(dir);

	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return st.st_size;
}

/* The calls that are read are the last of N, in order, and the others were counted. */
static void expect_last_calls(const char *dir, uint64_t n)
{
	uint64_t seen = 0, first = 0, overwritten = 0;
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct eta_counts counts;
	struct eta_trace *trace;
	ssize_t events;

	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	for (uint32_t i = 0; i < eta_trace_defs(trace)->n_properties; i++)
		if (strcmp(eta_trace_defs(trace)->properties[i].name, ARCHIVE_OVERWRITTEN) == 0)
			overwritten =
				strtoull(eta_trace_defs(trace)->properties[i].value, NULL, 10);
	assert_int_equal(eta_trace_defs(trace)->n_locations, 1);
	assert_int_equal(eta_cursor_open(trace, 0, &cursor), 0);
	while ((events = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < events; i++) {
			if (batch[i].kind != ETA_ENTER)
				continue;
			first = seen++ ? first : batch[i].size;
			assert_int_equal(batch[i].size, first + seen - 1);
		}
	assert_int_equal(events, 0);
	eta_cursor_close(cursor);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, 0);
	assert_int_equal(counts.lost, 0);
	eta_close(trace);
	if (n) /* 0: it was killed, after nobody knows how many */
		assert_int_equal(seen + overwritten, n);
	assert_true(seen == n || seen >= WINDOW_BYTES / 64 - 3);
}

/* Its writer may be killed at any moment. */
static void the_last_are_kept_of_who_is_killed(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		char dir[] = DIR_TEMPLATE;
		struct spool_budget budget;
		struct eta_spool_header header = { 0 };
		struct spool spool;
		pid_t child;
		int fd;

		begin_with_budget(dir, &budget, 500000, true);
		write_calls(dir, &spool, 1);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (uint64_t n = 2;; n++)
				put_call(&spool, n);
		}
		spool_abandon(&spool);
		fd = file_open(dir);
		while (header.kept < (uint64_t)(i + 1) * WINDOW_BYTES)
			assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
		close(fd);
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		spool_budget = NULL;
		expect_last_calls(dir, 0);
		maker_end(dir);
	}
}

static void the_last_are_kept(void **state)
{
	static const uint64_t calls[] = {
		1, 900, 1021, 1022, 1023, 2042, 2043, 5000, 20000, 20440
	};

	(void)state;
	/* of a budget that gives it no second window, three, and more than it needs */
	for (size_t budget_of = 0; budget_of < 3; budget_of++)
		for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
			const uint64_t bytes = (uint64_t[]){ 4096, 500000, 100000000 }[budget_of];
			char dir[] = DIR_TEMPLATE;
			struct spool_budget budget;
			struct spool spool;

			begin_with_budget(dir, &budget, bytes, true);
			write_calls(dir, &spool, calls[i]);
			spool_abandon(&spool);
			expect_last_calls(dir, calls[i]);
			assert_true((uint64_t)size_in(dir) <
				    (bytes > 4096 ? bytes : 4096 + 2 * WINDOW_BYTES + 1));
			assert_int_equal(budget.refused, 0);
			spool_budget = NULL;
			maker_end(dir);
		}
}

/* Of a file whose windows went round: places that cannot be, and a file that was cut. */
static void last_ones_damaged(void **state)
{
	static const struct damage cases[] = {
		{ offsetof(struct eta_spool_header, ring_bytes), 1 },
		{ offsetof(struct eta_spool_header, ring_bytes), WINDOW_BYTES },
		{ offsetof(struct eta_spool_header, ring_bytes), UINT64_MAX },
		{ offsetof(struct eta_spool_header, kept), 1 },
		{ offsetof(struct eta_spool_header, kept), UINT64_MAX },
		{ offsetof(struct eta_spool_header, stored), ETA_SPOOL_HEADER_BYTES + 64 },
		{ 0, ETA_SPOOL_HEADER_BYTES + 2 * WINDOW_BYTES },
		{ 0, ETA_SPOOL_HEADER_BYTES + 64 },
	};

	(void)state;
	eta_set_message_fn(listen, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char dir[] = DIR_TEMPLATE;
		struct spool_budget budget;
		struct spool spool;

		begin_with_budget(dir, &budget, 500000, true);
		write_calls(dir, &spool, 20000);
		spool_close(&spool);
		spool_budget = NULL;
		expect_damage(dir, &cases[i]);
	}
	eta_set_message_fn(NULL, NULL);
}

static void no_more_than_the_budget(void **state)
{
	char dir[] = DIR_TEMPLATE, other[] = DIR_TEMPLATE;
	struct spool_budget budget;
	struct eta_counts counts;
	struct eta_trace *trace;
	struct spool spool;
	uint64_t stored;

	(void)state;
	begin_with_budget(dir, &budget, 500000, false);
	write_calls(dir, &spool, 20000);
	stored = 20000 - budget.refused;
	assert_int_equal(spool.header->lost, budget.refused);
	spool_close(&spool);
	assert_true(size_in(dir) <= 500000 && size_in(dir) > 500000 - WINDOW_BYTES);
	assert_true(stored * 64 > 300000);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.lost, 20000 - stored);
	eta_close(trace);
	/* what a file is shorter in the end, others may have */
	maker_end(dir);
	begin_with_budget(other, &budget, 500000, false);
	write_calls(other, &spool, 10);
	spool_close(&spool);
	assert_int_equal((off_t)(500000 - budget.left), size_in(other));
	spool_budget = NULL;
	maker_end(other);
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

/* A record whose second half was read when it was there, the first half when it was not. */
static void written_while_it_is_read(void **state)
{
	enum { N = 3 };
	struct eta_user_op records[N + 1] = { 0 }, read[N + 1];
	FILE *file = tmpfile();

	(void)state;
	assert_non_null(file);
	for (uint64_t n = 0; n < N; n++) {
		records[n] = call(n + 1);
		records[n].head.type = ETA_RECORD_USER_OP;
		records[n].head.units = sizeof(*records) / ETA_UNIT_BYTES;
	}
	memcpy(read, records, sizeof(read));
	read[N - 2].head.time_ns = read[N - 2].head.end_ns = 0;
	/* the file has one more by now, which was not there then */
	read[N - 1].head.type = ETA_RECORD_END;
	assert_int_equal(fwrite("header", 6, 1, file), 1);
	assert_int_equal(fwrite(records, sizeof(records), 1, file), 1);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(live_records(fileno(file), read, sizeof(read), 6),
			 (N - 1) * sizeof(*records));
	assert_memory_equal(read, records, (N - 1) * sizeof(*records));
	assert_int_equal(read[N - 1].head.type, ETA_RECORD_END);
	assert_int_equal(live_records(-1, read, sizeof(read), 6), -EBADF);
	assert_int_equal(live_records(-1, read, 0, 6), 0);
	assert_int_equal(fclose(file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_stored_is_read),
		cmocka_unit_test(trimmed_and_written_on),
		cmocka_unit_test(killed_while_it_is_appended),
		cmocka_unit_test(damaged),
		cmocka_unit_test(calls_like_others),
		cmocka_unit_test(the_last_are_kept),
		cmocka_unit_test(the_last_are_kept_of_who_is_killed),
		cmocka_unit_test(last_ones_damaged),
		cmocka_unit_test(no_more_than_the_budget),
		cmocka_unit_test(written_while_it_is_read),
		/* the last: from here on files belong to its folder */
		cmocka_unit_test(what_cannot_be_filled_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

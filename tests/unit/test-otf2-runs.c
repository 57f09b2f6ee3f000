/* Runs of equal operations in archives: read back they are what was written, and nothing is one
 * that is not. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory-trace.h"
#include "same-events.h"

static char scratch[] = "/tmp/sci-test.XXXXXX";
static char anchor[64], runs[96], events[96];
static char said[2048];

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	snprintf(said, sizeof(said), "%s", text);
}

/* ---- operations ---- */

struct shape {
	uint64_t size;
	int64_t ret;
	uint32_t inode;
	uint64_t caller;
	bool kernel;   /* with regions of the kernel inside */
	uint32_t who;  /* for whom it waited */
	unsigned deep; /* more regions inside */
};

static uint64_t now, offset, match;

static void add(struct eta_trace *t, struct eta_event event)
{
	event.time_ns = now;
	memory_event(t, 0, event);
}

/* A write as both sides give it; LATER_NS between its events, but for two that go together. */
static void operation(struct eta_trace *t, const struct shape *s, uint64_t later_ns)
{
	const uint16_t has = ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_HAS_CALLER;
	const uint16_t moved = s->ret < 0 ? ETA_HAS_RET : ETA_HAS_SIZE;

	now += later_ns;
	add(t, (struct eta_event){ .kind = ETA_ENTER,
				   .region = memory_region(t, "write"),
				   .has = has,
				   .size = s->size,
				   .offset = (int64_t)offset,
				   .inode = s->inode,
				   .dev = 3,
				   .caller = s->caller });
	add(t, (struct eta_event){ .kind = ETA_IO_BEGIN,
				   .mode = ETA_IO_WRITE,
				   .handle = 0,
				   .has = ETA_HAS_SIZE,
				   .size = s->size,
				   .match = match });
	now += later_ns;
	for (unsigned i = 0; i < s->deep; i++)
		memory_enter(t, 0, now, "vfs:deep");
	if (s->kernel)
		add(t,
		    (struct eta_event){ .kind = ETA_ENTER, .region = memory_region(t, "vfs:w") });
	if (s->who)
		add(t, (struct eta_event){ .kind = ETA_ENTER,
					   .region = memory_region(t, "fs:inode lock"),
					   .has = ETA_HAS_WHO,
					   .who = s->who });
	now += 3 * later_ns;
	if (s->who)
		memory_leave(t, 0, now, "fs:inode lock");
	if (s->kernel)
		add(t, (struct eta_event){ .kind = ETA_LEAVE,
					   .region = memory_region(t, "vfs:w"),
					   .has = ETA_HAS_RET,
					   .ret = s->ret });
	for (unsigned i = 0; i < s->deep; i++)
		memory_leave(t, 0, now, "vfs:deep");
	now += later_ns;
	add(t, (struct eta_event){ .kind = ETA_IO_COMPLETE,
				   .handle = 0,
				   .has = moved,
				   .size = (uint64_t)s->ret,
				   .ret = s->ret,
				   .match = match });
	add(t, (struct eta_event){ .kind = ETA_LEAVE,
				   .region = memory_region(t, "write"),
				   .has = ETA_HAS_RET,
				   .ret = s->ret });
	offset += s->size;
	match += 2;
}

static const struct shape plain = { .size = 1, .ret = 1, .inode = 7, .caller = 9 };
static const struct shape shapes[] = {
	{ .size = 1, .ret = 1, .inode = 7, .caller = 9, .kernel = true },
	{ .size = 1, .ret = 1, .inode = 7, .caller = 8, .kernel = true },
	{ .size = 1, .ret = 1, .inode = 6, .caller = 8, .kernel = true },
	{ .size = 4096, .ret = 1000, .inode = 7, .caller = 9, .kernel = true },
	{ .size = 4096, .ret = -ENOSPC, .inode = 7, .caller = 9, .kernel = true },
	{ .size = 0, .ret = 0, .inode = 7 },
	{ .size = 1, .ret = 1, .inode = 7, .caller = 9, .kernel = true, .who = 12 },
	{ .size = 1, .ret = 1, .inode = 7, .caller = 9, .deep = 40 },
};
enum { N_SHAPES = sizeof(shapes) / sizeof(*shapes) };

static uint64_t seed;

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static struct eta_trace *new_trace(void)
{
	struct eta_trace *t = memory_trace_new("runs");

	memory_thread(t, 1, 1);
	eta_defs_handle(t, &(struct eta_handle){ .name = "f", .file = ETA_NONE, .host = "" });
	now = 1000;
	offset = 0;
	match = 1;
	return t;
}

/* ---- checks ---- */

static struct eta_trace *written(struct eta_trace *given, bool as_runs)
{
	const struct eta_write_options options = { .threads = 1, .runs = as_runs ? 1 : 0 };
	struct eta_trace *read;

	assert_int_equal(eta_write_otf2(given, anchor, &options, NULL), 0);
	assert_int_equal(eta_open(anchor, NULL, &read), 0);
	return read;
}

static off_t bytes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? -1 : st.st_size;
}

/* Which version the anchor file says. */
static int version(void)
{
	static const char property[] = "SCI::ARCHIVE_VERSION";
	char text[65536];
	int fd = open(anchor, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text));
	const char *at;

	close(fd);
	assert_true(n > 0);
	at = memmem(text, (size_t)n, property, sizeof(property));
	assert_non_null(at);
	return atoi(at + sizeof(property));
}

/* Writes GIVEN, reads it and ends it: is there a file of runs, of how many bytes (-1: none)? */
static off_t round_trip(struct eta_trace *given)
{
	struct eta_counts counts;
	struct eta_trace *read = written(given, true);
	size_t n;

	same_events(given, read);
	eta_trace_counts(read, &counts);
	memory_events(given, 0, &n);
	assert_int_equal(counts.events, n);
	assert_int_equal(counts.bad, 0);
	eta_close(read);
	eta_close(given);
	assert_int_equal(version(), bytes_of(runs) < 0 ? 1 : 2);
	return bytes_of(runs);
}

static struct eta_trace *repeated(const struct shape *shape, unsigned n)
{
	struct eta_trace *t = new_trace();

	for (unsigned i = 0; i < n; i++)
		operation(t, shape, 1 + i % 100);
	return t;
}

static void many_equal_ones_are_a_run(void **unused)
{
	struct eta_trace *given;

	(void)unused;
	/* the first is written as it is */
	assert_int_equal(round_trip(repeated(&plain, 8)), -1);
	assert_true(round_trip(repeated(&plain, 9)) > 0);
	/* of five bytes each */
	assert_true(round_trip(repeated(&shapes[0], 100000)) < 600000);
	assert_true(bytes_of(events) < 1000);
	/* only where they are wanted */
	given = repeated(&plain, 1000);
	eta_close(written(given, false));
	assert_int_equal(bytes_of(runs), -1);
	assert_int_equal(version(), 1);
	eta_close(given);
}

static void what_is_different_is_none(void **unused)
{
	struct eta_trace *t;

	(void)unused;
	/* waits, and more regions than a run keeps */
	assert_int_equal(round_trip(repeated(&shapes[6], 200)), -1);
	assert_int_equal(round_trip(repeated(&shapes[7], 200)), -1);
	t = new_trace();
	for (unsigned i = 0; i < 500; i++)
		operation(t, &shapes[i % 2], 5);
	assert_int_equal(round_trip(t), -1);
	/* steps that change */
	t = new_trace();
	for (unsigned i = 0; i < 500; i++) {
		operation(t, &plain, 5);
		offset += i;
	}
	assert_int_equal(round_trip(t), -1);
}

/* Two events at one time are so in the whole run, or it ends. */
static void events_that_part(void **unused)
{
	struct eta_trace *t = new_trace();

	(void)unused;
	for (unsigned i = 0; i < 400; i++)
		operation(t, &plain, i < 100 ? 0 : i % 3 * 1000000007);
	assert_true(round_trip(t) > 0);
}

static void what_is_between(void **unused)
{
	(void)unused;
	for (seed = 1; seed < 60; seed++) {
		struct eta_trace *t = new_trace();

		memory_batch(t, seed % 4);
		for (unsigned part = 0; part < 12; part++) {
			unsigned n = (unsigned)pick(200);
			const struct shape *shape = &shapes[pick(N_SHAPES)];

			for (unsigned i = 0; i < n; i++)
				operation(t, shape, pick(300));
			if (pick(2))
				add(t, (struct eta_event){ .kind = ETA_IO_SEEK,
							   .has = ETA_HAS_OFFSET,
							   .offset = 5,
							   .handle = 0 });
			if (pick(4) == 0)
				memory_leave(t, 0, now, "write");
			if (pick(8) == 0)
				memory_enter(t, 0, now, "main");
			now += 10;
		}
		round_trip(t);
	}
}

/* ---- damage ---- */

/* Reads the archive: how many events, and how it ended. */
static size_t read_all(bool lenient, ssize_t *end, uint64_t *bad)
{
	const struct eta_options options = { .lenient = lenient };
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	struct eta_counts counts;
	struct eta_trace *read;
	size_t n = 0;

	assert_int_equal(eta_open(anchor, &options, &read), 0);
	assert_int_equal(eta_cursor_open(read, 0, &cursor), 0);
	while ((*end = eta_cursor_read(cursor, &batch)) > 0)
		n += (size_t)*end;
	eta_cursor_close(cursor);
	eta_trace_counts(read, &counts);
	*bad = counts.bad;
	eta_close(read);
	return n;
}

static void a_file_of_runs_that_is_damaged(void **unused)
{
	struct eta_trace *given = new_trace();
	uint64_t bad;
	ssize_t end;
	off_t bytes;
	size_t n;
	int fd;

	(void)unused;
	operation(given, &shapes[3], 5);
	for (unsigned i = 0; i < 1000; i++)
		operation(given, &plain, 5);
	eta_close(written(given, true));
	eta_close(given);
	bytes = bytes_of(runs);
	assert_true(bytes > 2000);
	eta_set_message_fn(listen, NULL);
	assert_int_equal(read_all(false, &end, &bad), 6 + 1000 * 4);
	for (off_t cut = bytes - 1; cut >= 0; cut -= cut > 500 ? 400 : 7) {
		assert_int_equal(truncate(runs, cut), 0);
		n = read_all(false, &end, &bad);
		assert_int_equal(end, -EBADMSG);
		assert_non_null(strstr(said, "the run of operations in 0.runs is cut or missing"));
		assert_true(n >= 6 && n < 6 + 1000 * 4);
		assert_int_equal(read_all(true, &end, &bad), n);
		assert_int_equal(end, 0);
		assert_int_equal(bad, 1);
	}
	unlink(runs);
	read_all(false, &end, &bad);
	assert_int_equal(end, -EBADMSG);
	/* any bytes in place of it: it ends, whatever it gives */
	for (seed = 1; seed < 3000; seed++) {
		uint8_t noise[200];

		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (uint8_t)(pick(4) ? pick(8) : pick(256));
		fd = open(runs, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, noise, sizeof(noise)), sizeof(noise));
		close(fd);
		read_all(true, &end, &bad);
		assert_int_equal(end, 0);
	}
	eta_set_message_fn(NULL, NULL);
}

static int set_up(void **unused)
{
	(void)unused;
	if (!mkdtemp(scratch))
		return -1;
	snprintf(anchor, sizeof(anchor), "%s/t.otf2", scratch);
	snprintf(runs, sizeof(runs), "%s/t/0.runs", scratch);
	snprintf(events, sizeof(events), "%s/t/0.evt", scratch);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	return scratch_remove(scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_equal_ones_are_a_run),
		cmocka_unit_test(what_is_different_is_none),
		cmocka_unit_test(events_that_part),
		cmocka_unit_test(what_is_between),
		cmocka_unit_test(a_file_of_runs_that_is_damaged),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

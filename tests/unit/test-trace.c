/* Opening, definitions, cursors and counts of the trace framework. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory-trace.h"

static char said[4096];
static int times_said;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	assert_int_equal(severity, ETA_ERROR);
	snprintf(said, sizeof(said), "%s", text);
	times_said++;
}

static void what_is_no_trace_is_said_in_one_line(void **state)
{
	char dir[] = "/tmp/sci-test.XXXXXX", empty[64], text[64];
	const struct {
		const char *path, *expected;
		int rc;
	} cases[] = {
		{ "/nonexistent/x.otf2", "cannot open: No such file", -ENOENT },
		{ dir, "is a directory but not a spool", -EINVAL },
		{ empty, "is empty", -EINVAL },
		{ text, "unknown format", -EINVAL },
	};
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(empty, sizeof(empty), "%s/empty", dir);
	snprintf(text, sizeof(text), "%s/text", dir);
	f = fopen(empty, "w");
	assert_non_null(f);
	fclose(f);
	f = fopen(text, "w");
	assert_non_null(f);
	fputs("no trace\n", f);
	fclose(f);
	eta_set_message_fn(listen, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct eta_trace *trace = (struct eta_trace *)dir;

		times_said = 0;
		assert_int_equal(eta_open(cases[i].path, NULL, &trace), cases[i].rc);
		assert_null(trace);
		assert_int_equal(times_said, 1);
		assert_non_null(strstr(said, cases[i].expected));
		assert_ptr_equal(strstr(said, cases[i].path), said);
		assert_null(strchr(said, '\n'));
	}
	eta_set_message_fn(NULL, NULL);
	unlink(empty);
	unlink(text);
	rmdir(dir);
}

static void definitions_keep_their_strings(void **state)
{
	struct eta_trace *trace = memory_trace_new("t");
	const struct eta_defs *defs = eta_trace_defs(trace);
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "fs:f%u", i);
		assert_int_equal(eta_defs_region(trace, name, ETA_LEVEL_NONE, "same"), i);
	}
	assert_int_equal(defs->n_regions, 1000);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "fs:f%u", i);
		assert_string_equal(defs->regions[i].name, name);
		assert_int_equal(defs->regions[i].level, ETA_LEVEL_FS);
		assert_ptr_equal(defs->regions[i].description, defs->regions[0].description);
	}
	assert_int_equal(memory_region(trace, "fs:inode lock"), 1000);
	assert_int_equal(defs->regions[1000].reason, ETA_REASON_INODE_LOCK);
	assert_int_equal(eta_defs_region(trace, "x", ETA_LEVEL_VFS, NULL), 1001);
	assert_int_equal(defs->regions[1001].level, ETA_LEVEL_VFS);
	assert_string_equal(defs->regions[1001].description, "");
	eta_defs_property(trace, "SCI::CLOCK", "monotonic");
	assert_string_equal(defs->properties[0].value, "monotonic");
	eta_defs_file(trace, &(struct eta_file){ .path = name, .inode = 7 });
	name[0] = 'X';
	assert_string_equal(defs->files[0].path, "fs:f999");
	assert_string_equal(defs->files[0].fs, "");
	eta_close(trace);
}

static void cursors_give_all_and_count_once(void **state)
{
	struct eta_trace *trace = memory_trace_new("t");
	uint32_t a = memory_thread(trace, 1, 1), b = memory_thread(trace, 1, 2);
	struct eta_counts counts;

	(void)state;
	assert_int_equal(a, 0);
	assert_int_equal(b, 1);
	assert_int_equal(trace->defs.n_processes, 1);
	for (uint64_t t = 0; t < 10; t += 2) {
		memory_enter(trace, b, t, "write");
		memory_leave(trace, b, t + 1, "write");
	}
	memory_batch(trace, 3);
	for (int pass = 0; pass < 2; pass++) {
		struct eta_cursor *cursor;
		const struct eta_event *batch;
		uint64_t expected = 0;
		ssize_t n;

		assert_int_equal(eta_cursor_open(trace, b, &cursor), 0);
		while ((n = eta_cursor_read(cursor, &batch)) > 0)
			for (ssize_t i = 0; i < n; i++)
				assert_int_equal(batch[i].time_ns, expected++);
		assert_int_equal(n, 0);
		assert_int_equal(expected, 10);
		eta_cursor_close(cursor);
		eta_trace_counts(trace, &counts);
		assert_int_equal(counts.events, 10);
		assert_int_equal(counts.records, 10);
	}
	eta_close(trace);
}

static void io_functions_are_known(void **state)
{
	static const char *const io[] = {
		"write",	  "pwrite64",  "fread_unlocked",	"__open_2",
		"fsync",	  "aio_write", "MPI_File_write_at_all", "fprintf",
		"__isoc99_fscanf"
	};
	static const char *const other[] = { "Working", "pthread_join",	    "main",	"",
					     "writes",	"EZTrace finalize", "MPI_Send", "fork" };

	(void)state;
	for (size_t i = 0; i < sizeof(io) / sizeof(*io); i++)
		assert_true(eta_is_io_function(io[i]));
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++)
		assert_false(eta_is_io_function(other[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_trace_is_said_in_one_line),
		cmocka_unit_test(definitions_keep_their_strings),
		cmocka_unit_test(cursors_give_all_and_count_once),
		cmocka_unit_test(io_functions_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* OTF2 archives: what is written is read back, whatever the threads; what stands there is kept. */
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
#include "random-trace.h"
#include "same-events.h"

static char scratch[] = "/tmp/sci-test.XXXXXX";
static char anchor[64];
static char said[2048];
static int times_said;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	snprintf(said, sizeof(said), "%s", text);
	times_said++;
}

/* ---- comparing ---- */

static void same_definitions(const struct eta_defs *a, const struct eta_defs *b)
{
	assert_int_equal(a->n_regions, b->n_regions);
	for (uint32_t i = 0; i < a->n_regions; i++) {
		assert_string_equal(a->regions[i].name, b->regions[i].name);
		assert_string_equal(a->regions[i].description, b->regions[i].description);
		assert_int_equal(a->regions[i].level, b->regions[i].level);
		assert_int_equal(a->regions[i].reason, b->regions[i].reason);
	}
	assert_int_equal(a->n_files, b->n_files);
	for (uint32_t i = 0; i < a->n_files; i++) {
		assert_string_equal(a->files[i].path, b->files[i].path);
		assert_string_equal(a->files[i].fs, b->files[i].fs);
		assert_string_equal(a->files[i].mount, b->files[i].mount);
		assert_int_equal(a->files[i].dev, b->files[i].dev);
		assert_int_equal(a->files[i].inode, b->files[i].inode);
		assert_string_equal(a->files[i].host, b->files[i].host);
	}
	assert_int_equal(a->n_handles, b->n_handles);
	for (uint32_t i = 0; i < a->n_handles; i++) {
		assert_string_equal(a->handles[i].name, b->handles[i].name);
		assert_int_equal(a->handles[i].file, b->handles[i].file);
		assert_int_equal(a->handles[i].device, b->handles[i].device);
		assert_string_equal(a->handles[i].host, b->handles[i].host);
		assert_int_equal(a->handles[i].open_flags, b->handles[i].open_flags);
	}
	assert_int_equal(a->n_locations, b->n_locations);
	for (uint32_t i = 0; i < a->n_locations; i++) {
		const struct eta_location *x = &a->locations[i], *y = &b->locations[i];

		assert_int_equal(x->id, y->id);
		assert_string_equal(x->name, y->name);
		assert_int_equal(x->kind, y->kind);
		assert_int_equal(x->tid, y->tid);
		assert_int_equal(x->ns_tid, y->ns_tid);
		assert_int_equal(x->dev, y->dev);
		assert_string_equal(x->host, y->host);
		assert_int_equal(x->events, y->events);
		if (x->kind == ETA_LOCATION_DEVICE)
			continue;
		assert_int_equal(x->start_ns, y->start_ns);
		assert_string_equal(a->processes[x->process].name, b->processes[y->process].name);
		assert_string_equal(a->processes[x->process].host, b->processes[y->process].host);
		assert_int_equal(a->processes[x->process].pid, b->processes[y->process].pid);
		assert_int_equal(a->processes[x->process].ppid, b->processes[y->process].ppid);
		assert_int_equal(a->processes[x->process].cgroup, b->processes[y->process].cgroup);
		assert_int_equal(a->processes[x->process].ns_pid, b->processes[y->process].ns_pid);
		assert_int_equal(a->processes[x->process].pid_ns, b->processes[y->process].pid_ns);
		assert_int_equal(a->processes[x->process].start_ns,
				 b->processes[y->process].start_ns);
		assert_string_equal(a->processes[x->process].boot, b->processes[y->process].boot);
	}
	for (uint32_t i = 0; i < a->n_properties; i++) {
		uint32_t k = 0;

		while (k < b->n_properties &&
		       strcmp(a->properties[i].name, b->properties[k].name) != 0)
			k++;
		assert_true(k < b->n_properties);
		assert_string_equal(a->properties[i].value, b->properties[k].value);
	}
}

static void write_it(struct eta_trace *trace, unsigned threads)
{
	const struct eta_write_options options = { .threads = threads };
	struct eta_counts counts;

	assert_int_equal(eta_write_otf2(trace, anchor, &options, &counts), 0);
	assert_int_equal(counts.out_of_order, 0);
}

static void what_is_written_is_read(void **unused)
{
	/* 512 and 1024: the reader's batches end where the events do */
	static const size_t lengths[] = { 0, 1, 511, 512, 513, 1024, 3000 };

	(void)unused;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct eta_trace *given = random_trace(i + 1, lengths[i]), *read;
		struct eta_counts counts;

		memory_batch(given, i % 2 ? 0 : 7);
		write_it(given, 1 + (unsigned)i % 3);
		assert_int_equal(eta_open(anchor, NULL, &read), 0);
		assert_string_equal(eta_trace_source(read), "otf2");
		same_definitions(eta_trace_defs(given), eta_trace_defs(read));
		same_events(given, read);
		eta_trace_counts(read, &counts);
		assert_int_equal(counts.events, lengths[i] * (given->defs.n_locations - 1));
		assert_int_equal(counts.bad, 0);
		eta_close(read);
		eta_close(given);
	}
}

static void nothing_at_all_is_an_archive(void **unused)
{
	struct eta_trace *given = memory_trace_new("empty"), *read;

	(void)unused;
	write_it(given, 2);
	assert_int_equal(eta_open(anchor, NULL, &read), 0);
	assert_int_equal(eta_trace_defs(read)->n_locations, 0);
	assert_int_equal(eta_trace_defs(read)->n_regions, 0);
	eta_close(read);
	eta_close(given);
}

static void time_never_goes_back(void **unused)
{
	struct eta_trace *given = memory_trace_new("out_of_order"), *read;
	struct eta_counts counts;
	struct eta_cursor *cursor;
	const struct eta_event *batch;

	(void)unused;
	memory_thread(given, 1, 1);
	memory_enter(given, 0, 100, "write");
	memory_leave(given, 0, 90, "write");
	assert_int_equal(eta_write_otf2(given, anchor, NULL, &counts), 0);
	assert_int_equal(counts.out_of_order, 1);
	assert_int_equal(eta_open(anchor, NULL, &read), 0);
	assert_int_equal(eta_cursor_open(read, 0, &cursor), 0);
	assert_int_equal(eta_cursor_read(cursor, &batch), 2);
	assert_int_equal(batch[1].time_ns, 100);
	eta_cursor_close(cursor);
	eta_close(read);
	eta_close(given);
}

static void what_stands_there_is_kept(void **unused)
{
	struct eta_trace *given = random_trace(77, 10);
	char path[96];
	struct stat st;
	FILE *f;

	(void)unused;
	eta_set_message_fn(listen, NULL);
	/* a foreign file under the anchor's name */
	unlink(anchor);
	f = fopen(anchor, "w");
	assert_non_null(f);
	fputs("precious", f);
	fclose(f);
	times_said = 0;
	assert_int_equal(eta_write_otf2(given, anchor, NULL, NULL), -EEXIST);
	assert_int_equal(times_said, 1);
	assert_non_null(strstr(said, "choose another name"));
	assert_int_equal(stat(anchor, &st), 0);
	assert_int_equal(st.st_size, 8);
	unlink(anchor);
	/* definitions without an anchor: the rest of something */
	assert_int_equal(eta_write_otf2(given, anchor, NULL, NULL), -EEXIST);
	snprintf(path, sizeof(path), "%s/nowhere/x.otf2", scratch);
	times_said = 0;
	assert_int_equal(eta_write_otf2(given, path, NULL, NULL), -ENOENT);
	assert_int_equal(times_said, 1);
	snprintf(path, sizeof(path), "%s/x", scratch);
	assert_int_equal(eta_write_otf2(given, path, NULL, NULL), -EINVAL);
	eta_set_message_fn(NULL, NULL);
	eta_close(given);
}

static void one_location_is_read_by_one_cursor(void **unused)
{
	struct eta_trace *given = random_trace(5, 10), *read;
	struct eta_cursor *first, *second;
	char path[96];

	(void)unused;
	snprintf(path, sizeof(path), "%s/once.otf2", scratch);
	assert_int_equal(eta_write_otf2(given, path, NULL, NULL), 0);
	assert_int_equal(eta_open(path, NULL, &read), 0);
	assert_int_equal(eta_cursor_open(read, 0, &first), 0);
	eta_set_message_fn(listen, NULL);
	assert_int_equal(eta_cursor_open(read, 0, &second), -EBUSY);
	eta_set_message_fn(NULL, NULL);
	assert_int_equal(eta_cursor_open(read, 1, &second), 0);
	eta_cursor_close(second);
	eta_cursor_close(first);
	assert_int_equal(eta_cursor_open(read, 0, &second), 0);
	eta_cursor_close(second);
	eta_close(read);
	eta_close(given);
}

/* ---- what grows with processes, regions and texts ---- */

static const char *value_of(const struct eta_defs *defs, uint32_t process, const char *name)
{
	for (uint32_t i = 0; i < defs->n_properties; i++)
		if (defs->properties[i].process == process &&
		    strcmp(defs->properties[i].name, name) == 0)
			return defs->properties[i].value;
	return NULL;
}

/* The anchor file is one chunk of 256 KiB for libotf2; definitions are as many as they like. */
static void definitions_may_grow(void **unused)
{
	enum { PROCESSES = 300, REGIONS = 40000, LONG = 3000, LONGER = 100000 };
	struct eta_trace *given = memory_trace_new("large"), *read;
	char path[96], *text = malloc(LONGER + 1), name[64];
	const struct eta_defs *defs;
	const char *value;

	(void)unused;
	memset(text, 'x', LONGER);
	text[LONGER] = '\0';
	for (uint32_t i = 1; i <= PROCESSES; i++)
		memory_thread(given, i, i);
	for (uint32_t i = 0; i < REGIONS; i++) {
		snprintf(name, sizeof(name), "vfs:r%u", i);
		memory_region(given, name);
	}
	for (uint32_t p = 0; p < given->defs.n_processes; p++) {
		snprintf(text, LONG, "%u ", p);
		text[strlen(text)] = 'x';
		text[LONG] = '\0';
		eta_defs_process_property(given, p, "ARGV", text);
		text[LONG] = 'x';
	}
	/* a process without a thread */
	eta_defs_process(given, &(struct eta_process){ .name = "none", .pid = 9999 });
	eta_defs_process_property(given, given->defs.n_processes - 1, "ARGV", "none");
	eta_defs_property(given, "SCI::LONG", text);
	for (uint32_t i = 0; i < PROCESSES; i++) {
		snprintf(name, sizeof(name), "SCI::MANY_%u", i);
		text[LONG] = '\0';
		eta_defs_property(given, name, text);
		text[LONG] = 'x';
	}
	snprintf(path, sizeof(path), "%s/large.otf2", scratch);
	assert_int_equal(eta_write_otf2(given, path, NULL, NULL), 0);
	assert_int_equal(eta_open(path, NULL, &read), 0);
	defs = eta_trace_defs(read);
	assert_int_equal(defs->n_processes, PROCESSES + 1);
	assert_int_equal(defs->n_regions, given->defs.n_regions);
	assert_int_equal(defs->n_properties, given->defs.n_properties);
	for (uint32_t p = 0; p < PROCESSES; p++) {
		value = value_of(defs, p, "ARGV");
		assert_non_null(value);
		assert_int_equal(strtoul(value, NULL, 10), defs->processes[p].pid - 1);
		assert_int_equal(strlen(value), LONG);
		snprintf(name, sizeof(name), "SCI::MANY_%u", p);
		assert_non_null(value_of(defs, ETA_NONE, name));
	}
	assert_string_equal(value_of(defs, PROCESSES, "ARGV"), "none");
	assert_int_equal(defs->processes[PROCESSES].pid, 9999);
	for (uint32_t i = 0; i < defs->n_regions; i++)
		assert_int_equal(defs->regions[i].level, given->defs.regions[i].level);
	/* a text that is too long for a definition says what is missing */
	value = value_of(defs, ETA_NONE, "SCI::LONG");
	assert_non_null(value);
	assert_non_null(strstr(value, "x... (34464 bytes more)"));
	eta_close(read);
	eta_close(given);
	free(text);
}

/* As EZTrace's plugin and older archives have them: in the anchor file, under the process' number.
 */
static void properties_of_processes_find_them(void **unused)
{
	struct eta_trace *given = memory_trace_new("older"), *read;
	const struct eta_defs *defs;
	char path[96];

	(void)unused;
	memory_thread(given, 7, 7);
	memory_thread(given, 8, 8);
	eta_defs_property(given, "SCI::PROCESS_8::ARGV", "eight");
	eta_defs_property(given, "SCI::PROCESS_8::IMAGE_1::ARGV", "first");
	eta_defs_property(given, "SCI::PROCESS_9::ARGV", "nobody's");
	snprintf(path, sizeof(path), "%s/older.otf2", scratch);
	assert_int_equal(eta_write_otf2(given, path, NULL, NULL), 0);
	assert_int_equal(eta_open(path, NULL, &read), 0);
	defs = eta_trace_defs(read);
	assert_int_equal(defs->processes[1].pid, 8);
	assert_string_equal(value_of(defs, 1, "ARGV"), "eight");
	assert_string_equal(value_of(defs, 1, "IMAGE_1::ARGV"), "first");
	assert_string_equal(value_of(defs, ETA_NONE, "SCI::PROCESS_9::ARGV"), "nobody's");
	eta_close(read);
	eta_close(given);
}

static int set_up(void **unused)
{
	(void)unused;
	if (!mkdtemp(scratch))
		return -1;
	snprintf(anchor, sizeof(anchor), "%s/t.otf2", scratch);
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
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(nothing_at_all_is_an_archive),
		cmocka_unit_test(time_never_goes_back),
		cmocka_unit_test(what_stands_there_is_kept),
		cmocka_unit_test(one_location_is_read_by_one_cursor),
		cmocka_unit_test(definitions_may_grow),
		cmocka_unit_test(properties_of_processes_find_them),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

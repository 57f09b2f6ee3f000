/* Modules and call stacks: from a spool to an archive and back, merged, and damaged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "eta-ext/base/eta.h"
#include "spool-maker.h"

#define DIR_TEMPLATE "/tmp/sci-test.XXXXXX"
#define NAME_WRITE 1
#define ID_BYTES "\x01\xab\xff"
#define ID_TEXT "01abff"

static void ignore(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	(void)text;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void make_process(struct spool *spool, const char *dir, uint32_t pid, uint32_t ppid,
			 uint64_t start_ns, uint32_t flags)
{
	const struct eta_spool_header header = { .kind = ETA_SPOOL_PROCESS,
						 .pid = pid,
						 .tid = pid,
						 .ppid = ppid,
						 .start_ns = start_ns,
						 .flags = flags,
						 .host = "here",
						 .exe = "/bin/app" };
	char name[64];

	snprintf(name, sizeof(name), "process.%u.%llu", pid, (unsigned long long)start_ns);
	maker_file(spool, dir, name, &header);
	maker_name(spool, ETA_RECORD_NAME, NAME_WRITE, ETA_OP_WRITE, "write");
}

/* IDS and PATHS: the lengths that the record claims. */
static void make_module(struct spool *spool, uint64_t since_ns, uint64_t start, const char *path,
			uint16_t ids, uint16_t paths)
{
	unsigned char body[256] = { 0 };
	const struct eta_module_record record = { .start = start,
						  .end = start + 0x1000,
						  .bias = start - 0x100,
						  .build_id_bytes = ids,
						  .path_bytes = paths };
	size_t head = sizeof(record.head), fixed = sizeof(record) - head, bytes;

	memcpy(body, (const char *)&record + head, fixed);
	memcpy(body + fixed, ID_BYTES, 3);
	memcpy(body + fixed + 3, path, strlen(path));
	bytes = fixed + 3 + strlen(path);
	maker_record(spool,
		     (struct eta_record_head){ .time_ns = since_ns,
					       .type = ETA_RECORD_MODULE,
					       .units = (uint16_t)((head + bytes + 31) / 32),
					       .flags = ETA_MODULE_PROGRAM },
		     body, bytes);
}

static void make_stack(struct spool *spool, uint32_t id, uint32_t claimed, uint64_t first)
{
	const struct {
		uint32_t n, reserved;
		uint64_t frames[4];
	} body = { claimed, 0, { first, 0x2222, 0x3333 } };

	maker_record(spool,
		     (struct eta_record_head){ .type = ETA_RECORD_STACK, .units = 2, .id = id },
		     &body, sizeof(body));
}

/* A thread with one call per CALLERS[i] up to a 0; STACKS: they are ids. */
static void make_calls(const char *dir, uint32_t pid, uint64_t start_ns, const uint64_t *callers,
		       bool stacks)
{
	const struct eta_spool_header header = { .kind = ETA_SPOOL_USER,
						 .pid = pid,
						 .tid = pid,
						 .start_ns = start_ns,
						 .host = "here",
						 .exe = "/bin/app" };
	struct spool spool;
	char name[64];

	snprintf(name, sizeof(name), "user.%u.%u.%llu", pid, pid, (unsigned long long)start_ns);
	maker_file(&spool, dir, name, &header);
	for (uint64_t at = start_ns; *callers; callers++, at += 10)
		maker_user_op(&spool, (struct eta_user_op){
					      .head = { .time_ns = at,
							.end_ns = at + 5,
							.id = NAME_WRITE,
							.flags = stacks ? ETA_USER_STACK : 0 },
					      .offset = ETA_OFFSET_UNKNOWN,
					      .caller = *callers });
	spool_close(&spool);
}

/* "caller[:frame,frame]" of each call of LOCATION, in TEXT. */
static void callers_of(struct eta_trace *trace, uint32_t location, char *text, size_t size)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	size_t used = 0;
	ssize_t n;

	text[0] = '\0';
	assert_int_equal(eta_cursor_open(trace, location, &cursor), 0);
	while ((n = eta_cursor_read(cursor, &batch)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			const struct eta_event *e = &batch[i];

			if (e->kind != ETA_ENTER)
				continue;
			used += (size_t)snprintf(
				text + used, size - used, "%s%llx", used ? " " : "",
				(unsigned long long)(e->has & ETA_HAS_CALLER ? e->caller : 0));
			for (uint32_t f = 0;
			     e->has & ETA_HAS_STACK && f < defs->stacks[e->stack].n_frames; f++)
				used += (size_t)snprintf(
					text + used, size - used, "%c%llx", f ? ',' : ':',
					(unsigned long long)defs->stacks[e->stack].frames[f]);
		}
	}
	assert_int_equal(n, 0);
	eta_cursor_close(cursor);
}

static void expect_calls(struct eta_trace *trace, uint32_t location, const char *expected)
{
	char text[512];

	callers_of(trace, location, text, sizeof(text));
	assert_string_equal(text, expected);
}

/* A parent, its forked child with a module more, and a program that the child then exec'ed. */
static void make_family(const char *dir)
{
	static const uint64_t ids[] = { 1, 2, 1, 0 }, one[] = { 1, 0 }, plain[] = { 0x1010, 0 };
	struct spool spool;

	make_process(&spool, dir, 7, 1, 100, 0);
	make_module(&spool, 100, 0x1000, "/bin/app", 3, 8);
	make_stack(&spool, 1, 3, 0x1111);
	make_stack(&spool, 2, 1, 0x1999);
	spool_close(&spool);
	make_calls(dir, 7, 110, ids, true);
	make_process(&spool, dir, 8, 7, 200, ETA_SPOOL_FORKED);
	make_module(&spool, 220, 0x5000, "/lib/late", 3, 9);
	make_stack(&spool, 1, 2, 0x5001);
	spool_close(&spool);
	make_calls(dir, 8, 210, one, true);
	make_process(&spool, dir, 8, 7, 300, 0);
	make_module(&spool, 300, 0x1000, "/bin/other", 0, 0);
	make_module(&spool, 300, 0x1000, "/bin/other", 3, 10);
	spool_close(&spool);
	make_calls(dir, 8, 310, plain, false);
}

static const char *module_at(struct eta_trace *trace, uint32_t pid, uint64_t address,
			     uint64_t time_ns)
{
	const struct eta_defs *defs = eta_trace_defs(trace);

	for (uint32_t p = 0; p < defs->n_processes; p++) {
		uint32_t m;

		if (defs->processes[p].pid != pid)
			continue;
		m = eta_find_module(defs, p, address, time_ns);
		return m == ETA_NONE ? "" : defs->modules[m].path;
	}
	return "no process";
}

static void expect_family(struct eta_trace *trace)
{
	const struct eta_defs *defs = eta_trace_defs(trace);

	assert_string_equal(module_at(trace, 7, 0x1000, 150), "/bin/app");
	assert_string_equal(module_at(trace, 7, 0x1fff, 150), "/bin/app");
	assert_string_equal(module_at(trace, 7, 0x2000, 150), "");
	assert_string_equal(module_at(trace, 7, 0xfff, 150), "");
	/* a time before it was met: there is no other */
	assert_string_equal(module_at(trace, 7, 0x1000, 50), "/bin/app");
	assert_string_equal(module_at(trace, 7, 0x5000, 250), "");
	/* the child of a fork has its parent's, and its own, until it is another program */
	assert_string_equal(module_at(trace, 8, 0x1000, 250), "/bin/app");
	assert_string_equal(module_at(trace, 8, 0x5000, 250), "/lib/late");
	assert_string_equal(module_at(trace, 8, 0x1000, 310), "/bin/other");
	for (uint32_t i = 0; i < defs->n_modules; i++) {
		const struct eta_module *m = &defs->modules[i];

		assert_true(m->program);
		assert_int_equal(m->end - m->start, 0x1000);
		assert_int_equal(m->start - m->bias, 0x100);
		assert_string_equal(m->build_id, *m->path ? ID_TEXT : "");
	}
}

#define PARENT_CALLS "1111:1111,2222,3333 1999:1999 1111:1111,2222,3333"
#define CHILD_CALLS "5001:5001,2222"

static void addresses_reach_an_archive(void **state)
{
	char dir[] = DIR_TEMPLATE, out[] = DIR_TEMPLATE, anchor[64];
	struct eta_trace *trace, *merged, *inputs[2];
	struct eta_counts counts;

	(void)state;
	maker_begin(dir);
	maker_begin(out);
	make_family(dir);
	assert_int_equal(eta_open(dir, NULL, &trace), 0);
	expect_family(trace);
	expect_calls(trace, 0, PARENT_CALLS);
	expect_calls(trace, 1, CHILD_CALLS);
	expect_calls(trace, 2, "1010");
	snprintf(anchor, sizeof(anchor), "%s/a.otf2", out);
	assert_int_equal(eta_write_otf2(trace, anchor, NULL, &counts), 0);
	eta_close(trace);
	assert_int_equal(eta_open(anchor, NULL, &trace), 0);
	expect_family(trace);
	expect_calls(trace, 0, PARENT_CALLS);
	expect_calls(trace, 1, CHILD_CALLS);
	eta_trace_counts(trace, &counts);
	assert_int_equal(counts.bad, 0);
	/* the stacks of the second input stand behind those of the first */
	inputs[0] = trace;
	maker_end(dir);
	strcpy(dir, DIR_TEMPLATE);
	maker_begin(dir);
	{
		static const uint64_t one[] = { 1, 0 };
		struct spool spool;

		make_process(&spool, dir, 9, 1, 100, 0);
		make_module(&spool, 100, 0x9000, "/bin/third", 3, 10);
		make_stack(&spool, 1, 1, 0x9001);
		spool_close(&spool);
		make_calls(dir, 9, 400, one, true);
	}
	assert_int_equal(eta_open(dir, NULL, &inputs[1]), 0);
	assert_int_equal(eta_merge(inputs, 2, &merged), 0);
	expect_family(merged);
	assert_string_equal(module_at(merged, 9, 0x9001, 400), "/bin/third");
	expect_calls(merged, 0, PARENT_CALLS);
	expect_calls(merged, eta_trace_defs(merged)->n_locations - 1, "9001:9001");
	eta_close(merged);
	maker_end(dir);
	assert_int_equal(nftw(out, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

static void damage_is_counted(void **state)
{
	static const struct {
		const char *what;
		uint16_t ids, paths; /* of a module, 0: none */
		uint32_t id, frames; /* of a stack, 0: none */
		uint64_t bad;
	} cases[] = {
		{ "build id too long", 65, 1, 0, 0, 1 },
		{ "build id past the record", 60, 1, 0, 0, 1 },
		{ "path past the record", 3, 200, 0, 0, 1 },
		{ "path too long", 3, 65535, 0, 0, 1 },
		{ "stack without frames", 0, 0, 1, 0, 1 },
		{ "frames past the record", 0, 0, 1, 5, 1 },
		{ "very many frames", 0, 0, 1, UINT32_MAX, 1 },
		{ "id out of order", 0, 0, 3, 1, 1 },
		{ "id 0", 0, 0, 0, 1, 1 },
	};
	/* no stack has these ids */
	static const uint64_t wrong[] = { 7, UINT64_MAX, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char dir[] = DIR_TEMPLATE;
		struct eta_trace *trace;
		struct eta_counts counts;
		struct spool spool;

		maker_begin(dir);
		make_process(&spool, dir, 7, 1, 100, 0);
		if (cases[i].paths)
			make_module(&spool, 100, 0x1000, "/", cases[i].ids, cases[i].paths);
		else
			make_stack(&spool, cases[i].id, cases[i].frames, 0x1111);
		spool_close(&spool);
		make_calls(dir, 7, 110, wrong, true);
		assert_int_equal(eta_open(dir, NULL, &trace), 0);
		eta_trace_counts(trace, &counts);
		if (counts.bad != cases[i].bad)
			fail_msg("%s: %llu bad", cases[i].what, (unsigned long long)counts.bad);
		/* the calls stay, their callers are unknown, which counts */
		expect_calls(trace, 0, "0 0");
		eta_trace_counts(trace, &counts);
		assert_int_equal(counts.bad, cases[i].bad + 2);
		eta_close(trace);
		maker_end(dir);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_reach_an_archive),
		cmocka_unit_test(damage_is_counted),
	};

	eta_set_message_fn(ignore, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

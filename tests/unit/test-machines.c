/* Merging what was seen from inside of containers, and on several machines. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/format/record.h"
#include "events.h"
#include "memory-trace.h"

#define NS 4026532177u
#define OTHER_NS 4026532178u
#define TICK_NS 10000000ull

/* A thread as one input has it. Its region is "u0", "u1", ... of the inside, "vfs:k0", ... outside.
 */
struct seen {
	int input;
	const char *host, *boot;
	uint32_t pid_ns, ns_pid, pid;
	uint32_t ns_tid, tid;
	uint64_t process_start, start; /* in ticks */
	int expected;		       /* the same number: the same thread of the result */
};

struct machines_case {
	const char *name;
	struct seen seen[10];
};

/* Of machine "m", whose container calls itself HOST: with the numbers inside alone, or with both.
 */
#define INSIDE(input, host, ns, pid, tid, process_start, start, expected)                          \
	{                                                                                          \
		input, host, "b", ns, pid, pid, tid, tid, process_start, start, expected           \
	}
#define OUTSIDE(input, ns, ns_pid, pid, ns_tid, tid, process_start, start, expected)               \
	{                                                                                          \
		input, "m", "b", ns, ns_pid, pid, ns_tid, tid, process_start, start, expected      \
	}
#define FIRST_NS ETA_FIRST_PID_NS

static const struct machines_case cases[] = {
	{ "threads of a container",
	  { INSIDE(0, "c", NS, 1, 1, 99, 100, 0), INSIDE(0, "c", NS, 1, 7, 99, 120, 1),
	    OUTSIDE(1, NS, 1, 500, 1, 500, 99, 99, 0),
	    OUTSIDE(1, NS, 1, 500, 7, 507, 99, 119, 1) } },
	{ "two containers with equal numbers",
	  { INSIDE(0, "m", NS, 1, 1, 99, 100, 0), INSIDE(0, "m", OTHER_NS, 1, 1, 99, 100, 1),
	    OUTSIDE(1, NS, 1, 500, 1, 500, 99, 99, 0),
	    OUTSIDE(1, OTHER_NS, 1, 600, 1, 600, 99, 99, 1) } },
	{ "a namespace's number is used again when it has ended",
	  { INSIDE(0, "m", NS, 1, 1, 99, 100, 0), INSIDE(0, "m", NS, 1, 1, 200, 201, 1),
	    OUTSIDE(1, NS, 1, 500, 1, 500, 99, 99, 0),
	    OUTSIDE(1, NS, 1, 600, 1, 600, 200, 200, 1) } },
	{ "a tid is used again inside",
	  { INSIDE(0, "m", NS, 1, 9, 99, 110, 0), INSIDE(0, "m", NS, 1, 9, 99, 210, 1),
	    OUTSIDE(1, NS, 1, 500, 9, 509, 99, 109, 0),
	    OUTSIDE(1, NS, 1, 500, 9, 520, 99, 209, 1) } },
	{ "the number inside is another process' outside",
	  { INSIDE(0, "m", NS, 5, 5, 99, 100, 0), OUTSIDE(0, FIRST_NS, 5, 5, 5, 5, 1, 2, 1),
	    OUTSIDE(1, FIRST_NS, 5, 5, 5, 5, 1, 1, 1),
	    OUTSIDE(1, NS, 5, 500, 5, 500, 99, 99, 0) } },
	{ "a thread that only the inside knows is nobody's",
	  { INSIDE(0, "m", NS, 1, 507, 99, 100, 0), OUTSIDE(1, NS, 1, 500, 7, 507, 99, 99, 1) } },
	{ "two containers, seen from the inside alone",
	  { INSIDE(0, "m", NS, 1, 1, 99, 100, 0), INSIDE(1, "m", OTHER_NS, 1, 1, 99, 100, 1) } },
	{ "one after the other, seen from the inside alone",
	  { INSIDE(0, "m", NS, 1, 1, 99, 100, 0), INSIDE(1, "m", NS, 1, 1, 200, 201, 1) } },
	{ "one container in two traces of the inside",
	  { INSIDE(0, "m", NS, 1, 1, 99, 100, 0), INSIDE(1, "m", NS, 1, 1, 99, 100, 0) } },
	{ "two machines of one name",
	  { OUTSIDE(0, FIRST_NS, 5, 5, 5, 5, 1, 2, 0),
	    { 1, "m", "other", FIRST_NS, 5, 5, 5, 5, 1, 2, 1 } } },
	{ "a machine under two names",
	  { OUTSIDE(0, FIRST_NS, 5, 5, 5, 5, 1, 2, 0),
	    { 1, "c", "b", FIRST_NS, 5, 5, 5, 5, 1, 1, 0 } } },
	{ "an input that knows no namespaces counts as it does",
	  { { 0, "m", "", 0, 0, 5, 0, 5, 0, 2, 0 }, OUTSIDE(1, FIRST_NS, 5, 5, 5, 5, 1, 1, 0) } },
};

static bool is_outside(const struct seen *s)
{
	return s->pid != s->ns_pid || s->pid_ns == ETA_FIRST_PID_NS;
}

static uint32_t process_of(struct eta_trace *trace, const struct seen *s)
{
	const struct eta_process process = {
		.name = is_outside(s) ? "comm" : "program",
		.host = s->host,
		.boot = s->boot,
		.pid = s->pid,
		.ns_pid = s->ns_pid,
		.pid_ns = s->pid_ns,
		.start_ns = s->process_start * TICK_NS,
	};

	for (uint32_t p = 0; p < trace->defs.n_processes; p++)
		if (trace->defs.processes[p].pid == s->pid &&
		    trace->defs.processes[p].pid_ns == s->pid_ns &&
		    trace->defs.processes[p].start_ns == process.start_ns)
			return p;
	return eta_defs_process(trace, &process);
}

static void add_thread(struct eta_trace *trace, const struct seen *s, int index)
{
	const char *kind = s->input == 0 ? "u" : "vfs:k";
	uint64_t at = s->start * TICK_NS + 1;
	char name[32], region[32];
	uint32_t location;

	snprintf(name, sizeof(name), "t tid %u", s->tid);
	location = eta_defs_location(trace, &(struct eta_location){
						    .id = trace->defs.n_locations,
						    .name = name,
						    .process = process_of(trace, s),
						    .tid = s->tid,
						    .ns_tid = s->ns_tid,
						    .start_ns = s->start * TICK_NS,
					    });
	snprintf(region, sizeof(region), "%s%d", kind, index);
	memory_enter(trace, location, at, region);
	memory_leave(trace, location, at + 1, region);
}

/* The location of the result that has the events of thread number INDEX of the case. */
static uint32_t location_of(struct eta_trace *merged, const struct seen *s, int index)
{
	char wanted[32], text[512];

	snprintf(wanted, sizeof(wanted), "+%s%d@", s->input == 0 ? "u" : "vfs:k", index);
	for (uint32_t l = 0; l < merged->defs.n_locations; l++) {
		assert_int_equal(events_print(merged, l, text, sizeof(text)), 0);
		if (strstr(text, wanted))
			return l;
	}
	fail_msg("%s is nowhere", wanted);
	return ETA_NONE;
}

/* FIRST: the input that is given first. */
static void check_case(const struct machines_case *c, int first)
{
	struct eta_trace *in[2] = { memory_trace_new("a"), memory_trace_new("b") }, *merged;
	uint32_t found[10];
	int n = 0;

	for (; n < 10 && c->seen[n].host; n++)
		add_thread(in[c->seen[n].input ^ first], &c->seen[n], n);
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	for (int i = 0; i < n; i++)
		found[i] = location_of(merged, &c->seen[i], i);
	for (int i = 0; i < n; i++) {
		const struct eta_location *l = &merged->defs.locations[found[i]];

		for (int k = 0; k < n; k++)
			if ((found[i] == found[k]) != (c->seen[i].expected == c->seen[k].expected))
				fail_msg("%s: threads %d and %d, input %d first", c->name, i, k,
					 first);
		/* numbers and host as the outside has them, the others beside */
		if (!is_outside(&c->seen[i]))
			continue;
		assert_int_equal(l->tid, c->seen[i].tid);
		assert_int_equal(merged->defs.processes[l->process].pid, c->seen[i].pid);
		if (c->seen[i].pid_ns)
			assert_int_equal(merged->defs.processes[l->process].ns_pid,
					 c->seen[i].ns_pid);
		if (c->seen[i].pid_ns != ETA_FIRST_PID_NS)
			assert_string_equal(merged->defs.processes[l->process].host,
					    c->seen[i].host);
	}
	eta_close(merged);
}

static void threads_are_told_by_machine_and_namespace(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int first = 0; first < 2; first++)
			check_case(&cases[i], first);
}

/* A single input keeps its numbers. */
static void alone_the_numbers_inside_stay(void **state)
{
	static const struct seen seen[] = {
		INSIDE(0, "m", NS, 1, 7, 9, 10, 0),
		INSIDE(0, "m", OTHER_NS, 1, 7, 9, 10, 1),
	};
	struct eta_trace *in = memory_trace_new("a"), *merged;

	(void)state;
	for (int i = 0; i < 2; i++)
		add_thread(in, &seen[i], i);
	assert_int_equal(eta_merge(&in, 1, &merged), 0);
	for (int i = 0; i < 2; i++) {
		uint32_t l = location_of(merged, &seen[i], i);

		assert_int_equal(l, i);
		assert_int_equal(merged->defs.locations[l].tid, 7);
		assert_int_equal(merged->defs.processes[merged->defs.locations[l].process].pid, 1);
	}
	eta_close(merged);
}

/* Whom a thread waits for, by its number inside, becomes who that is outside. */
static void who_is_told_from_the_outside(void **state)
{
	static const struct seen user = INSIDE(0, "m", NS, 1, 7, 9, 10, 0);
	static const struct seen kernel[] = {
		OUTSIDE(1, NS, 1, 500, 7, 507, 9, 9, 0),
		OUTSIDE(1, NS, 1, 500, 8, 508, 9, 9, 1),
	};
	static const uint64_t who[][2] = { { 8, 508 }, { 7, 507 }, { 507, 0 } };
	struct eta_trace *in[2] = { memory_trace_new("a"), memory_trace_new("b") }, *merged;
	const struct eta_event *batch;
	struct eta_cursor *cursor;
	uint32_t location;
	int n = 0;

	(void)state;
	add_thread(in[0], &user, 0);
	for (int i = 0; i < 2; i++)
		add_thread(in[1], &kernel[i], i);
	for (int i = 0; i < 3; i++) {
		uint64_t at = (20 + (uint64_t)i) * TICK_NS;

		memory_event(in[0], 0,
			     (struct eta_event){ .time_ns = at,
						 .kind = ETA_ENTER,
						 .region = memory_region(in[0], "user:stream lock"),
						 .has = ETA_HAS_WHO,
						 .who = who[i][0] });
		memory_leave(in[0], 0, at + 1, "user:stream lock");
	}
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	location = location_of(merged, &user, 0);
	assert_int_equal(merged->defs.locations[location].tid, 507);
	assert_int_equal(merged->defs.locations[location].ns_tid, 7);
	assert_int_equal(eta_cursor_open(merged, location, &cursor), 0);
	for (ssize_t got; (got = eta_cursor_read(cursor, &batch)) > 0;)
		for (ssize_t i = 0; i < got; i++)
			if (batch[i].has & ETA_HAS_WHO)
				assert_int_equal(batch[i].who, who[n++][1]);
	assert_int_equal(n, 3);
	eta_cursor_close(cursor);
	eta_close(merged);
}

/* The same file and the same device, on HOST (boot BOOT). */
static struct eta_trace *on_host(const char *host, const char *boot, uint32_t pid)
{
	struct eta_trace *trace = memory_trace_new(host);
	uint32_t p = eta_defs_process(
		trace,
		&(struct eta_process){ .name = "app", .host = host, .boot = boot, .pid = pid });

	eta_defs_location(trace, &(struct eta_location){
					 .id = 0, .name = "app tid 1", .process = p, .tid = pid });
	eta_defs_location(trace, &(struct eta_location){ .id = 1,
							 .name = "sda",
							 .kind = ETA_LOCATION_DEVICE,
							 .process = ETA_NONE,
							 .dev = 8 << 20,
							 .host = host });
	eta_defs_file(trace, &(struct eta_file){
				     .path = "/f", .dev = 8 << 20, .inode = 12, .host = host });
	eta_defs_handle(trace, &(struct eta_handle){ .name = "/f", .file = 0 });
	eta_defs_handle(trace,
			&(struct eta_handle){
				.name = "sda", .file = ETA_NONE, .device = 8 << 20, .host = host });
	return trace;
}

static uint32_t n_devices(const struct eta_trace *trace)
{
	uint32_t n = 0;

	for (uint32_t l = 0; l < trace->defs.n_locations; l++)
		n += trace->defs.locations[l].kind == ETA_LOCATION_DEVICE;
	return n;
}

static void equal_devices_and_files_of_two_machines_are_two(void **state)
{
	static const struct {
		const char *host, *boot;
		uint32_t machines;
		const char *name; /* of the other one in the result */
	} others[] = {
		{ "b", "boot b", 2, "b" },     /* another machine */
		{ "a", "boot b", 2, "a (2)" }, /* of the same name */
		{ "b", "", 2, "b" },
		{ "a", "boot a", 1, "a" },
		{ "container", "boot a", 1, "container" },
		{ "", "", 1, "" }, /* whose is not known */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct eta_trace *in[2] = { on_host("a", "boot a", 7),
					    on_host(others[i].host, others[i].boot, 8) };
		struct eta_trace *merged;

		assert_int_equal(eta_merge(in, 2, &merged), 0);
		assert_int_equal(n_devices(merged), others[i].machines);
		assert_int_equal(merged->defs.n_files, others[i].machines);
		/* each opening, and each device */
		assert_int_equal(merged->defs.n_handles, 2 + others[i].machines);
		assert_int_equal(eta_machine(&merged->defs, "a"), 0);
		assert_int_equal(eta_machine(&merged->defs, others[i].name) != 0,
				 others[i].machines == 2);
		for (uint32_t h = 0; others[i].machines == 2 && h < merged->defs.n_handles; h++)
			if (merged->defs.handles[h].device)
				assert_string_equal(merged->defs.handles[h].host,
						    h < 2 ? "a" : others[i].name);
		eta_close(merged);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_told_by_machine_and_namespace),
		cmocka_unit_test(alone_the_numbers_inside_stay),
		cmocka_unit_test(who_is_told_from_the_outside),
		cmocka_unit_test(equal_devices_and_files_of_two_machines_are_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

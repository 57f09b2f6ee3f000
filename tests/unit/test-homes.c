/* Logs that name no machine, merged with a guest and its host: they are of whom has their threads.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "memory-trace.h"

enum { GUEST, HOST, LOG, N_INPUTS };

/* What the wall clock is ahead of the two machines' own. The host began long before the guest. */
enum { GUEST_AHEAD = 900000, HOST_AHEAD = 400000, CALL_AT = 500000, VCPU = 77, IO = 78 };

static const struct one_case {
	const char *name, *source;
	uint32_t pid, tids[2];		/* of the log, 0: none */
	uint32_t guest_tid, host_tid;	/* traced there */
	const char *guest_vm, *host_vm; /* NULL: no virtual machine is known */
	int home;
} one_cases[] = {
	{ "threads", "strace", 70, { 71, 0 }, 5, 71, NULL, NULL, HOST },
	{ "the guest's", "strace", 1, { 5, 0 }, 5, 71, NULL, NULL, GUEST },
	{ "threads without a process", "qemu", 0, { 71, 0 }, 5, 71, NULL, NULL, HOST },
	{ "a number that both have, and another",
	  "qemu",
	  0,
	  { 71, 72 },
	  71,
	  72,
	  NULL,
	  "70={\"vcpus\":[[0,72]],\"iothreads\":[]}",
	  HOST },
	{ "a vCPU",
	  "qemu",
	  0,
	  { VCPU, 0 },
	  VCPU,
	  71,
	  NULL,
	  "70={\"vcpus\":[[0,77]],\"iothreads\":[]}",
	  HOST },
	{ "an I/O thread of a guest's guest",
	  "qemu",
	  0,
	  { IO, 0 },
	  5,
	  IO,
	  "70={\"vcpus\":[],\"iothreads\":[[\"io0\",78]]}",
	  "70={\"vcpus\":[[0,77]],\"iothreads\":[]}",
	  GUEST },
	{ "QEMU's main thread", "qemu", 0, { 70, 0 }, 70, 71, NULL, "70={}", HOST },
	{ "no numbers, but one has machines", "qemu", 0, { 0, 0 }, 5, 71, NULL, "70={}", HOST },
	{ "no numbers, and both have some", "qemu", 0, { 0, 0 }, 5, 71, "9={}", "70={}", N_INPUTS },
	{ "none of QEMU's", "strace", 0, { 0, 0 }, 5, 71, NULL, "70={}", N_INPUTS },
	{ "both have it", "strace", 0, { 71, 0 }, 71, 71, NULL, NULL, N_INPUTS },
	{ "damaged", "qemu", 0, { VCPU, 0 }, 5, 71, NULL, "70={\"vcpus\":[[0,7", N_INPUTS - 2 },
};

static unsigned warnings;

static void count_warnings(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	warnings += severity == ETA_WARNING && strstr(text, "does not say which of the machines");
}

static void add_thread(struct eta_trace *trace, const char *host, uint32_t pid, uint32_t tid)
{
	struct eta_location location = { .id = trace->defs.n_locations,
					 .name = "x tid 1",
					 .kind = ETA_LOCATION_THREAD,
					 .tid = tid };
	const struct eta_process process = { .name = "x", .host = host, .boot = host, .pid = pid };

	if (!trace->defs.n_processes)
		eta_defs_process(trace, &process);
	assert_int_not_equal(eta_defs_location(trace, &location), ETA_NONE);
	memory_enter(trace, (uint32_t)location.id, CALL_AT, "vfs:w");
	memory_leave(trace, (uint32_t)location.id, CALL_AT + 10, "vfs:w");
}

static struct eta_trace *machine(const char *host, uint32_t tid, int ahead, const char *vm)
{
	struct eta_trace *trace = memory_trace_new(host);
	char offset[32], name[32] = "";
	const char *value = vm ? strchr(vm, '=') : NULL;

	snprintf(offset, sizeof(offset), "%d", ahead);
	eta_defs_property(trace, "SCI::CLOCK", "CLOCK_MONOTONIC");
	eta_defs_property(trace, "SCI::REALTIME_OFFSET", offset);
	if (value) {
		snprintf(name, sizeof(name), "SCI::VM_%.*s", (int)(value - vm), vm);
		eta_defs_property(trace, name, value + 1);
		snprintf(name, sizeof(name), "SCI::VM_%.*s_DISK_0", (int)(value - vm), vm);
		eta_defs_property(trace, name, "{}");
	}
	add_thread(trace, host, tid == IO || tid == 71 || tid == 72 ? 70 : 1, tid);
	return trace;
}

static struct eta_trace *log_of(const struct one_case *c, struct eta_source_ops *ops)
{
	struct eta_trace *trace = memory_trace_new("log");

	*ops = *trace->ops;
	ops->name = c->source;
	trace->ops = ops;
	eta_defs_property(trace, "SCI::CLOCK", "CLOCK_REALTIME");
	for (int i = 0; i < 2 && (i == 0 || c->tids[i]); i++)
		add_thread(trace, "", c->pid, c->tids[i]);
	return trace;
}

/* Where and when the calls of the log are in the result, which has the host's clock. */
static void check_result(const struct one_case *c, struct eta_trace *merged)
{
	const struct eta_defs *defs = eta_trace_defs(merged);
	static const char *const hosts[] = { "guest", "host" };
	unsigned found = 0;

	for (uint32_t p = 0; p < defs->n_processes; p++)
		assert_string_not_equal(c->home < N_INPUTS ? defs->processes[p].host : "x", "");
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		const char *host = defs->processes[defs->locations[l].process].host;

		assert_int_equal(eta_cursor_open(merged, l, &cursor), 0);
		for (ssize_t n; (n = eta_cursor_read(cursor, &batch)) > 0;)
			for (ssize_t i = 0; i < n; i++) {
				if (batch[i].kind != ETA_ENTER ||
				    batch[i].time_ns != CALL_AT - HOST_AHEAD)
					continue;
				found++;
				assert_string_equal(host, hosts[c->home]);
			}
		eta_cursor_close(cursor);
	}
	if (c->home == HOST)
		assert_int_equal(found, 1 + (c->tids[1] != 0));
}

static void run_case(const struct one_case *c, const int order[N_INPUTS])
{
	/* the guest's clock is known, and is the host's to the nanosecond */
	const struct eta_clock_map same = eta_clock_offset(0, 0);
	const struct eta_clock_map *clocks[N_INPUTS] = { NULL };
	struct eta_trace *made[N_INPUTS], *in[N_INPUTS], *merged;
	struct eta_source_ops ops;

	made[GUEST] = machine("guest", c->guest_tid, GUEST_AHEAD, c->guest_vm);
	made[HOST] = machine("host", c->host_tid, HOST_AHEAD, c->host_vm);
	made[LOG] = log_of(c, &ops);
	for (int i = 0; i < N_INPUTS; i++) {
		in[i] = made[order[i]];
		if (order[i] == GUEST)
			clocks[i] = &same;
	}
	warnings = 0;
	assert_int_equal(eta_merge_with(in, N_INPUTS,
					&(struct eta_merge_options){ .clocks = clocks }, &merged),
			 0);
	assert_int_equal(warnings, c->home == N_INPUTS);
	if (c->home == HOST)
		check_result(c, merged);
	else if (c->home == GUEST)
		for (uint32_t p = 0; p < eta_trace_defs(merged)->n_processes; p++)
			assert_string_not_equal(eta_trace_defs(merged)->processes[p].host, "");
	eta_close(merged);
}

static void logs_are_of_whom_has_their_threads(void **state)
{
	static const int orders[][N_INPUTS] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
						{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	(void)state;
	eta_set_message_fn(count_warnings, NULL);
	for (size_t c = 0; c < sizeof(one_cases) / sizeof(*one_cases); c++)
		for (size_t o = 0; o < sizeof(orders) / sizeof(*orders); o++)
			run_case(&one_cases[c], orders[o]);
	eta_set_message_fn(NULL, NULL);
}

/* With one machine alone nothing is to be found out, and nothing said. */
static void one_machine_needs_no_signs(void **state)
{
	struct eta_trace *in[2], *merged;
	struct eta_source_ops ops;

	(void)state;
	in[0] = machine("host", 71, HOST_AHEAD, NULL);
	in[1] = log_of(&one_cases[8], &ops);
	warnings = 0;
	eta_set_message_fn(count_warnings, NULL);
	assert_int_equal(eta_merge(in, 2, &merged), 0);
	eta_set_message_fn(NULL, NULL);
	assert_int_equal(warnings, 0);
	eta_close(merged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logs_are_of_whom_has_their_threads),
		cmocka_unit_test(one_machine_needs_no_signs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

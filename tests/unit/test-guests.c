/* Guests and their hosts merged: which virtual machine each is, and where its times go. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory-trace.h"

enum { DEV = 254 << 20, IMAGE_DEV = 8 << 20, IMAGE = 77, OTHER_IMAGE = 78, N = 40 };
/* What a host's clock is ahead of its guest's. */
enum { AHEAD_NS = 700000000 };

static char said[4096];
static unsigned warnings, errors;

static void listen(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	warnings += severity == ETA_WARNING;
	errors += severity == ETA_ERROR;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", text);
}

/* By the guest's clock: every millisecond or so, none like another. */
static uint64_t begin_of(unsigned i)
{
	return 1000000000 + i * 1000000ULL + i * i % 7 * 50000;
}

/* Machines of one name differ by this. */
static unsigned boot;

static struct eta_trace *machine(const char *host)
{
	struct eta_trace *trace = memory_trace_new(host);

	eta_defs_property(trace, "SCI::CLOCK", "CLOCK_MONOTONIC");
	eta_defs_property(trace, "SCI::REALTIME_OFFSET", "0");
	return trace;
}

/* A thread of process PID on HOST. */
static uint32_t add_thread(struct eta_trace *trace, const char *host, uint32_t pid)
{
	char id[64];
	const struct eta_process process = { .name = "x", .host = host, .boot = id, .pid = pid };
	struct eta_location location = { .id = trace->defs.n_locations,
					 .name = "x tid 1",
					 .kind = ETA_LOCATION_THREAD,
					 .tid = pid + 1 };

	snprintf(id, sizeof(id), "%s %u", host, boot);
	location.process = eta_defs_process(trace, &process);
	assert_int_not_equal(eta_defs_location(trace, &location), ETA_NONE);
	return (uint32_t)location.id;
}

/* N requests of a guest on its disk. */
static void add_guest(struct eta_trace *trace, const char *host, unsigned n)
{
	const struct eta_location device = { .id = 0,
					     .name = "vda",
					     .kind = ETA_LOCATION_DEVICE,
					     .process = ETA_NONE,
					     .dev = DEV,
					     .host = host };
	const struct eta_handle handle = {
		.name = "vda", .file = ETA_NONE, .device = DEV, .host = host
	};
	uint32_t h = eta_defs_handle(trace, &handle), thread;

	assert_int_equal(eta_defs_location(trace, &device), 0);
	thread = add_thread(trace, host, 1);
	for (unsigned i = 0; i < n; i++)
		memory_event(trace, thread,
			     (struct eta_event){ .time_ns = begin_of(i),
						 .kind = ETA_IO_BEGIN,
						 .mode = i % 2 ? ETA_IO_WRITE : ETA_IO_READ,
						 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE |
							ETA_HAS_OFFSET | ETA_HAS_END,
						 .handle = h,
						 .size = 4096,
						 .offset = (int64_t)(i * 11 % N) * 8192,
						 .end_ns = begin_of(i) + 300000,
						 .match = i });
}

/* A machine's requests come later by this, some by a multiple of it. */
static uint64_t late_ns;

/* What QEMU, process PID on HOST, did for N of them on its image INODE. */
static void add_host(struct eta_trace *trace, const char *host, uint32_t pid, uint64_t inode,
		     const char *format, bool icount, unsigned n)
{
	uint32_t thread = add_thread(trace, host, pid);
	char name[64], text[256];

	snprintf(name, sizeof(name), "SCI::VM_%u", pid);
	snprintf(text, sizeof(text), "{\"name\":\"vm%u\",\"icount\":%s,\"vcpus\":[[0,%u]]}", pid,
		 icount ? "true" : "false", pid + 1);
	eta_defs_property(trace, name, text);
	snprintf(name, sizeof(name), "SCI::VM_%u_DISK_0", pid);
	snprintf(text, sizeof(text),
		 "{\"image\":\"/i%u\",\"dev\":%d,\"inode\":%u,\"format\":\"%s\"}", pid, IMAGE_DEV,
		 (unsigned)inode, format);
	eta_defs_property(trace, name, text);
	for (unsigned i = 0; i < n; i++) {
		struct eta_event event = {
			.time_ns = begin_of(i) + AHEAD_NS + 100000 + (1 + i * 7 % 5) * late_ns,
			.kind = ETA_ENTER,
			.has = ETA_HAS_FILE | ETA_HAS_SIZE | ETA_HAS_OFFSET,
			.region = memory_region(trace,
						i % 2 ? "vfs:sys_pwrite64" : "vfs:sys_pread64"),
			.size = 4096,
			.offset = (int64_t)(i * 11 % N) * 8192,
			.dev = IMAGE_DEV,
			.inode = inode,
		};

		memory_event(trace, thread, event);
		event.time_ns += 100000;
		event.kind = ETA_LEAVE;
		event.has = ETA_HAS_RET;
		event.ret = 4096;
		memory_event(trace, thread, event);
	}
}

static int merge(struct eta_trace **in, size_t n, const uint32_t *guests, struct eta_trace **out)
{
	int rc;

	said[0] = '\0';
	warnings = errors = 0;
	eta_set_message_fn(listen, NULL);
	rc = eta_merge_with(in, n, &(struct eta_merge_options){ .guests = guests }, out);
	eta_set_message_fn(NULL, NULL);
	return rc;
}

/* When the first request begins that a thread of HOST has made. */
static uint64_t first_request(struct eta_trace *merged, const char *host)
{
	const struct eta_defs *defs = eta_trace_defs(merged);
	uint64_t first_ns = 0;

	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_event *batch;
		struct eta_cursor *cursor;

		if (defs->locations[l].process == ETA_NONE ||
		    strcmp(defs->processes[defs->locations[l].process].host, host) != 0)
			continue;
		assert_int_equal(eta_cursor_open(merged, l, &cursor), 0);
		if (eta_cursor_read(cursor, &batch) > 0 && batch->kind == ETA_IO_BEGIN)
			first_ns = batch->time_ns;
		eta_cursor_close(cursor);
	}
	return first_ns;
}

static void is_near(uint64_t a, uint64_t b)
{
	assert_true((a > b ? a - b : b - a) <= 1000);
}

static void a_guest_is_found_in_any_order(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct eta_trace *in[2], *merged;

		in[order] = machine("guest");
		in[!order] = machine("host");
		add_guest(in[order], "guest", N);
		/* another's, which did less */
		add_host(in[!order], "host", 60, OTHER_IMAGE, "raw", false, 4);
		add_host(in[!order], "host", 50, IMAGE, "raw", false, N);
		assert_int_equal(merge(in, 2, NULL, &merged), 0);
		assert_non_null(strstr(said,
				       "guest: virtual machine vm50 (pid 50), vda is /i50; 40 "
				       "of 40 requests found, 0 pairs wrong, clock +-"));
		assert_int_equal(warnings, 0);
		is_near(first_request(merged, "guest"), begin_of(0) + AHEAD_NS);
		eta_close(merged);
	}
}

/* Two that did the same; two requests; what offsets do not lead to; a clock that is none. */
static void what_is_not_clear_is_said(void **state)
{
	static const struct {
		const char *format, *message;
		uint32_t wanted; /* of --guest */
		unsigned n, machines;
		bool icount;
		int rc;
	} list[] = {
		{ "raw", "(pid 51): --guest=1:PID says which", 0, N, 2, false, -EINVAL },
		{ "raw", "virtual machine vm51 (pid 51), vda is /i51; 40 of 40", 51, N, 2, false,
		  0 },
		{ "raw", "its clock is not known by them", 9, N, 2, false, 0 },
		{ "raw", "its clock is not known by them", 0, 2, 1, false, 0 },
		{ "qcow2", "its clock is not known by them", 0, N, 1, false, 0 },
		{ "raw", "runs with -icount", 0, N, 1, true, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++) {
		struct eta_trace *in[2] = { machine("guest"), machine("host") }, *merged;
		const uint32_t guests[2] = { list[i].wanted, 0 };

		add_guest(in[0], "guest", list[i].n);
		for (uint32_t m = 0; m < list[i].machines; m++)
			add_host(in[1], "host", 50 + m, IMAGE + m, list[i].format, list[i].icount,
				 list[i].n);
		assert_int_equal(merge(in, 2, guests, &merged), list[i].rc);
		assert_non_null(strstr(said, list[i].message));
		assert_int_equal(errors, list[i].rc != 0);
		eta_close(merged);
	}
}

/* Two guests that read the same places of their disks at the same pace, as a limit of their device
 * gives it to both. */
static void guests_that_do_the_same(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct eta_trace *in[2] = { machine("guest"), machine("host") }, *merged;

		add_guest(in[0], "guest", N);
		for (int i = 0; i < 2; i++) {
			bool is_other = i == order;

			late_ns = is_other ? 400000 : 0;
			add_host(in[1], "host", is_other ? 60 : 50, is_other ? OTHER_IMAGE : IMAGE,
				 "raw", false, N);
		}
		late_ns = 0;
		assert_int_equal(merge(in, 2, NULL, &merged), 0);
		assert_non_null(strstr(said,
				       "guest: virtual machine vm50 (pid 50), vda is /i50; 40 "
				       "of 40 requests found, 0 pairs wrong, clock +-"));
		assert_int_equal(warnings + errors, 0);
		eta_close(merged);
	}
}

/* The guest's host is a guest itself, whose requests its host has seen. */
static void guests_of_guests(void **state)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 0, 2 } };
	static const uint32_t pids[3] = { 50, 90, 0 };
	uint32_t guests[3];

	(void)state;
	for (size_t o = 0; o < sizeof(orders) / sizeof(*orders); o++) {
		struct eta_trace *made[3] = { machine("inner"), machine("outer"), machine("host") };
		struct eta_trace *in[3], *merged;

		add_guest(made[0], "inner", N);
		/* its own requests are those that it makes for itself, at the same times by its
		 * clock */
		add_guest(made[1], "outer", N);
		add_host(made[1], "outer", 50, IMAGE, "raw", false, N);
		add_host(made[2], "host", 90, IMAGE, "raw", false, N);
		for (int i = 0; i < 3; i++)
			in[i] = made[orders[o][i]];
		/* by their requests inner and outer may be either's: it is said whose each is */
		for (int i = 0; i < 3; i++)
			guests[i] = pids[orders[o][i]];
		assert_int_equal(merge(in, 3, guests, &merged), 0);
		is_near(first_request(merged, "outer"), begin_of(0) + AHEAD_NS);
		is_near(first_request(merged, "inner"), begin_of(0) + 2 * AHEAD_NS);
		eta_close(merged);
	}
}

/* A benchmark that ran twice: the host was recorded an hour later. */
static void another_run_is_not_linked(void **state)
{
	(void)state;
	for (uint32_t wanted = 0; wanted <= 50; wanted += 50) {
		struct eta_trace *in[2] = { machine("guest"), memory_trace_new("host") }, *merged;
		const uint32_t guests[2] = { wanted, 0 };

		eta_defs_property(in[1], "SCI::CLOCK", "CLOCK_MONOTONIC");
		eta_defs_property(in[1], "SCI::REALTIME_OFFSET", "3600000000000");
		add_guest(in[0], "guest", N);
		add_host(in[1], "host", 50, IMAGE, "raw", false, N);
		assert_int_equal(merge(in, 2, guests, &merged), 0);
		assert_int_equal(errors, 0);
		if (wanted) {
			assert_non_null(strstr(said, "40 of 40 requests found"));
			is_near(first_request(merged, "guest"), begin_of(0) + AHEAD_NS);
		} else {
			assert_non_null(strstr(said, "(pid 50), but by the wall clocks 3600 s "
						     "apart: taken for another run"));
			assert_null(strstr(said, "requests found"));
			is_near(first_request(merged, "guest"), begin_of(0));
		}
		eta_close(merged);
	}
}

/* Two guests that are called the same; records of one of them were lost on the host. */
static void guests_of_one_name(void **state)
{
	struct eta_trace *in[3], *merged;

	(void)state;
	boot = 0;
	in[0] = machine("debian");
	add_guest(in[0], "debian", N);
	boot = 1;
	in[1] = machine("debian");
	add_guest(in[1], "debian", N / 2);
	boot = 0;
	in[2] = machine("host");
	add_host(in[2], "host", 50, IMAGE, "raw", false, N);
	add_host(in[2], "host", 60, OTHER_IMAGE, "raw", false, N / 4);
	assert_int_equal(merge(in, 3, (const uint32_t[]){ 50, 60, 0 }, &merged), 0);
	assert_non_null(strstr(said, "vm50 (pid 50), vda is /i50; 40 of 40 requests found"));
	assert_non_null(strstr(said, "vm60 (pid 60), vda is /i60; 10 of 20 requests found"));
	assert_int_equal(errors + warnings, 0);
	eta_close(merged);
}

/* The host's clock for the guest's NS, where it runs 20 ppm faster. */
static uint64_t faster(uint64_t ns)
{
	return ns + AHEAD_NS + ns / 50000;
}

/* QEMU's thread reads the image INODE for the tracer of the guest, from NS by the guest's clock on.
 */
static void add_read(struct eta_trace *trace, uint32_t thread, uint64_t inode, uint64_t ns,
		     int64_t offset)
{
	struct eta_event event = {
		.time_ns = faster(ns) + 20000,
		.kind = ETA_ENTER,
		.has = ETA_HAS_FILE | ETA_HAS_SIZE | ETA_HAS_OFFSET,
		.region = memory_region(trace, "vfs:sys_pread64"),
		.size = 4096,
		.offset = offset,
		.dev = IMAGE_DEV,
		.inode = inode,
	};

	memory_event(trace, thread, event);
	event.time_ns += 20000;
	event.kind = ETA_LEAVE;
	event.has = ETA_HAS_RET;
	event.ret = 4096;
	memory_event(trace, thread, event);
}

/* When the guest's last call begins, a minute behind its requests, by the merged clock. */
static uint64_t last_of_merged(bool with_reads, uint64_t last_ns)
{
	struct eta_trace *in[2] = { machine("guest"), machine("host") }, *merged;
	char text[1024];
	size_t used = (size_t)snprintf(text, sizeof(text), "%u", DEV);
	uint64_t found_ns = 0;

	add_guest(in[0], "guest", N);
	memory_event(in[0], 1,
		     (struct eta_event){ .time_ns = last_ns,
					 .kind = ETA_ENTER,
					 .region = memory_region(in[0], "vfs:sys_fsync") });
	memory_leave(in[0], 1, last_ns + 1000, "vfs:sys_fsync");
	add_host(in[1], "host", 50, IMAGE, "raw", false, N);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t ns = last_ns + 1000000 + i * 100000;

		/* those of the host are there in any case */
		add_read(in[1], 0, IMAGE, ns, (int64_t)i * 4096);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 " %u:4096:%" PRIu64 ":%" PRIu64, i * 4096, ns, ns + 60000);
	}
	if (with_reads)
		eta_defs_property(in[0], "SCI::CLOCKREADS_0", text);
	assert_int_equal(merge(in, 2, NULL, &merged), 0);
	assert_non_null(strstr(said, "40 of 40 requests found"));
	for (uint32_t l = 0; l < eta_trace_defs(merged)->n_locations; l++) {
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		ssize_t n;

		assert_int_equal(eta_cursor_open(merged, l, &cursor), 0);
		while ((n = eta_cursor_read(cursor, &batch)) > 0)
			for (ssize_t i = 0; i < n; i++)
				if (batch[i].kind == ETA_ENTER &&
				    strcmp(eta_trace_defs(merged)->regions[batch[i].region].name,
					   "vfs:sys_fsync") == 0)
					found_ns = batch[i].time_ns;
		eta_cursor_close(cursor);
	}
	eta_close(merged);
	return found_ns;
}

/* The rate of a guest's clock is known from what its tracer reads at the end. */
static void reads_give_the_rate(void **state)
{
	uint64_t last_ns = 61000000000, without, with;

	(void)state;
	without = last_of_merged(false, last_ns);
	with = last_of_merged(true, last_ns);
	/* its requests all lie within 40 ms */
	assert_true(faster(last_ns) - without > 1000000);
	assert_true(with > faster(last_ns) - 100000 && with < faster(last_ns) + 100000);
}

/* The first of the 16 reads of a guest's tracer that are in its host's recording. */
static unsigned host_has_from;

/* What a guest's tracer read at BEGIN_NS and END_NS of its disk N, in its trace and in its host's.
 */
static void add_reads_of(unsigned disk, struct eta_trace *guest, struct eta_trace *host,
			 uint32_t thread, uint64_t inode, uint64_t begin_ns, uint64_t end_ns)
{
	char text[2048], name[32];
	size_t used = (size_t)snprintf(text, sizeof(text), "%u", DEV + 16 * disk);

	for (unsigned i = 0; i < 16; i++) {
		uint64_t ns = (i < 8 ? begin_ns : end_ns) + i * 100000;

		if (i >= host_has_from)
			add_read(host, thread, inode, ns, (int64_t)i * 4096);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 " %u:4096:%" PRIu64 ":%" PRIu64, i * 4096, ns, ns + 60000);
	}
	snprintf(name, sizeof(name), "SCI::CLOCKREADS_%u", disk);
	eta_defs_property(guest, name, text);
}

static void add_reads(struct eta_trace *guest, struct eta_trace *host, uint32_t thread,
		      uint64_t inode, uint64_t begin_ns, uint64_t end_ns)
{
	add_reads_of(0, guest, host, thread, inode, begin_ns, end_ns);
}

/* One with two disks, of which its tracer read the same places, one disk after the other. */
static void an_idle_guest_with_two_disks(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 2; first++) {
		struct eta_trace *in[2] = { machine("idle"), machine("host") }, *merged;
		char text[256];

		add_thread(in[0], "idle", 1);
		add_host(in[1], "host", 50, IMAGE, "raw", false, 0);
		snprintf(text, sizeof(text),
			 "{\"image\":\"/other\",\"dev\":%d,\"inode\":%d,\"format\":\"raw\"}",
			 IMAGE_DEV, OTHER_IMAGE);
		eta_defs_property(in[1], "SCI::VM_50_DISK_1", text);
		add_reads_of(first, in[0], in[1], 0, IMAGE, 2000000000, 8000000000);
		add_reads_of(!first, in[0], in[1], 0, OTHER_IMAGE, 2001000000, 8001000000);
		assert_int_equal(merge(in, 2, NULL, &merged), 0);
		assert_non_null(strstr(said, first ? "254:16 is /i50" : "254:0 is /i50"));
		assert_non_null(strstr(said, first ? "254:0 is /other" : "254:16 is /other"));
		assert_non_null(strstr(said, "0 of 0 requests found, 0 pairs wrong, clock +-"));
		assert_int_equal(warnings + errors, 0);
		eta_close(merged);
	}
}

/* Two guests, of which one does nothing: it is known by what its tracer read, if it did. */
static void an_idle_guest(void **state)
{
	(void)state;
	for (int with_reads = 0; with_reads < 2; with_reads++) {
		struct eta_trace *in[3] = { machine("busy"), machine("idle"), machine("host") };
		struct eta_trace *merged, *unused = machine("unused");

		add_guest(in[0], "busy", N);
		add_thread(in[1], "idle", 1);
		add_host(in[2], "host", 50, IMAGE, "raw", false, N);
		add_host(in[2], "host", 60, OTHER_IMAGE, "raw", false, 0);
		add_reads(in[0], in[2], 0, IMAGE, 2000000000, 8000000000);
		add_reads(with_reads ? in[1] : unused, in[2], 1, OTHER_IMAGE, 2500000000,
			  9000000000);
		assert_int_equal(merge(in, 3, NULL, &merged), 0);
		assert_non_null(strstr(said, "busy: virtual machine vm50 (pid 50), vda is /i50; "
					     "40 of 40 requests found"));
		if (with_reads)
			assert_non_null(strstr(said, "idle: virtual machine vm60 (pid 60), 254:0 "
						     "is /i60; 0 of 0 requests found, 0 pairs "
						     "wrong, clock +-"));
		else
			assert_non_null(strstr(said, "idle on idle: their times are compared by "
						     "the wall clocks"));
		assert_int_equal(warnings, !with_reads);
		assert_int_equal(errors, 0);
		eta_close(merged);
		eta_close(unused);
	}
}

/* What a guest did was over, and the begin of its recording too, when its host's began. */
static void a_host_recorded_later(void **state)
{
	struct eta_trace *in[2] = { machine("guest"), machine("host") }, *merged;

	(void)state;
	add_guest(in[0], "guest", N);
	add_host(in[1], "host", 50, IMAGE, "raw", false, 0);
	host_has_from = 8;
	add_reads(in[0], in[1], 0, IMAGE, 2000000000, 8000000000);
	host_has_from = 0;
	assert_int_equal(merge(in, 2, NULL, &merged), 0);
	assert_non_null(strstr(said, "guest: virtual machine vm50 (pid 50), 254:0 is /i50; 0 of 40 "
				     "requests found, 0 pairs wrong, clock +-"));
	assert_int_equal(warnings + errors, 0);
	eta_close(merged);
}

/* A guest that was rebooted: what it did before and behind that, by clocks that begin anew. */
static void a_guest_that_was_rebooted(void **state)
{
	struct eta_trace *in[3] = { machine("guest"), machine("guest"), machine("host") }, *merged;
	const char *first, *second;

	(void)state;
	boot = 0;
	add_guest(in[0], "guest", N / 2);
	add_host(in[2], "host", 50, IMAGE, "raw", false, N / 2);
	boot = 1;
	add_thread(in[1], "guest", 1);
	boot = 0;
	add_reads(in[1], in[2], 0, IMAGE, 3000000000, 7000000000);
	assert_int_equal(merge(in, 3, NULL, &merged), 0);
	first = strstr(said, "guest: virtual machine vm50 (pid 50), vda is /i50; 20 of 20");
	second = strstr(said, "guest: virtual machine vm50 (pid 50), 254:0 is /i50; 0 of 0");
	assert_true(first && second);
	assert_int_equal(errors + warnings, 0);
	eta_close(merged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_guest_is_found_in_any_order),
		cmocka_unit_test(what_is_not_clear_is_said),
		cmocka_unit_test(guests_that_do_the_same),
		cmocka_unit_test(guests_of_guests),
		cmocka_unit_test(another_run_is_not_linked),
		cmocka_unit_test(guests_of_one_name),
		cmocka_unit_test(reads_give_the_rate),
		cmocka_unit_test(an_idle_guest),
		cmocka_unit_test(an_idle_guest_with_two_disks),
		cmocka_unit_test(a_host_recorded_later),
		cmocka_unit_test(a_guest_that_was_rebooted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

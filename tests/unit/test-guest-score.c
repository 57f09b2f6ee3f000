/* Two guests and their host, in one score: layers, and blame that crosses machines. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "score-trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/common/machines.h"

enum { GUEST_DEV = 254 << 20, HOST_DEV = 8 << 20, IMAGE = 70, N = 60 };
/* What the host's clock is ahead of that of guest A; of B it is twice that. */
enum { AHEAD_NS = 700000000 };

/* By the guest's clock; none is like another. */
static uint64_t begin_of(unsigned i)
{
	return 3000000000 + i * 5000000ULL + i * i % 7 * 100000;
}

static struct eta_trace *machine(const char *host)
{
	struct eta_trace *trace = memory_trace_new(host);

	eta_defs_property(trace, "SCI::CLOCK", "CLOCK_MONOTONIC");
	eta_defs_property(trace, "SCI::REALTIME_OFFSET", "0");
	return trace;
}

static uint32_t thread_on(struct eta_trace *trace, const char *host, const char *name, uint32_t pid)
{
	const struct eta_process process = { .name = name, .host = host, .boot = host, .pid = pid };
	char text[64];
	struct eta_location location = { .id = trace->defs.n_locations,
					 .name = text,
					 .kind = ETA_LOCATION_THREAD,
					 .process = eta_defs_process(trace, &process),
					 .tid = pid + 1,
					 .start_ns = 1000000000 };

	snprintf(text, sizeof(text), "%s tid %u", name, pid + 1);
	return eta_defs_location(trace, &location);
}

static uint32_t device_on(struct eta_trace *trace, const char *host, const char *name, uint32_t dev)
{
	const struct eta_handle handle = {
		.name = name, .file = ETA_NONE, .device = dev, .host = host
	};
	const struct eta_location device = { .id = trace->defs.n_locations,
					     .name = name,
					     .kind = ETA_LOCATION_DEVICE,
					     .process = ETA_NONE,
					     .dev = dev,
					     .host = host };

	eta_defs_location(trace, &device);
	return eta_defs_handle(trace, &handle);
}

static void enter(struct eta_trace *t, uint32_t l, uint64_t ns, const char *region, uint32_t dev,
		  uint64_t inode, int64_t offset)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = ns,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_FILE | ETA_HAS_SIZE | ETA_HAS_OFFSET,
					 .region = memory_region(t, region),
					 .size = 4096,
					 .offset = offset,
					 .dev = dev,
					 .inode = inode });
}

static void bio(struct eta_trace *t, uint32_t l, uint64_t ns, uint64_t end_ns, uint32_t handle,
		int64_t offset, unsigned i)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = ns,
					 .kind = ETA_IO_BEGIN,
					 .mode = ETA_IO_READ,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE | ETA_HAS_OFFSET |
						ETA_HAS_END,
					 .handle = handle,
					 .size = 4096,
					 .offset = offset,
					 .end_ns = end_ns,
					 .match = i });
}

static int64_t offset_of(unsigned i, unsigned vm)
{
	return (int64_t)((i * 11 % N) * 2 + vm) * 8192;
}

/* How long the device takes for request I of guest VM: B's are long, A's are where B was before. */
static uint64_t device_ns(unsigned i, unsigned vm)
{
	return vm ? 2000000 : i % 2 ? 2100000 : 300000;
}

/* B reads at every second time of A's, a moment before. */
static bool reads(unsigned i, unsigned vm)
{
	return !vm || i % 2;
}

static uint64_t at(unsigned i, unsigned vm)
{
	return begin_of(i) - (vm ? 150000 + AHEAD_NS : 0);
}

static struct eta_trace *guest(const char *name, unsigned vm)
{
	struct eta_trace *t = machine(name);
	uint32_t h = device_on(t, name, "vda", GUEST_DEV), l = thread_on(t, name, "reader", 7);

	for (unsigned i = 0; i < N; i++) {
		uint64_t ns = at(i, vm), end = ns + 200000 + device_ns(i, vm);

		if (!reads(i, vm))
			continue;
		enter(t, l, ns - 10000, "vfs:sys_pread64", 9, 5, offset_of(i, vm));
		bio(t, l, ns, end, h, offset_of(i, vm), i);
		memory_enter(t, l, ns + 20000, "block:device");
		memory_leave(t, l, end + 3000, "block:device");
		memory_leave(t, l, end + 10000, "vfs:sys_pread64");
	}
	return t;
}

static void serve(struct eta_trace *t, uint32_t l, uint32_t handle, unsigned vm)
{
	for (unsigned i = 0; i < N; i++) {
		uint64_t ns = at(i, vm) + AHEAD_NS * (1 + vm) + 100000;

		if (!reads(i, vm))
			continue;
		enter(t, l, ns, "vfs:sys_pread64", HOST_DEV + 1, IMAGE + vm, offset_of(i, vm));
		bio(t, l, ns + 5000, ns + 5000 + device_ns(i, vm), handle, offset_of(i, vm), i);
		memory_enter(t, l, ns + 6000, "block:device");
		memory_leave(t, l, ns + 6000 + device_ns(i, vm), "block:device");
		memory_leave(t, l, ns + 10000 + device_ns(i, vm), "vfs:sys_pread64");
	}
}

static struct eta_trace *host(void)
{
	struct eta_trace *t = machine("host");
	uint32_t h = device_on(t, "host", "sda", HOST_DEV);

	for (unsigned vm = 0; vm < 2; vm++) {
		uint32_t pid = 50 + 10 * vm;
		char name[64], text[256];

		snprintf(name, sizeof(name), "SCI::VM_%u", pid);
		snprintf(text, sizeof(text), "{\"name\":\"vm%c\",\"icount\":false}", 'A' + vm);
		eta_defs_property(t, name, text);
		snprintf(name, sizeof(name), "SCI::VM_%u_DISK_0", pid);
		snprintf(text, sizeof(text),
			 "{\"image\":\"/%c\",\"dev\":%d,\"inode\":%u,\"format\":\"raw\"}", 'a' + vm,
			 HOST_DEV + 1, IMAGE + vm);
		eta_defs_property(t, name, text);
		serve(t, thread_on(t, "host", "qemu", pid), h, vm);
	}
	return t;
}

/* The machines of ORDER: 'A', 'B', 'h'. */
static struct eta_trace *merged_in(const char *order)
{
	struct eta_trace *in[3], *merged;
	size_t n = strlen(order);

	for (size_t i = 0; i < n; i++)
		in[i] = order[i] == 'h' ? host()
					: guest(order[i] == 'A' ? "A" : "B", order[i] - 'A');
	assert_int_equal(eta_merge(in, n, &merged), 0);
	return merged;
}

static const struct thread_score *reader_of(const struct analysis *a, const char *host)
{
	for (uint32_t i = 0; i < a->n_threads; i++)
		if (strcmp(location_host(a->defs, a->threads[i].location), host) == 0 &&
		    a->threads[i].operations)
			return &a->threads[i];
	return NULL;
}

/* What is the same whatever the order of the inputs, as a text. */
static void result_of(struct eta_trace *t, char *text, size_t size)
{
	struct analysis *a = analyse(t, &score_by_default);

	text[0] = '\0';
	for (const char *host = "AB"; *host; host++) {
		const char name[] = { *host, '\0' };
		const struct thread_score *r = reader_of(a, name);

		if (!r)
			continue;
		snprintf(text + strlen(text), size - strlen(text), "%s %lu in I/O, lost %ld:", name,
			 (unsigned long)r->io_ns, (long)r->slowdown.interference_ns);
		for (uint32_t i = 0; i < r->n_blame; i++)
			snprintf(text + strlen(text), size - strlen(text), " %s tid %u %ld",
				 r->blame[i].location == ETA_NONE
					 ? "?"
					 : location_host(a->defs, r->blame[i].location),
				 r->blame[i].tid, (long)r->blame[i].ns);
		for (int l = 0; l < ETA_N_LEVELS; l++)
			snprintf(text + strlen(text), size - strlen(text), " %lu",
				 (unsigned long)r->host_ns[l]);
		snprintf(text + strlen(text), size - strlen(text), "\n");
	}
	analysis_free(a);
}

static void blame_crosses_machines(void **state)
{
	struct eta_trace *t = merged_in("hAB");
	struct analysis *a = analyse(t, &score_by_default);
	const struct thread_score *victim = reader_of(a, "A");
	uint64_t host_ns = 0, sum_ns = 0;

	(void)state;
	assert_non_null(victim);
	/* half of its reads took 1.8 ms more, behind the other guest's */
	assert_true(victim->slowdown.interference_ns > 40000000);
	assert_string_equal(victim->verdict.level, "block");
	assert_true(victim->n_blame > 0);
	assert_string_equal(location_host(a->defs, victim->blame[0].location), "B");
	assert_string_equal(a->defs->locations[victim->blame[0].location].name, "reader tid 8");
	assert_true(victim->blame[0].ns * 10 > (int64_t)victim->slowed_ns * 9);
	/* QEMU's calls are parts of the guests', not rows beside them */
	assert_null(reader_of(a, "host"));
	for (int c = 0; c < N_CELLS; c++)
		sum_ns += victim->time_ns[c];
	assert_int_equal(sum_ns, victim->io_ns);
	for (int l = 0; l < ETA_N_LEVELS; l++)
		host_ns += victim->host_ns[l];
	/* its waits are the host's and virtio: all from 20 us after the request's begin to its end
	 */
	for (unsigned i = 0; i < N; i++)
		host_ns -= 180000 + device_ns(i, 0);
	assert_in_range(host_ns + N * 1000, 0, 2 * N * 1000);
	/* of it 20 us in each call are the host's own */
	assert_in_range(victim->host_ns[ETA_LEVEL_VFS], N * 9000, N * 11000);
	assert_true(victim->host_ns[ETA_LEVEL_BLOCK] > victim->host_ns[ETA_LEVEL_VFS]);
	finish(t, a);
}

/* One that is not traced inside is its QEMU. */
static void a_guest_that_is_not_traced(void **state)
{
	struct eta_trace *t = merged_in("hA");
	struct analysis *a = analyse(t, &score_by_default);
	const struct thread_score *victim = reader_of(a, "A");
	uint32_t process;

	(void)state;
	assert_non_null(victim);
	assert_true(victim->n_blame > 0);
	process = a->defs->locations[victim->blame[0].location].process;
	assert_int_equal(a->defs->processes[process].pid, 60);
	assert_string_equal(location_host(a->defs, victim->blame[0].location), "host");
	finish(t, a);
}

static void any_order_and_an_archive(void **state)
{
	static const char *const orders[] = { "hAB", "hBA", "AhB", "ABh", "BhA", "BAh" };
	char folder[] = "guest-XXXXXX", anchor[64], command[64], first[4096], other[4096];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(anchor, sizeof(anchor), "%s/all.otf2", folder);
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		struct eta_trace *t = merged_in(orders[i]), *read;

		result_of(t, i ? other : first, sizeof(first));
		assert_string_equal(i ? other : first, first);
		assert_int_equal(eta_write_otf2(t, anchor, NULL, NULL), 0);
		eta_close(t);
		assert_int_equal(eta_open(anchor, NULL, &read), 0);
		result_of(read, other, sizeof(other));
		assert_string_equal(other, first);
		eta_close(read);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blame_crosses_machines),
		cmocka_unit_test(a_guest_that_is_not_traced),
		cmocka_unit_test(any_order_and_an_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Two guests and their host as traces in memory. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "guest-trace.h"

#include <stdio.h>
#include <string.h>

#include "eta-ext/format/disk-map.h"

enum { GUEST_DEV = 254 << 20, HOST_DEV = 8 << 20, IMAGE = 70 };
/* What the host's clock is ahead of that of guest A; of B it is twice that. */
enum { AHEAD_NS = 700000000 };

/*
 * What the host's letter says of the first guest's CPU, and whether the second guest takes it:
 * c: it is CPU 0 of two, d: CPU 1, e: one thread is all of them, n: the threads have no names, p:
 * it was plugged in later, u: as c, and who takes it has no location. s: as h, and the guests'
 * processes have the number of the second guest's QEMU.
 */
static char taken;

/* Does B read, rather than compute? */
static bool b_reads(void)
{
	return taken == 'h' || taken == 's';
}

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
					 .inode = inode,
					 .cpu = 1 });
}

/* The same without a file: of a thread on CPU 0. */
static void step(struct eta_trace *t, uint32_t l, uint64_t ns, enum eta_kind kind,
		 const char *region)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = ns,
					 .kind = (uint8_t)kind,
					 .region = memory_region(t, region),
					 .cpu = 1 });
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
	return (int64_t)((i * 11 % GUEST_READS) * 2 + vm) * 8192;
}

/* How long the device takes for request I of guest VM: B's are long, A's are where B was before. */
uint64_t guest_device_ns(unsigned i, unsigned vm)
{
	return vm ? 2000000 : i % 2 && b_reads() ? 2100000 : 300000;
}

/* B reads at every second time of A's, a moment before. */
static bool reads(unsigned i, unsigned vm)
{
	return !vm || (i % 2 && b_reads());
}

static uint64_t at(unsigned i, unsigned vm)
{
	return begin_of(i) - (vm ? 150000 + AHEAD_NS : 0);
}

static struct eta_trace *guest(const char *name, unsigned vm)
{
	struct eta_trace *t = machine(name);
	uint32_t h = device_on(t, name, "vda", GUEST_DEV);
	uint32_t l = thread_on(t, name, "reader", taken == 's' ? 60 : 7);

	for (unsigned i = 0; i < GUEST_READS; i++) {
		uint64_t ns = at(i, vm), end = ns + 200000 + guest_device_ns(i, vm);

		if (!reads(i, vm))
			continue;
		enter(t, l, ns - 10000, "vfs:sys_pread64", 9, 5, offset_of(i, vm));
		bio(t, l, ns, end, h, offset_of(i, vm), i);
		step(t, l, ns + 20000, ETA_ENTER, "block:device");
		step(t, l, end + 3000, ETA_LEAVE, "block:device");
		step(t, l, end + 10000, ETA_LEAVE, "vfs:sys_pread64");
	}
	return t;
}

static void serve(struct eta_trace *t, uint32_t l, uint32_t handle, unsigned vm)
{
	for (unsigned i = 0; i < GUEST_READS; i++) {
		uint64_t ns = at(i, vm) + AHEAD_NS * (1 + vm) + 100000;

		if (!reads(i, vm))
			continue;
		enter(t, l, ns, "vfs:sys_pread64", HOST_DEV + 1, IMAGE + vm, offset_of(i, vm));
		bio(t, l, ns + 5000, ns + 5000 + guest_device_ns(i, vm), handle, offset_of(i, vm),
		    i);
		memory_enter(t, l, ns + 6000, "block:device");
		memory_leave(t, l, ns + 6000 + guest_device_ns(i, vm), "block:device");
		memory_leave(t, l, ns + 10000 + guest_device_ns(i, vm), "vfs:sys_pread64");
	}
}

/* The other's CPU has that of A in every second read: while it computes, and behind the call. */
static void steal(struct eta_trace *t, uint32_t l)
{
	for (unsigned i = 1; !b_reads() && i < GUEST_READS; i += 2) {
		uint64_t ns = at(i, 0) + AHEAD_NS, over = ns + 110000 + guest_device_ns(i, 0);
		const uint64_t times[] = { ns - 8000, ns + 12000, over + 10000, over + 80000 };

		for (unsigned n = 0; n < 4; n += 2) {
			memory_event(
				t, l,
				(struct eta_event){ .time_ns = times[n],
						    .kind = ETA_ENTER,
						    .has = ETA_HAS_WHO,
						    .region = memory_region(t, "cpu:run queue"),
						    .who = taken == 'u' ? 99 : 65 });
			memory_leave(t, l, times[n + 1], "cpu:run queue");
		}
	}
}

/* Thread TID of the process of location LIKE. */
static uint32_t sibling(struct eta_trace *t, uint32_t like, const char *name, uint32_t tid)
{
	struct eta_location location = t->defs.locations[like];

	location.id = t->defs.n_locations;
	location.name = name;
	location.tid = tid;
	return eta_defs_location(t, &location);
}

static void put_chunk(void *trace, unsigned number, const char *text)
{
	char name[64];

	snprintf(name, sizeof(name), DISK_MAP_PROPERTY "50_0_%u", number);
	eta_defs_property(trace, name, text);
}

/*
 * Two pieces of A's disk, from 32 to 512 KiB and from 768 KiB to 1 MiB, on the partition that
 * begins at sector 8. The first one is where the host's requests are.
 */
static void map_disk(struct eta_trace *t)
{
	struct disk_piece pieces[] = {
		{ 32768, 32768, 32768 - 4096, 491520 },
		{ 786432, 786432, UINT64_C(1) << 30, 262144 },
	};
	const struct disk_map map = { .v = pieces, .n = 2 };
	unsigned chunks;
	char text[160];

	disk_map_write(&map, 4096, 0, 4096, put_chunk, t, &chunks);
	snprintf(text, sizeof(text),
		 "{\"dev\":%d,\"disk_dev\":%d,\"start_sector\":8,\"pieces\":2,"
		 "\"mapped_bytes\":753664,\"chunks\":%u,\"unit\":4096,\"became\":\"replaced\"}",
		 HOST_DEV + 1, HOST_DEV, chunks);
	eta_defs_property(t, DISK_MAP_PROPERTY "50_0", text);
}

static struct eta_trace *host(void)
{
	static const char *const vcpus[] = { ['c'] = "[[0,55],[1,56]]", ['d'] = "[[0,56],[1,55]]",
					     ['e'] = "[[\"all\",55]]",	['n'] = "[]",
					     ['p'] = "[[1,56]]",	['u'] = "[[0,55],[1,56]]",
					     ['h'] = "[[0,55],[1,56]]", ['s'] = "[[0,55],[1,56]]" };
	struct eta_trace *t = machine("host");
	uint32_t h = device_on(t, "host", "sda", HOST_DEV), l;

	for (unsigned vm = 0; vm < 2; vm++) {
		uint32_t pid = 50 + 10 * vm;
		char name[64], text[256];
		uint32_t cpu;

		snprintf(name, sizeof(name), "SCI::VM_%u", pid);
		snprintf(text, sizeof(text), "{\"name\":\"vm%c\",\"icount\":false,\"vcpus\":%s}",
			 'A' + vm, vcpus[(unsigned char)taken]);
		eta_defs_property(t, name, text);
		snprintf(name, sizeof(name), "SCI::VM_%u_DISK_0", pid);
		snprintf(text, sizeof(text),
			 "{\"image\":\"/%c\",\"dev\":%d,\"inode\":%u,\"format\":\"raw\"}", 'a' + vm,
			 HOST_DEV + 1, IMAGE + vm);
		eta_defs_property(t, name, text);
		if (!vm)
			map_disk(t);
		l = thread_on(t, "host", "qemu", pid);
		cpu = sibling(t, l,
			      taken == 'n'   ? "qemu tid 55"
			      : taken == 'd' ? "CPU 1/TCG tid 55"
					     : "CPU 0/TCG tid 55",
			      pid + 5);
		serve(t, l, h, vm);
		if (!vm)
			steal(t, cpu);
	}
	return t;
}

/* The machines of ORDER: 'A', 'B', and the host. */
struct eta_trace *guests_merged(const char *order)
{
	struct eta_trace *in[3], *merged;
	size_t n = strlen(order);

	taken = order[strcspn(order, "hcdenpsu")];
	for (size_t i = 0; i < n; i++)
		in[i] = order[i] == taken ? host()
					  : guest(order[i] == 'A' ? "A" : "B", order[i] - 'A');
	return eta_merge(in, n, &merged) ? NULL : merged;
}

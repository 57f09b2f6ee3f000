/*
 * make-nodes FOLDER NODES THREADS CALLS [ERROR]: FOLDER/nodeN/unified.otf2 for each of the NODES of
 * a job, with THREADS of one rank that CALLS times write a file, the last of them by a request to
 * the disk. Clocks, numbers of definitions, and numbers of stacks differ from node to node. ERROR:
 * by how many ns the wall clock of the first node may be wrong, that of the second twice as many,
 * ...
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../unit/memory-trace.h"

enum { DISK = 8 << 20, PID = 100, STACKS = 3, FRAMES = 2 };

static void put_call(struct eta_trace *t, uint32_t location, uint64_t at, uint32_t call,
		     const uint32_t handles[2])
{
	const uint64_t match = (uint64_t)location * 1000 + call % 1000 + 1;

	memory_event(t, location,
		     (struct eta_event){ .time_ns = at,
					 .kind = ETA_ENTER,
					 .region = memory_region(t, "write"),
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE | ETA_HAS_CALLER |
						ETA_HAS_STACK,
					 .caller = 0x1000 + call % STACKS,
					 .stack = call % STACKS,
					 .size = 4096,
					 .dev = DISK,
					 .inode = 5 });
	memory_event(t, location,
		     (struct eta_event){ .time_ns = at + 1,
					 .kind = ETA_IO_BEGIN,
					 .mode = ETA_IO_WRITE,
					 .has = ETA_HAS_SIZE,
					 .handle = handles[0],
					 .size = 4096,
					 .match = match });
	memory_enter(t, location, at + 10, "vfs:sys_write");
	memory_event(t, location,
		     (struct eta_event){ .time_ns = at + 20,
					 .kind = ETA_IO_BEGIN,
					 .mode = ETA_IO_WRITE,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END | ETA_HAS_SIZE,
					 .handle = handles[1],
					 .size = 4096,
					 .match = match + 500000,
					 .owner = PID + location,
					 .end_ns = at + 80 + location % 80 });
	memory_event(t, location,
		     (struct eta_event){ .time_ns = at + 30,
					 .kind = ETA_ENTER,
					 .region = memory_region(t, "fs:inode lock"),
					 .has = ETA_HAS_WHO,
					 .who = PID + (location + 1) });
	memory_leave(t, location, at + 40, "fs:inode lock");
	memory_leave(t, location, at + 200, "vfs:sys_write");
	memory_event(t, location,
		     (struct eta_event){ .time_ns = at + 201,
					 .kind = ETA_IO_COMPLETE,
					 .has = ETA_HAS_SIZE,
					 .handle = handles[0],
					 .size = 4096,
					 .match = match });
	memory_event(t, location,
		     (struct eta_event){ .time_ns = at + 210,
					 .kind = ETA_LEAVE,
					 .region = memory_region(t, "write"),
					 .has = ETA_HAS_RET,
					 .ret = 4096 });
}

static void put_handle(struct eta_trace *t, uint32_t location, uint64_t at, uint32_t handle,
		       enum eta_kind kind)
{
	memory_event(t, location,
		     (struct eta_event){ .time_ns = at, .kind = (uint8_t)kind, .handle = handle });
}

/* The properties of the trace, and the rank of its process. */
static void define_rank(struct eta_trace *t, uint32_t node, uint32_t nodes, uint32_t process,
			uint64_t error_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", 1000000000000000ULL - node * 1000000000ULL - node);
	eta_defs_property(t, "SCI::CLOCK", "CLOCK_MONOTONIC");
	eta_defs_property(t, "SCI::REALTIME_OFFSET", text);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)error_ns * (node + 1));
	if (error_ns)
		eta_defs_property(t, "SCI::REALTIME_ERROR", text);
	snprintf(text, sizeof(text), "%u", node);
	eta_defs_process_property(t, process, "RANK", text);
	snprintf(text, sizeof(text), "%u", nodes);
	eta_defs_process_property(t, process, "RANKS", text);
	eta_defs_process_property(t, process, "JOB", "job");
}

/* As many stacks and regions more than the node before it has. */
static void define_addresses(struct eta_trace *t, uint32_t node, uint32_t process)
{
	for (uint32_t i = 0; i < STACKS + node; i++) {
		const uint64_t frames[FRAMES] = { 0x1000 + i, 0x100000 * (node + 1) + i };

		eta_defs_stack(t, &(struct eta_stack){ .process = process,
						       .n_frames = FRAMES,
						       .frames = frames });
	}
	for (uint32_t i = 0; i < node; i++) {
		char name[32];

		snprintf(name, sizeof(name), "fs:only_%u", i);
		memory_region(t, name);
	}
}

static struct eta_trace *make(uint32_t node, uint32_t nodes, uint32_t threads, uint32_t calls,
			      uint64_t error_ns)
{
	struct eta_trace *t = memory_trace_new("node");
	char host[32], boot[32], name[64];
	uint32_t process, opened, handles[2];

	snprintf(host, sizeof(host), "node%u", node);
	snprintf(boot, sizeof(boot), "boot %u", node);
	process = eta_defs_process(
		t, &(struct eta_process){ .name = "app", .host = host, .boot = boot, .pid = PID });
	define_rank(t, node, nodes, process, error_ns);
	define_addresses(t, node, process);
	for (uint32_t i = 0; i < threads; i++) {
		snprintf(name, sizeof(name), "app tid %u", PID + i);
		eta_defs_location(t, &(struct eta_location){ .id = i,
							     .name = name,
							     .process = process,
							     .tid = PID + i,
							     .start_ns = 1000000000ULL * (node + 1),
							     .host = "" });
	}
	eta_defs_file(
		t,
		&(struct eta_file){
			.path = "/data/f", .dev = DISK, .inode = 5, .fs = "ext4", .host = host });
	handles[0] = eta_defs_handle(
		t,
		&(struct eta_handle){ .name = "3", .file = 0, .open_flags = O_RDWR, .host = "" });
	opened = eta_defs_handle(t, &(struct eta_handle){ .name = "4", .file = 0, .host = "" });
	handles[1] = eta_defs_handle(
		t, &(struct eta_handle){
			   .name = "disk", .file = ETA_NONE, .device = DISK, .host = host });
	for (uint32_t i = 0; i < threads; i++) {
		uint64_t at = 1000000000ULL * (node + 1) + i;

		put_handle(t, i, at, opened, ETA_IO_CREATE);
		for (uint32_t call = 0; call < calls; call++)
			put_call(t, i, at + 1000 * (call + 1), call, handles);
		put_handle(t, i, at + 1000 * (calls + 1), opened, ETA_IO_DESTROY);
	}
	return t;
}

int main(int argc, char **argv)
{
	uint32_t nodes, threads, calls;
	uint64_t error_ns;
	int rc = 0;

	if (argc != 5 && argc != 6) {
		fprintf(stderr, "usage: make-nodes FOLDER NODES THREADS CALLS [ERROR]\n");
		return 2;
	}
	nodes = (uint32_t)strtoul(argv[2], NULL, 10);
	threads = (uint32_t)strtoul(argv[3], NULL, 10);
	calls = (uint32_t)strtoul(argv[4], NULL, 10);
	error_ns = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
	for (uint32_t node = 0; rc == 0 && node < nodes; node++) {
		struct eta_write_options options = { .threads = 1 };
		struct eta_trace *t = make(node, nodes, threads, calls, error_ns);
		struct eta_counts counts;
		char path[4096];

		snprintf(path, sizeof(path), "%s/node%u", argv[1], node);
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			rc = -errno;
		snprintf(path, sizeof(path), "%s/node%u/unified.otf2", argv[1], node);
		if (rc == 0)
			rc = eta_write_otf2(t, path, &options, &counts);
		eta_close(t);
	}
	return rc ? 1 : 0;
}

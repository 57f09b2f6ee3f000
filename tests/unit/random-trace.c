/* Traces of random events that use every field, made from a seed. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "random-trace.h"

#include <errno.h>
#include <fcntl.h>

#include "memory-trace.h"

static uint64_t state;

/* xorshift64: a failing run can be run again. */
static uint64_t draw(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static uint64_t any_number(void)
{
	static const uint64_t numbers[] = { 0, 1, 4096, UINT32_MAX, 1ull << 40, INT64_MAX };

	return draw(2) ? numbers[draw(6)] : draw(1 << 20);
}

enum { HANDLE_FILE, HANDLE_NO_FILE, HANDLE_CREATED, HANDLE_DEVICE };

static void define(struct eta_trace *trace)
{
	static const char *const regions[] = {
		"write", "vfs:sys_write", "fs:inode lock",    "cpu:run queue",
		"main",	 "block:device",  "pagecache:reclaim"
	};
	uint32_t p, q;

	for (size_t i = 0; i < sizeof(regions) / sizeof(*regions); i++)
		memory_region(trace, regions[i]);
	eta_defs_region(trace, "odd", ETA_LEVEL_FS, "a plain name at a level");
	p = eta_defs_process(trace, &(struct eta_process){ .name = "fio pid 3",
							   .host = "a",
							   .pid = 7,
							   .ppid = 3,
							   .cgroup = 1ull << 40,
							   .ns_pid = 1,
							   .pid_ns = 4026532177,
							   .boot = "9734703f",
							   .start_ns = 5 });
	q = eta_defs_process(trace, &(struct eta_process){ .name = "other", .host = "b" });
	eta_defs_process(trace,
			 &(struct eta_process){
				 .name = "kernel", .host = "a", .boot = "9734703f", .pid = 90 });
	eta_defs_file(trace, &(struct eta_file){ .path = "/x/\303\244",
						 .fs = "ext4",
						 .inode = 9,
						 .dev = 8 << 20 | 1,
						 .host = "b",
						 .mount = "nfs server:/export" });
	eta_defs_file(trace, &(struct eta_file){ .path = "" });
	eta_defs_handle(trace, &(struct eta_handle){ .name = "x",
						     .file = 0,
						     .open_flags = O_RDWR | O_DIRECT | O_APPEND });
	eta_defs_handle(trace, &(struct eta_handle){ .name = "3", .file = ETA_NONE });
	eta_defs_handle(trace, &(struct eta_handle){ .name = "made", .file = 1 });
	eta_defs_handle(trace,
			&(struct eta_handle){
				.name = "sda", .file = ETA_NONE, .device = 8 << 20, .host = "c" });
	eta_defs_location(trace, &(struct eta_location){ .id = 3,
							 .name = "fio tid 7",
							 .process = p,
							 .tid = 7,
							 .ns_tid = 1,
							 .start_ns = 5 });
	eta_defs_location(trace, &(struct eta_location){ .id = 4,
							 .name = "fio tid 7 track 1",
							 .process = p,
							 .tid = 7,
							 .ns_tid = 1,
							 .track = 1,
							 .start_ns = 6 });
	eta_defs_location(trace, &(struct eta_location){
					 .id = 7, .name = "no tid", .process = q, .start_ns = 8 });
	eta_defs_location(trace, &(struct eta_location){ .id = 130000000000,
							 .name = "kworker/1:0 tid 90",
							 .kind = ETA_LOCATION_KERNEL_THREAD,
							 .process = 2,
							 .tid = 90,
							 .start_ns = 9 });
	eta_defs_location(trace, &(struct eta_location){ .id = 130000000001,
							 .name = "sda",
							 .kind = ETA_LOCATION_DEVICE,
							 .process = ETA_NONE,
							 .dev = 8 << 20,
							 .host = "c" });
	eta_defs_location(trace, &(struct eta_location){ .id = 130000000002,
							 .name = "silent",
							 .process = p,
							 .tid = 9,
							 .ns_tid = 3,
							 .start_ns = 1 });
	eta_defs_property(trace, "SCI::CLOCK", "monotonic");
	eta_defs_property(trace, "SCI::REALTIME_OFFSET", "1700000000000000000");
}

static uint16_t some_flags(uint16_t allowed)
{
	return draw(3) ? 0 : (uint16_t)(draw(0x10000) & allowed);
}

static struct eta_event region_event(enum eta_kind kind, uint32_t region)
{
	struct eta_event event = { .kind = (uint8_t)kind, .region = region };

	if (kind == ETA_ENTER) {
		event.has =
			some_flags(ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE | ETA_EVENT_DIRECT |
				   ETA_HAS_PAUSE | (draw(2) ? ETA_HAS_CALLER : ETA_HAS_WHO));
		event.who = any_number();
		event.pause_ns = any_number();
	} else {
		event.has = some_flags(ETA_HAS_RET | ETA_EVENT_TRUNCATED);
		if (event.has & ETA_EVENT_TRUNCATED)
			event.has &= (uint16_t)~ETA_HAS_RET;
		event.ret = draw(4) ? 4096 : -(int64_t)draw(200);
	}
	return event;
}

static struct eta_event io_event(enum eta_kind kind)
{
	struct eta_event event = { .kind = (uint8_t)kind };
	uint16_t allowed = kind <= ETA_IO_COMPLETE ? ETA_HAS_OFFSET | ETA_HAS_FILE : 0;

	event.handle = kind == ETA_IO_CREATE || kind == ETA_IO_DESTROY ? HANDLE_CREATED
		       : draw(8)				       ? (uint32_t)draw(2)
								       : ETA_NONE;
	if (kind <= ETA_IO_COMPLETE) {
		event.match = any_number();
		if (draw(2)) {
			event.handle = HANDLE_DEVICE;
			event.has |= ETA_EVENT_BLOCK_IO;
			if (kind == ETA_IO_BEGIN) {
				event.has |= some_flags(ETA_HAS_END | ETA_EVENT_LOWER);
				event.owner = (uint32_t)draw(3);
			}
		}
	}
	if (kind == ETA_IO_BEGIN || kind == ETA_IO_COMPLETE)
		allowed |= ETA_HAS_SIZE;
	if (kind == ETA_IO_COMPLETE)
		allowed |= ETA_HAS_RET;
	if (kind == ETA_IO_SEEK)
		allowed |= ETA_HAS_OFFSET;
	if (kind == ETA_IO_BEGIN)
		event.mode = (uint8_t)draw(3);
	event.has |= some_flags(allowed);
	if (event.has & ETA_HAS_END)
		event.end_ns = any_number();
	else if (event.has & ETA_HAS_RET)
		event.ret = -EIO;
	return event;
}

struct eta_trace *random_trace(uint64_t seed, size_t events)
{
	struct eta_trace *trace = memory_trace_new("random");

	state = seed * 2654435761u + 88172645463325252ull;
	define(trace);
	for (uint32_t location = 0; location + 1 < trace->defs.n_locations; location++) {
		uint64_t time = 1000 + draw(1000);
		uint32_t stack[400], depth = 0;

		for (size_t i = 0; i < events; i++) {
			struct eta_event event;
			uint64_t what = draw(10);

			/* Deep enough now and then to pass what the archive keeps sizes of. */
			if (what < 5 && depth < (location == 0 ? 400 : 6))
				event = region_event(ETA_ENTER, stack[depth++] = (uint32_t)draw(8));
			else if (what < 9 && depth > 0)
				event = region_event(ETA_LEAVE, stack[--depth]);
			else
				event = io_event(
					(enum eta_kind)(ETA_IO_BEGIN + draw(ETA_IO_DESTROY - 1)));
			time += draw(3) ? draw(1000) : 0;
			event.time_ns = time;
			if (event.has & ETA_HAS_SIZE)
				event.size = draw(2) ? 4096 : any_number();
			if (event.has & ETA_HAS_OFFSET)
				event.offset = (int64_t)any_number();
			if (event.has & ETA_HAS_FILE) {
				event.inode = any_number();
				event.dev = (uint32_t)any_number();
			}
			memory_event(trace, location, event);
		}
	}
	return trace;
}

/*
 * Writes a random but reproducible archive: random-trace SEED THREADS ANCHOR
 * [scheduler|user|kernel [HOST]]. With user or kernel only that side of it: both of one seed are
 * one run.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/memory-trace.h"

#define DISK (8u << 20)
#define DISK_HANDLE 0
#define PID 100

static uint64_t seed;
static bool sides, user_side; /* both sides are drawn, one of them is kept */

static uint64_t pick(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static const char *const user_regions[] = { "read", "write", "pwrite64", "fsync", "compute" };
static const char *const kernel_regions[] = { "vfs:sys_read",
					      "vfs:sys_pwrite64",
					      "fs:ext4_file_write_iter",
					      "pagecache:filemap_read",
					      "pagecache:dirty throttling",
					      "fs:inode lock",
					      "block:submit_bio",
					      "callback" };
static const char *const scheduler_regions[] = { "fs:other wait", "pagecache:other wait",
						 "cpu:run queue", "block:held back" };

#define PICK_OF(names) names[pick(sizeof(names) / sizeof(*(names)))]

static uint64_t match;

static void request(struct eta_trace *t, uint32_t l, uint64_t at)
{
	memory_event(t, l,
		     (struct eta_event){ .time_ns = at,
					 .kind = ETA_IO_BEGIN,
					 .mode = ETA_IO_WRITE,
					 .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END | ETA_HAS_SIZE,
					 .handle = DISK_HANDLE,
					 .size = 4096,
					 .match = ++match,
					 .end_ns = at + 1 + pick(300) });
	if (pick(2))
		memory_event(t, l,
			     (struct eta_event){ .time_ns = at + 1,
						 .kind = ETA_IO_ISSUED,
						 .has = ETA_EVENT_BLOCK_IO,
						 .handle = DISK_HANDLE,
						 .match = match });
}

static bool is_kept(const char *name)
{
	bool user = false;

	for (size_t i = 0; i < sizeof(user_regions) / sizeof(*user_regions); i++)
		user |= strcmp(name, user_regions[i]) == 0;
	return !sides || user == user_side;
}

static uint64_t tree(struct eta_trace *t, uint32_t l, uint64_t at, unsigned depth, bool scheduler)
{
	const char *name;

	if (depth == 0)
		name = pick(4) ? PICK_OF(user_regions) : PICK_OF(kernel_regions);
	else if (scheduler && pick(3) == 0)
		name = PICK_OF(scheduler_regions);
	else if (sides)
		name = PICK_OF(kernel_regions);
	else
		name = pick(8) ? PICK_OF(kernel_regions) : PICK_OF(user_regions);
	if (is_kept(name))
		memory_enter(t, l, at, name);
	if (!sides && pick(5) == 0) {
		request(t, l, at);
		at += 2;
	}
	/* without any length, what touches it could as well be inside of it */
	at += pick(40) + sides;
	for (uint64_t i = pick(4 - (depth < 3 ? depth : 3)); i > 0; i--) {
		at = tree(t, l, at, depth + 1, scheduler);
		at += pick(10);
	}
	if (is_kept(name))
		memory_leave(t, l, at, name);
	return at;
}

int main(int argc, char **argv)
{
	struct eta_write_options options = { .threads = 1 };
	struct eta_counts counts;
	struct eta_trace *t;
	const char *side = argc > 4 ? argv[4] : "", *host = argc > 5 ? argv[5] : "";
	bool scheduler = strcmp(side, "scheduler") == 0;
	uint32_t threads;
	int rc;

	user_side = strcmp(side, "user") == 0;
	sides = user_side || strcmp(side, "kernel") == 0;
	if (argc < 4) {
		fprintf(stderr,
			"usage: random-trace SEED THREADS ANCHOR [scheduler|user|kernel [HOST]]\n");
		return 2;
	}
	seed = strtoull(argv[1], NULL, 10);
	threads = (uint32_t)strtoul(argv[2], NULL, 10);
	t = memory_trace_new("random");
	eta_defs_handle(t,
			&(struct eta_handle){
				.name = "disk", .file = ETA_NONE, .device = DISK, .host = host });
	if (*host)
		eta_defs_process(t,
				 &(struct eta_process){
					 .name = "app", .host = host, .boot = host, .pid = PID });
	for (uint32_t i = 0; i < threads; i++)
		memory_thread(t, PID, PID + i);
	eta_defs_location(t, &(struct eta_location){ .id = threads,
						     .name = "disk",
						     .kind = ETA_LOCATION_DEVICE,
						     .process = ETA_NONE,
						     .dev = DISK,
						     .host = host });
	for (uint32_t i = 0; i < threads; i++) {
		uint64_t at = pick(1000);

		memory_event(
			t, i,
			(struct eta_event){ .time_ns = at, .kind = ETA_MARK, .handle = ETA_NONE });
		at += pick(100);
		if (!sides || user_side)
			memory_enter(t, i, at, "main");
		for (uint64_t n = pick(300); n > 0; n--) {
			at = tree(t, i, at, 0, scheduler);
			at += pick(60) + sides;
		}
		if (!sides || user_side)
			memory_leave(t, i, at, "main");
		memory_event(t, i,
			     (struct eta_event){ .time_ns = at + pick(100),
						 .kind = ETA_MARK,
						 .handle = ETA_NONE });
	}
	rc = eta_write_otf2(t, argv[3], &options, &counts);
	eta_close(t);
	return rc < 0 ? 1 : 0;
}

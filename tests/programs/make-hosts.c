/*
 * make-hosts N ANCHOR [SCENE [IDLE]]: an archive of N machines, or of N ranks on one, that all did
 * the same: a process with a thread that writes a file, and requests to a disk; and of IDLE more
 * machines that read once. SCENE:
 *   ranks         at work eight at a time
 *   crowd         all at once, each with a file of its own
 *   file          all with one file
 *   containers    ranks numbered from 1 on in pid namespaces of their own, and only that is known
 *   journal       all wait at once for the file system's journal
 *   throttling    all wait at once as there are too many dirty pages
 *   lock          all wait at once for the same lock, which they get in turn
 *   chain         each waits for a lock of the next one, who waits, too, and so on
 *   busy-disk, busy-journal
 *                 all wait at once for what HELPERS of them use in many short operations
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/memory-trace.h"

enum { DISK = 8 << 20, CALLS = 5, PID = 100, HELPERS = 100 };

static void put_calls(struct eta_trace *t, uint32_t location, uint32_t handle, uint64_t match,
		      uint64_t from_ns, uint64_t inode)
{
	for (uint64_t at = from_ns + 1000; at <= from_ns + 1000 * CALLS; at += 1000) {
		memory_event(t, location,
			     (struct eta_event){ .time_ns = at,
						 .kind = ETA_ENTER,
						 .region = memory_region(t, "vfs:sys_write"),
						 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
						 .size = 4096,
						 .dev = DISK,
						 .inode = inode });
		memory_event(
			t, location,
			(struct eta_event){ .time_ns = at + 10,
					    .kind = ETA_IO_BEGIN,
					    .mode = ETA_IO_WRITE,
					    .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END | ETA_HAS_SIZE,
					    .handle = handle,
					    .size = 4096,
					    .match = match++,
					    .end_ns = at + 10 + location % 80 });
		memory_leave(t, location, at + 100 + location % 300, "vfs:sys_write");
	}
}

/* A write from AT us on that takes LONG us, most of it in WAIT, or where that is NULL waiting for a
 * disk.
 */
static void put_wait(struct eta_trace *t, uint32_t location, uint64_t at_us, uint64_t long_us,
		     const char *wait)
{
	static uint64_t match;
	uint64_t at = 1000 * at_us, ns = 1000 * long_us;

	memory_event(t, location,
		     (struct eta_event){ .time_ns = at,
					 .kind = ETA_ENTER,
					 .region = memory_region(t, "vfs:sys_write"),
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .size = 4096,
					 .dev = DISK,
					 .inode = location + 5 });
	if (wait) {
		memory_enter(t, location, at + 10, wait);
		memory_leave(t, location, at + ns - 10, wait);
	} else {
		memory_event(
			t, location,
			(struct eta_event){ .time_ns = at + 10,
					    .kind = ETA_IO_BEGIN,
					    .mode = ETA_IO_WRITE,
					    .has = ETA_EVENT_BLOCK_IO | ETA_HAS_END | ETA_HAS_SIZE,
					    .size = 4096,
					    .match = ++match,
					    .end_ns = at + ns - 10 });
	}
	memory_leave(t, location, at + ns, "vfs:sys_write");
}

/* Rank I of N in a scene of waits. */
static void put_waits(struct eta_trace *t, uint32_t i, uint32_t n, const char *scene)
{
	bool busy = strncmp(scene, "busy-", strlen("busy-")) == 0;
	const char *wait = strstr(scene, "journal")	 ? "fs:journal commit"
			   : strstr(scene, "throttling") ? "pagecache:dirty throttling"
							 : NULL;

	if (busy && i % (n / HELPERS) == 0) {
		for (uint32_t call = 0; call < n / 20; call++)
			put_wait(t, i, 1000 + 100 * call + i * HELPERS / n, 40 + i % 50, wait);
		return;
	}
	for (uint32_t call = 0; call < CALLS; call++)
		put_wait(t, i, 1000 + i + 20 * n * call, 10 * n + i * 7 % (5 * n), wait);
}

/* A write that waits from FROM_US to TO_US for a lock that thread WHO has. */
static void put_lock(struct eta_trace *t, uint32_t location, uint64_t from_us, uint64_t to_us,
		     uint32_t who)
{
	uint64_t from = 1000 * from_us, to = 1000 * to_us;

	memory_event(t, location,
		     (struct eta_event){ .time_ns = from - 10,
					 .kind = ETA_ENTER,
					 .region = memory_region(t, "vfs:sys_write"),
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .size = 4096,
					 .dev = DISK,
					 .inode = 5 });
	memory_event(t, location,
		     (struct eta_event){ .time_ns = from,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_WHO,
					 .region = memory_region(t, "fs:inode lock"),
					 .who = who });
	memory_leave(t, location, to, "fs:inode lock");
	memory_leave(t, location, to + 900, "vfs:sys_write");
}

/* Rank I of N, in a chain or one after the other. */
static void put_locks(struct eta_trace *t, uint32_t i, uint32_t n, bool chain)
{
	const uint32_t next = i + 1 < n ? i + 1 : 0, before = i > 0 ? i - 1 : n - 1;

	for (uint64_t call = 0; call < CALLS; call++) {
		uint64_t at = 1000 + 4 * n * call;

		if (chain)
			put_lock(t, i, at + i, at + 3 * n - i, PID + next);
		else
			put_lock(t, i, at + i % 8, at + 10 + i, PID + before);
	}
}

struct scene {
	const char *name;
	bool ranks; /* on one machine */
	bool crowd, one_file, containers, waits, locks;
};

static bool scene_of(const char *name, struct scene *scene)
{
	*scene = (struct scene){ .name = name };
	scene->one_file = strcmp(name, "file") == 0;
	scene->containers = strcmp(name, "containers") == 0;
	scene->waits = strcmp(name, "journal") == 0 || strcmp(name, "throttling") == 0 ||
		       strcmp(name, "busy-disk") == 0 || strcmp(name, "busy-journal") == 0;
	scene->locks = strcmp(name, "lock") == 0 || strcmp(name, "chain") == 0;
	scene->crowd =
		scene->one_file || scene->waits || scene->locks || strcmp(name, "crowd") == 0;
	scene->ranks = scene->crowd || scene->containers || strcmp(name, "ranks") == 0;
	return scene->ranks || !*name;
}

/* What there is of number I, which is on the machine of number MACHINE. */
static void define(struct eta_trace *t, const struct scene *scene, uint32_t i, uint32_t machine)
{
	uint32_t process, pid = scene->containers ? 1 : scene->ranks ? PID + i : PID;
	char host[32], boot[32], name[64];

	snprintf(host, sizeof(host), "node%u", machine);
	snprintf(boot, sizeof(boot), "boot %u", machine);
	process = eta_defs_process(
		t, &(struct eta_process){ .name = "app",
					  .host = host,
					  .boot = boot,
					  .pid = pid,
					  .pid_ns = scene->containers ? 4026600000 + i : 0,
					  .ns_pid = scene->containers ? pid : 0 });
	snprintf(name, sizeof(name), "app tid %u", pid);
	eta_defs_location(
		t, &(struct eta_location){
			   .id = i, .name = name, .process = process, .tid = pid, .host = "" });
	snprintf(name, sizeof(name), "/data/%u", scene->ranks ? i : 0);
	eta_defs_file(t, &(struct eta_file){ .path = name,
					     .dev = DISK,
					     .inode = scene->ranks ? i + 5 : 5,
					     .fs = "ext4",
					     .host = host });
	eta_defs_handle(t,
			&(struct eta_handle){
				.name = "disk", .file = ETA_NONE, .device = DISK, .host = host });
}

int main(int argc, char **argv)
{
	struct eta_write_options options = { .threads = 1 };
	struct eta_counts counts;
	struct scene scene;
	struct eta_trace *t;
	uint32_t n, idle;
	int rc;

	if (argc < 3 || argc > 5 || !scene_of(argc > 3 ? argv[3] : "", &scene)) {
		fprintf(stderr, "usage: make-hosts N ANCHOR [SCENE [IDLE]]\n");
		return 2;
	}
	n = (uint32_t)strtoul(argv[1], NULL, 10);
	idle = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : 0;
	t = memory_trace_new("hosts");
	for (uint32_t i = 0; i < n + idle; i++)
		define(t, &scene, i, scene.ranks && i < n ? 0 : i);
	for (uint32_t i = 0; i < n && scene.waits; i++)
		put_waits(t, i, n, scene.name);
	for (uint32_t i = 0; i < n && scene.locks; i++)
		put_locks(t, i, n, strcmp(scene.name, "chain") == 0);
	for (uint32_t i = 0; i < n && !scene.waits && !scene.locks; i++)
		put_calls(t, i, scene.ranks ? 0 : i, (uint64_t)i * CALLS + 1,
			  scene.ranks && !scene.crowd ? i / 8 * 10000 : 0,
			  scene.crowd && !scene.one_file ? i + 5 : 5);
	for (uint32_t i = n; i < n + idle; i++) {
		memory_enter(t, i, 1000, "fs:ext4_file_read_iter");
		memory_leave(t, i, 2000, "fs:ext4_file_read_iter");
	}
	rc = eta_write_otf2(t, argv[2], &options, &counts);
	eta_close(t);
	return rc < 0 ? 1 : 0;
}

/*
 * make-hosts N ANCHOR [SCENE]: an archive of N machines, or of N ranks on one, that all did the
 * same: a process with a thread that writes a file, and requests to a disk. SCENE:
 *   ranks       at work eight at a time
 *   crowd       all at once, each with a file of its own
 *   file        all with one file
 *   clones      machines that all have one name
 *   containers  ranks that are numbered from 1 on in pid namespaces of their own, and only that is
 *               known
 *   journal, throttling
 *               all wait at once for the file system's journal, or as there are too many dirty
 * pages busy-disk, busy-journal all wait at once for what HELPERS of them use in many short
 * operations
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
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

/* A write from AT on that takes NS, most of it in WAIT, or where that is NULL waiting for a disk.
 */
static void put_wait(struct eta_trace *t, uint32_t location, uint64_t at, uint64_t ns,
		     const char *wait)
{
	static uint64_t match;

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

int main(int argc, char **argv)
{
	struct eta_write_options options = { .threads = 1 };
	const char *scene = argc == 4 ? argv[3] : "";
	bool waits = strcmp(scene, "journal") == 0 || strcmp(scene, "throttling") == 0 ||
		     strcmp(scene, "busy-disk") == 0 || strcmp(scene, "busy-journal") == 0;
	bool one_file = strcmp(scene, "file") == 0, clones = strcmp(scene, "clones") == 0;
	bool containers = strcmp(scene, "containers") == 0;
	bool crowd = one_file || waits || strcmp(scene, "crowd") == 0;
	bool ranks = crowd || containers || strcmp(scene, "ranks") == 0;
	struct eta_counts counts;
	struct eta_trace *t;
	uint32_t n;
	int rc;

	if (argc != 3 && !ranks && !clones) {
		fprintf(stderr, "usage: make-hosts N ANCHOR [SCENE]\n");
		return 2;
	}
	n = (uint32_t)strtoul(argv[1], NULL, 10);
	t = memory_trace_new("hosts");
	for (uint32_t i = 0; i < n; i++) {
		char host[32], boot[48], name[64];
		uint32_t process, pid = containers ? 1 : ranks ? PID + i : PID;

		snprintf(host, sizeof(host), "node%u", ranks || clones ? 0 : i);
		snprintf(boot, sizeof(boot), "boot %u", ranks ? 0 : i);
		process = eta_defs_process(
			t, &(struct eta_process){ .name = "app",
						  .host = host,
						  .boot = boot,
						  .pid = pid,
						  .pid_ns = containers ? 4026600000 + i : 0,
						  .ns_pid = containers ? pid : 0 });
		snprintf(name, sizeof(name), "app tid %u", pid);
		eta_defs_location(t, &(struct eta_location){ .id = i,
							     .name = name,
							     .process = process,
							     .tid = pid,
							     .host = "" });
		snprintf(name, sizeof(name), "/data/%u", ranks ? i : 0);
		eta_defs_file(t, &(struct eta_file){ .path = name,
						     .dev = DISK,
						     .inode = ranks ? i + 5 : 5,
						     .fs = "ext4",
						     .host = host });
		eta_defs_handle(t, &(struct eta_handle){ .name = "disk",
							 .file = ETA_NONE,
							 .device = DISK,
							 .host = host });
	}
	for (uint32_t i = 0; i < n && waits; i++)
		put_waits(t, i, n, scene);
	for (uint32_t i = 0; i < n && !waits; i++)
		put_calls(t, i, ranks ? 0 : i, (uint64_t)i * CALLS + 1,
			  ranks && !crowd ? i / 8 * 10000 : 0, crowd && !one_file ? i + 5 : 5);
	rc = eta_write_otf2(t, argv[2], &options, &counts);
	eta_close(t);
	return rc < 0 ? 1 : 0;
}

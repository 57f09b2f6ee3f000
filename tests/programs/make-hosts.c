/*
 * make-hosts N ANCHOR [ranks|crowd|file]: an archive of N machines, or of N ranks on one, that all
 * did the same: a process with a thread that writes a file, and requests to a disk. Ranks are at
 * work eight at a time; of a crowd all, each with a file of its own, or all with one file.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/memory-trace.h"

enum { DISK = 8 << 20, CALLS = 5, PID = 100 };

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

int main(int argc, char **argv)
{
	struct eta_write_options options = { .threads = 1 };
	const char *scene = argc == 4 ? argv[3] : "";
	bool one_file = strcmp(scene, "file") == 0, crowd = one_file || strcmp(scene, "crowd") == 0;
	bool ranks = crowd || strcmp(scene, "ranks") == 0;
	struct eta_counts counts;
	struct eta_trace *t;
	uint32_t n;
	int rc;

	if (argc != 3 && !ranks) {
		fprintf(stderr, "usage: make-hosts N ANCHOR [ranks|crowd|file]\n");
		return 2;
	}
	n = (uint32_t)strtoul(argv[1], NULL, 10);
	t = memory_trace_new("hosts");
	for (uint32_t i = 0; i < n; i++) {
		char host[32], boot[48], name[64];
		uint32_t process;

		snprintf(host, sizeof(host), "node%u", ranks ? 0 : i);
		snprintf(boot, sizeof(boot), "boot of %s", host);
		process =
			eta_defs_process(t, &(struct eta_process){ .name = "app",
								   .host = host,
								   .boot = boot,
								   .pid = ranks ? PID + i : PID });
		snprintf(name, sizeof(name), "app tid %u", ranks ? PID + i : PID);
		eta_defs_location(t, &(struct eta_location){ .id = i,
							     .name = name,
							     .process = process,
							     .tid = ranks ? PID + i : PID,
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
	for (uint32_t i = 0; i < n; i++)
		put_calls(t, i, ranks ? 0 : i, (uint64_t)i * CALLS + 1,
			  ranks && !crowd ? i / 8 * 10000 : 0, crowd && !one_file ? i + 5 : 5);
	rc = eta_write_otf2(t, argv[2], &options, &counts);
	eta_close(t);
	return rc < 0 ? 1 : 0;
}

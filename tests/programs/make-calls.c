/*
 * make-calls FOLDER ERROR MOUNT: reads lines "NODE TID BEGIN END INODE [SERVED-BEGIN SERVED-END]"
 * in the order of nodes, threads and times, and makes FOLDER/nodeN/unified.otf2 for each node:
 * calls of write on a file system that is mounted as MOUNT ("nfs server:/export"; "-": not known),
 * another device on each node, and in them the time that a server takes. All clocks agree; by ERROR
 * ns that of each may be wrong ("-": nobody knows).
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../unit/memory-trace.h"

enum { DEV = 50, PID = 100 };

struct node {
	struct eta_trace *trace;
	char host[32];
	uint32_t number, process, location, tid, n_files;
	uint64_t files[64];
	const char *mount;
};

static void begin_node(struct node *n, uint32_t number, const char *error, const char *mount)
{
	char boot[32];

	*n = (struct node){ .number = number, .mount = strcmp(mount, "-") == 0 ? "" : mount };
	n->trace = memory_trace_new("calls");
	snprintf(n->host, sizeof(n->host), "node%u", number);
	snprintf(boot, sizeof(boot), "boot %u", number);
	n->process = eta_defs_process(
		n->trace,
		&(struct eta_process){ .name = "app", .host = n->host, .boot = boot, .pid = PID });
	eta_defs_property(n->trace, "SCI::CLOCK", "CLOCK_MONOTONIC");
	eta_defs_property(n->trace, "SCI::REALTIME_OFFSET", "1000000000000000");
	if (strcmp(error, "-") != 0)
		eta_defs_property(n->trace, "SCI::REALTIME_ERROR", error);
}

static void know_file(struct node *n, uint64_t inode)
{
	char path[64];

	for (uint32_t i = 0; i < n->n_files; i++)
		if (n->files[i] == inode)
			return;
	if (n->n_files == sizeof(n->files) / sizeof(*n->files))
		exit(2);
	n->files[n->n_files++] = inode;
	snprintf(path, sizeof(path), "/mnt%u/%" PRIu64, n->number, inode);
	eta_defs_file(n->trace, &(struct eta_file){ .path = path,
						    .dev = DEV + n->number,
						    .inode = inode,
						    .fs = "nfs",
						    .host = n->host,
						    .mount = n->mount });
}

static void know_thread(struct node *n, uint32_t tid, uint64_t begin_ns)
{
	char name[32];

	if (n->tid == tid)
		return;
	snprintf(name, sizeof(name), "app tid %u", tid);
	n->location = eta_defs_location(n->trace, &(struct eta_location){ .id = tid,
									  .name = name,
									  .process = n->process,
									  .tid = tid,
									  .start_ns = begin_ns,
									  .host = "" });
	n->tid = tid;
}

static void put_call(struct node *n, uint64_t begin_ns, uint64_t end_ns, uint64_t inode,
		     const uint64_t served_ns[2])
{
	memory_event(n->trace, n->location,
		     (struct eta_event){ .time_ns = begin_ns,
					 .kind = ETA_ENTER,
					 .has = ETA_HAS_SIZE | ETA_HAS_FILE,
					 .region = memory_region(n->trace, "write"),
					 .size = 4096,
					 .dev = DEV + n->number,
					 .inode = inode });
	if (served_ns[1]) {
		memory_enter(n->trace, n->location, served_ns[0], "net:server");
		memory_leave(n->trace, n->location, served_ns[1], "net:server");
	}
	memory_event(n->trace, n->location,
		     (struct eta_event){ .time_ns = end_ns,
					 .kind = ETA_LEAVE,
					 .region = memory_region(n->trace, "write") });
}

static int end_node(struct node *n, const char *folder)
{
	struct eta_write_options options = { .threads = 1 };
	struct eta_counts counts;
	char path[4096];
	int rc;

	if (!n->trace)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", folder, n->host);
	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -errno;
	snprintf(path, sizeof(path), "%s/%s/unified.otf2", folder, n->host);
	rc = eta_write_otf2(n->trace, path, &options, &counts);
	eta_close(n->trace);
	n->trace = NULL;
	return rc;
}

int main(int argc, char **argv)
{
	struct node node = { 0 };
	char line[256];
	int rc = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: make-calls FOLDER ERROR MOUNT\n");
		return 2;
	}
	while (rc == 0 && fgets(line, sizeof(line), stdin)) {
		uint64_t begin_ns, end_ns, inode, served_ns[2] = { 0 };
		uint32_t number, tid;
		int n = sscanf(line,
			       "%" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64
			       " %" SCNu64 " %" SCNu64,
			       &number, &tid, &begin_ns, &end_ns, &inode, &served_ns[0],
			       &served_ns[1]);

		if (n != 5 && n != 7)
			return 2;
		if (!node.trace || node.number != number) {
			rc = end_node(&node, argv[1]);
			begin_node(&node, number, argv[2], argv[3]);
		}
		know_thread(&node, tid, begin_ns);
		know_file(&node, inode);
		put_call(&node, begin_ns, end_ns, inode, served_ns);
	}
	if (rc == 0)
		rc = end_node(&node, argv[1]);
	return rc ? 1 : 0;
}

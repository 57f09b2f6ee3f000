/* What the I/O of a trace is like at each level, whatever it lost. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_WORKLOAD_H
#define SCI_WORKLOAD_H

#include "src/analysis/tables/analysis.h"
#include "src/analysis/tables/durations.h"

/* X(ID, name): what rows are grouped by, besides the level and the interval. */
#define WORKLOAD_GROUPS(X)                                                                         \
	X(LEVEL, "level")                                                                          \
	X(FILE, "file")                                                                            \
	X(PROCESS, "process")                                                                      \
	X(THREAD, "thread")                                                                        \
	X(DEVICE, "device")                                                                        \
	X(MACHINE, "machine")

enum workload_by {
#define X(id, name) WORKLOAD_BY_##id,
	WORKLOAD_GROUPS(X)
#undef X
};

/* X(ID, name, up to bytes): size classes. */
#define WORKLOAD_SIZES(X)                                                                          \
	X(512, "le_512", 512)                                                                      \
	X(4K, "le_4k", 4096)                                                                       \
	X(16K, "le_16k", 16384)                                                                    \
	X(64K, "le_64k", 65536)                                                                    \
	X(256K, "le_256k", 262144)                                                                 \
	X(1M, "le_1m", 1048576)                                                                    \
	X(MORE, "gt_1m", UINT64_MAX)

enum workload_size {
#define X(id, name, bytes) WORKLOAD_SIZE_##id,
	WORKLOAD_SIZES(X)
#undef X
		N_WORKLOAD_SIZES
};

struct workload_options {
	enum workload_by by;
	uint64_t interval_ns;				  /* 0: one row for all time */
	uint64_t from_ns, to_ns;			  /* as in analysis_options */
	unsigned threads;				  /* 0: as many as CPUs */
	int (*progress)(void *arg, uint64_t events_done); /* as in analysis_options */
	void *progress_arg;
};

/* The level of what a hypervisor counted for the disks that it shows. */
#define LEVEL_VIRTUAL_DISK (ETA_LEVEL_NONE + 1)
/* Of what the client of a network file system counted for its servers, for all processes. */
#define LEVEL_NET_CLIENT (ETA_LEVEL_NONE + 2)

enum { WORKLOAD_READ, WORKLOAD_WRITE, N_WORKLOAD_MODES };

struct workload_row {
	uint64_t interval; /* its number */
	uint32_t group;	   /* the engine's number of the group: not for output */
	uint8_t level;	   /* enum eta_level; LEVEL_VIRTUAL_DISK, LEVEL_NET_CLIENT */
	uint64_t n[N_WORKLOAD_MODES], bytes[N_WORKLOAD_MODES];
	bool no_bytes; /* they were not counted */
	uint64_t failed;
	uint64_t judged;	       /* whose offset is known */
	uint64_t sequential, windowed; /* of these, by the strict and the windowed rule */
	uint64_t cached, hits; /* reads through the page cache; that found all pages there */
	uint64_t sizes[N_WORKLOAD_SIZES];
	struct durations size;	    /* bytes, no time */
	struct durations latency;   /* of those whose end was seen */
	struct durations gap;	    /* from begin to begin */
	uint64_t busy_ns;	    /* sum of latencies */
	uint64_t first_ns, last_ns; /* from the first begin to the last end */
	uint32_t depth_max;	    /* at a time */
	/* BLOCK: bytes of the group's operations in this interval; */
	uint64_t user_bytes[N_WORKLOAD_MODES];
	/* of the group; of the rows by level: "" */
	const char *name;
	const char *host; /* its machine, "" unknown */
	uint32_t dev, tid, pid;
	uint64_t inode;
};

struct workload {
	const struct eta_defs *defs;
	struct workload_options options;
	struct eta_counts counts;
	uint64_t begin_ns, duration_ns; /* as in struct analysis */
	uint64_t origin_ns;		/* the first event of all: intervals are counted from it */
	uint64_t open_bios;		/* requests without a completion */
	uint64_t events, operations;
	bool has_levels;
	struct workload_row *rows; /* by interval, then most bytes first, then level */
	size_t n_rows;
	uint64_t no_offset; /* accesses with unknown offset */
	char **names;	    /* of rows that no definition names */
	size_t n_names, names_room;
};

/* A failure has been reported. */
int workload_run(struct eta_trace *trace, const struct workload_options *options,
		 struct workload **out);
void workload_free(struct workload *workload);

#endif

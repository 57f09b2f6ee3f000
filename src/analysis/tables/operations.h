/*
 * Builds operations from the events of a location: outermost I/O regions, with their time by cell.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_OPERATIONS_H
#define SCI_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "eta-ext/base/eta.h"
#include "cells.h"

/* ---- what the walk needs to know of each region ---- */

enum syncs { SYNCS_NOTHING, SYNCS_FILE, SYNCS_ALL };

struct region_info {
	uint64_t hash;	      /* of the name: regions of one name are one region */
	uint8_t cell;	      /* enum cell */
	uint8_t mode;	      /* enum operation_mode by the name */
	bool changes;	      /* calls of that name may change a file system, or sync it */
	bool io;	      /* opens an operation */
	bool is_reason;	      /* a wait inside the path, not a step of it */
	bool adds_pages;      /* reads pages into the page cache */
	bool bio_explains;    /* time in it is a wait for block I/O while a bio is in flight */
	bool everywhere;      /* waits for all file systems and devices: sync */
	uint8_t syncs;	      /* enum syncs: writes out what others have left behind */
	bool only_waits;      /* an operation of its own is recorded only if it waits */
	bool is_memory_fault; /* see shortage_settle_fault() */
	bool is_write_fault;  /* on a mapped page that was clean */
	bool reaps;	      /* waits for asynchronous operations that were submitted before */
};

struct regions {
	struct region_info *info;
	uint32_t n;
	bool scheduler; /* the trace has the times when a thread was off the CPU */
	bool light; /* of the kernel's own operations only those that waited: SCI::KERNEL_MODE */
};

/* What the regions of DEFS are to the walk, in their order. 0 or -ENOMEM. */
int regions_new(const struct eta_defs *defs, struct regions *regions);
void regions_free(struct regions *regions);
/* Does the call NAME wait for asynchronous operations that were submitted before? */
bool call_reaps(const char *name);

/* ---- operations ---- */

enum operation_mode { MODE_OTHER, MODE_READ, MODE_WRITE };
enum operation_result { RESULT_FULL, RESULT_SHORT, RESULT_ZERO, RESULT_ERROR };
enum similar { SIMILAR_DEFAULT, SIMILAR_PAPER };

/* In place of a tid: the index of a location, which may be of another machine. */
#define TID_LOCATION (1u << 31)

/* A part of an operation's time in one cell; one follows the other. */
struct stretch {
	uint64_t ns;
	/*
	 * Time on a device's account: the device, 0: not known, that of the file system. A wait
	 * that others cause by nature: tid of who held the lock or had the CPU, 0: not known.
	 */
	uint32_t what;
	/*
	 * Tid of the task that the kernel named, 0: unknown. For a device: it had a request there;
	 * a file system: it synced it; the page cache: it was throttled, too.
	 */
	uint32_t who;
	uint8_t cell;	/* enum cell */
	bool elsewhere; /* of a guest's host: `what` is the device's location + 1 */
};

/* An operation at one level: the outermost region of that level. Parents come first. */
struct level_region {
	uint64_t begin_ns;
	uint64_t ns;	 /* of it and its like in the same parent */
	uint64_t bytes;	 /* transferred */
	uint64_t offset; /* in the file */
	uint32_t parent; /* index of the one around it; ETA_NONE: the operation itself */
	uint8_t level;	 /* enum eta_level */
	uint8_t mode;	 /* enum operation_mode */
	bool has_size, has_bytes, has_offset; /* of its own */
};

struct operation {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t signature; /* of names (paper) or of the folded tree of regions (default) */
	uint64_t size;	    /* requested bytes */
	uint64_t bytes;	    /* transferred */
	uint64_t offset;    /* where has_offset */
	uint64_t inode;
	uint32_t dev;	 /* of the file */
	uint32_t file;	 /* index into the definitions, ETA_NONE */
	uint32_t handle; /* the same */
	uint32_t region; /* the outermost */
	uint32_t stack;	 /* index into the definitions, ETA_NONE */
	uint64_t caller; /* return address, 0: unknown */
	uint8_t mode;	 /* enum operation_mode */
	uint8_t result;	 /* enum operation_result */
	bool direct;	 /* O_DIRECT */
	bool changes;	 /* may change a file system, or sync it */
	bool truncated;	 /* the trace ends inside it */
	bool issued_bio;
	bool awaited_bio; /* a bio that it issued completed before it ended */
	bool added_pages; /* read pages that were not in the page cache */
	bool has_offset;
	bool opens;			  /* makes the handle: its position is 0 */
	bool everywhere;		  /* see struct region_info */
	bool only_waits;		  /* such operations are recorded only if they wait */
	bool syncs_others;		  /* writes out what anybody has made dirty */
	uint64_t others_ns;		  /* waits for others (cell_is_for_others), if requested */
	uint64_t cells;			  /* set of those with time */
	uint64_t ns[N_CELLS];		  /* exclusive times; their sum is end - begin exactly */
	uint64_t others_cell_ns[N_CELLS]; /* of them, = others_ns in sum */
	uint64_t host_ns[ETA_N_LEVELS];	  /* of ns, by level: in the host of the guest */
	struct stretch *stretches;	  /* from begin to end, where the sink asks for them */
	size_t n_stretches;
	struct level_region
		*level_regions; /* in order of their begins, where the sink asks for them */
	size_t n_level_regions;
};

/* A block request of the thread, also outside operations. */
struct bio {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint32_t dev;
	uint32_t owner_tid; /* who dirtied the pages, or TID_LOCATION; 0: the thread itself */
	uint8_t mode;	    /* enum operation_mode; OTHER: a flush */
	bool open;	    /* its completion was not seen: end_ns is invalid */
	uint64_t bytes;
	uint64_t offset; /* on the device */
	bool has_offset;
	bool lower; /* part of one to a stacked device, which is recorded, too */
};

struct walk;

struct walk_sink {
	/* Return 0, or -errno to stop. The operation is good until the function returns. */
	int (*operation)(void *arg, const struct operation *op);
	int (*bio)(void *arg, const struct bio *bio); /* or NULL */
	void *arg;
	uint64_t from_ns, to_ns; /* of waits between operations, this time is counted */
	uint32_t tid;		 /* of the location: a wait for itself is for nobody */
	bool others;		 /* fill operation.others_ns and others_cell_ns */
	bool stretches;		 /* fill operation.stretches */
	bool level_regions;	 /* fill operation.level_regions */
};

struct walk_counts {
	uint64_t events;
	uint64_t first_ns; /* of the first event; UINT64_MAX without events */
	uint64_t last_ns;
	uint64_t last_operation_ns; /* the end of the last one; requests may come behind it */
	uint64_t orphan;     /* the merge has counted these already when it checked the trace: */
	uint64_t truncated;  /* what is left is what it did not see */
	uint64_t open_bios;  /* completion never seen */
	bool regions;	     /* there are any */
	uint64_t outside_ns; /* ready to run, for a CPU, between operations */
};

/* One per thread of the analysis; it is used for one location after the other. */
int walk_new(const struct eta_defs *defs, const struct regions *regions, enum similar similar,
	     struct walk **out);
void walk_free(struct walk *walk);

/*
 * A location begins: its operations and requests go to SINK, which stays until walk_end. Its events
 * are given in their order, in any portions. walk_events, walk_end: 0, -ENOMEM, or what SINK
 * returned.
 */
void walk_begin(struct walk *walk, const struct walk_sink *sink);
int walk_events(struct walk *walk, const struct eta_event *events, size_t n);
/* Only a part of the location's events was given, of what is WHOLE. */
void walk_take_whole(struct walk *walk, const struct eta_whole *whole);
/* Closes what is open at the last event. */
int walk_end(struct walk *walk, struct walk_counts *counts);

/*
 * Regions that contain I/O records directly but were not known as I/O: the walk marks them in its
 * own set. Any found? Marks them in REGIONS unless that is NULL; then start again.
 */
bool walk_found(struct walk *walk, struct regions *regions);

#endif

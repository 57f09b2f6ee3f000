/* Inside of the spool source's kernel side: the index of what the records are of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_INDEX_H
#define ETA_SPOOL_INDEX_H

#include "spool.h"

/*
 * The kernel's files are per CPU and in order of completion, threads wander between CPUs. The index
 * has the place of every record, by task and time; 16 bytes each, in a mapped temporary file.
 */
struct index_entry {
	uint64_t time_ns;
	uint64_t unit; /* of all files together */
};

struct index_slice {
	uint64_t first, n;
};

/* Kinds of spans that a wait on the way out of a call may be. */
#define INDEX_RETURNING_KINDS                                                                      \
	(1u << ETA_SPAN_RUN_QUEUE | 1u << ETA_SPAN_QUOTA | 1u << ETA_SPAN_WAKE_UP |                \
	 1u << ETA_SPAN_STOPPED | 1u << ETA_SPAN_SLEEP | 1u << ETA_SPAN_PAGE_WRITEBACK_WAIT)

/* Regions of waits at a place that is not listed: called as others are, described by the place. */
struct index_place {
	uint32_t lock, journal_commit, other_wait[ETA_N_LEVELS];
};

/*
 * All that has one (pid, tid) and no track, or one track; or, where `device`, all completions of
 * one device.
 */
struct index_group {
	uint32_t pid, tid, track, dev;
	bool device;
	struct index_slice operations, bios;
	/* requests that others submitted for it: writeback; and its calls to servers */
	struct index_slice owned;
};

struct index_task {
	uint64_t start_ns, noted_ns;
	uint64_t end_ns;    /* 0: it has not exited */
	uint64_t waited_ns; /* for one that is not traced */
	uint32_t pid, tid, ppid;
	uint32_t ns_pid, ns_tid, pid_ns;
	uint64_t cgroup;
	bool kernel_thread;
	bool untraced; /* known by name only; */
	bool located;  /* has a location all the same: of what it did for others */
	char comm[16];
};

/* What is known of the file system on a device, and its own regions. */
struct index_fs {
	uint32_t dev;
	uint32_t magic;
	uint32_t span_kinds; /* bit per kind met in an operation on it */
	uint32_t regions[ETA_N_SPANS];
	uint32_t file_read, file_write; /* around what the file system did, where no span says so */
};

/* What a location is: the part of a group that is one lifetime of a task. */
struct index_location {
	struct index_slice operations, bios, owned;
	bool device;
};

struct spool_index {
	struct index_group *groups; /* sorted: tasks by pid and tid, then devices */
	size_t n_groups;
	struct index_task *tasks; /* sorted by pid, tid, start */
	size_t n_tasks, task_room;
	struct index_fs *fs;
	size_t n_fs;
	struct index_location *locations;
	size_t n_locations;
	struct index_entry *entries;
	uint64_t n_entries;
	uint64_t left_out; /* records from before the trace's begin_ns */
	bool has_tracks, has_rpcs;
	uint64_t spans_lost;	      /* what operations had no room for */
	struct spool_handle *devices; /* id: dev */
	size_t n_devices;
	enum eta_level span_levels[ETA_N_SPANS + 1]; /* the last: the file system's function */
	const struct spool_place *sleeps;	     /* of image 0 */
	uint32_t n_sleeps;
	uint32_t listener_tid;	    /* who answers fanotify; 0: not known */
	struct index_place *places; /* as many; ETA_NONE where the place is listed, or not known */
	struct {
		uint32_t page_lock;
		uint32_t other_wait[ETA_N_LEVELS];
		uint32_t queue, device, throttled, journal_commit;
		uint32_t throttled_by_own_limit, reclaim, writeback_wait, fanotify_listener,
			fuse_server; /* ETA_NONE: no such file system */
		uint32_t own_work;
		uint32_t dropped_pages;
		uint32_t rpc_queue, retransmit, server; /* where has_rpcs */
	} regions;
};

/* Reads the kernel files of the spool and sorts them; fills groups, tasks, fs and entries. */
int index_build(struct eta_trace *trace, struct spool_index *index);
void index_free(struct spool_index *index);
/* Room for the index's n_entries (kernel-index-entries.c). 0 or -errno, reported. */
int index_map(const struct eta_trace *trace, struct spool_index *index);
void index_unmap(struct spool_index *index);
/* The entries of SLICE by time, those of one time by place. */
void index_sort(const struct spool_index *index, struct index_slice slice);
/* What lies in [FROM, TO) of the entries was read and may leave memory. */
void index_release(const struct spool_index *index, uint64_t from, uint64_t to);
/* The entry of DEV, or NULL. */
const struct index_fs *index_find_fs(const struct spool_index *index, uint32_t dev);

/* Work of the file system's own read and write functions. */
#define FS_WORK                                                                                    \
	(1u << ETA_SPAN_INODE_LOCK | 1u << ETA_SPAN_PAGECACHE_WRITE | 1u << ETA_SPAN_FS_DIRECT)

/* The region of a span of KIND with FLAGS (ETA_SPAN_*) on FS. */
uint32_t index_region(const struct spool_index *index, const struct index_fs *fs, uint8_t kind,
		      uint8_t flags);

/* Defines what the regions of INDEX's operations are called (kernel-regions.c). */
int expand_define(struct eta_trace *trace, struct spool_index *index);

#endif

/* Inside of the spool source's kernel side: the index, and the regions that spans become. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_INDEX_H
#define ETA_SPOOL_INDEX_H

#include "eta-ext/base/array.h"
#include "spool.h"

/* ---- the index (kernel-index.c) ---- */

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
	struct index_slice owned; /* requests that others submitted for it: writeback */
};

struct index_task {
	uint64_t start_ns, noted_ns;
	uint64_t waited_ns; /* for one that is not traced */
	uint32_t pid, tid, ppid;
	uint32_t ns_pid, ns_tid, pid_ns;
	uint64_t cgroup;
	bool kernel_thread, exited;
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
	bool has_tracks;
	uint64_t spans_lost;	      /* what operations had no room for */
	struct spool_handle *devices; /* id: dev */
	size_t n_devices;
	enum eta_level span_levels[ETA_N_SPANS + 1]; /* the last: the file system's function */
	const struct spool_place *sleeps;	     /* of image 0 */
	uint32_t n_sleeps;
	struct index_place *places; /* as many; ETA_NONE where the place is listed, or not known */
	struct {
		uint32_t page_lock;
		uint32_t other_wait[ETA_N_LEVELS];
		uint32_t queue, device, held_back, journal_commit;
		uint32_t held_back_by_own_limit, reclaim;
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

/* ---- one operation as nested regions (kernel-expand.c) ---- */

/* Work of the file system's own read and write functions. */
#define FS_WORK                                                                                    \
	(1u << ETA_SPAN_INODE_LOCK | 1u << ETA_SPAN_PAGECACHE_WRITE | 1u << ETA_SPAN_FS_DIRECT)

/* A block request of the thread, or made for it, that may be in flight. */
struct expand_bio {
	uint64_t queue_ns, issue_ns, end_ns; /* 0: not seen */
	uint32_t queue_who, device_who;	     /* who was ahead of it there; 0: nobody known */
	/* for which part of the time there, in ETA_SLEEP_WHOLE */
	uint32_t queue_part, device_part;
};

struct expand_span {
	uint64_t begin_ns, end_ns;
	uint64_t object;
	uint32_t who;
	uint16_t place; /* OTHER_LOCK: SLEEP id, 0: unknown */
	uint8_t kind;	/* ETA_N_SPANS: the file system's function, which no span says */
	uint8_t flags;
};

struct expand {
	const char *path; /* of the trace, for messages */
	const struct spool_index *index;
	struct eta_counts *counts;
	struct eta_event *events; /* the result: ENTERs and LEAVEs, nested, by time */
	size_t n, room;
	bool adds_pages;	   /* the operation, to the page cache */
	bool asynchronous;	   /* nobody sleeps in it */
	struct expand_span *spans; /* scratch */
	size_t span_room;
	struct expand_open *stack;
	size_t depth, stack_room;
};

/*
 * The spans of OP in EXPAND->spans, clipped to it, sorted: how many, or -ENOMEM. END_NS is the end
 * of the operation, KIND its kind (enum eta_op_kind).
 */
ssize_t expand_take_spans(struct expand *expand, const struct eta_kernel_op *op, uint64_t end_ns,
			  uint8_t kind);

/*
 * OP as regions. NAME is its system call, BIOS the thread's requests that may be in flight during
 * it. 0 or -ENOMEM.
 */
int expand_operation(struct expand *expand, const struct eta_kernel_op *op, struct spool_name name,
		     const struct expand_bio *bios, size_t n_bios);
void expand_free(struct expand *expand);

/* As ARRAY_FITS, where a failure is reported; EXPAND is for the message. */
#define EXPAND_FITS(expand, array, n, room)                                                        \
	(ARRAY_FITS(array, n, room) || (expand_no_memory(expand), false))
void expand_no_memory(const struct expand *expand);

/* ---- records in the order of the index (kernel-reader.c) ---- */

struct record_reader {
	const struct spool *spool;
	struct spool_view *views; /* per file, opened when first used */
	struct index_slice left;
	uint64_t released; /* entries before it have left memory */
	size_t window_bytes;
};

int record_reader_init(struct record_reader *reader, const struct spool *spool,
		       struct index_slice slice);
void record_reader_free(struct record_reader *reader);
const struct index_entry *record_reader_peek(const struct record_reader *reader);
/* The record of the next entry, valid until the next call; it is there, so 0 is never given. */
int record_reader_next(struct record_reader *reader, const struct eta_record_head **record,
		       uint64_t *unit);

/* The record of an operation or wait, copied. */
struct held_operation {
	struct eta_kernel_op *op; /* in these: */
	struct eta_span *units;
	size_t room;
};

/* Those of operations and waits, looking ahead of one for what happens on its way out. */
struct operation_reader {
	struct record_reader records;
	struct held_operation ending, next;
	bool has_next; /* was read already */
};

/* When the next one begins; UINT64_MAX: there is none. */
uint64_t operation_reader_peek(const struct operation_reader *reader);
/*
 * The next one, valid until the next call: a system call that the thread left a CPU on the way out
 * of ends when it is back on one. EXPAND is for messages.
 */
int operation_reader_next(struct operation_reader *reader, const struct expand *expand,
			  const struct eta_kernel_op **op);
void operation_reader_free(struct operation_reader *reader);

/* Defines what the regions of INDEX's operations are called (kernel-regions.c). */
int expand_define(struct eta_trace *trace, struct spool_index *index);

#endif

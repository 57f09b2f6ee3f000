/* What the probes and the collector agree on: totals, limits, files and requests on their way. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_SHARED_H
#define KERNELIO_SHARED_H

#include "eta-ext/format/record.h"

/* In the map `running`: whoever runs on the CPU came without a switch being reported. */
#define SLOT_UNSURE 0xffffffffU

/* Flags of open(2) as this architecture numbers them. */
struct kernelio_open_flags {
	uint32_t direct, sync, append;
};

struct file_key {
	uint64_t inode;
	uint32_t dev;
	uint32_t zero;
};

/* An asynchronous operation in flight. */
struct async_op {
	struct eta_kernel_op op;
	struct eta_span ready; /* its result was there, but who has to report it had no CPU */
	uint64_t ready_ns;     /* when the result was there; 0: not yet, or not known */
	uint32_t slot, tid;    /* the submitting thread */
	uint32_t unknown;      /* its file is known only at its end */
	uint32_t worker;       /* slot of the worker that serves it; 0: none has waited yet */
	uint32_t served;       /* a worker went on to another one, and left spans in served_ops */
	uint32_t reserved;
};

/*
 * X(name, what, said, end): sums over the run. SAID at its end where there are any: WARN, NOTE or
 * NONE, as "kernel: N END"; GAP: WARN where they are many, else NOTE.
 */
#define KERNELIO_TOTALS(X)                                                                         \
	X(read_bytes, "bytes read by system calls", NONE, "")                                      \
	X(written_bytes, "bytes written by system calls", NONE, "")                                \
	X(bio_read_bytes, "bytes of read bios by traced threads", NONE, "")                        \
	X(bio_written_bytes, "bytes of write bios by traced threads", NONE, "")                    \
	X(bio_direct_bytes, "of those: bytes of direct I/O", NONE, "")                             \
	X(bio_journal_bytes, "of those: bytes of no file (journal, metadata)", NONE, "")           \
	X(writeback_bytes, "bytes of write bios by others for traced threads", NONE, "")           \
	X(bio_kernel_bytes, "bytes of write bios of the kernel's own: journals, metadata", NONE,   \
	  "")                                                                                      \
	X(dirtied_bytes, "bytes of pages dirtied by traced threads", NONE, "")                     \
	X(filtered_calls, "system calls that the filters left out", NOTE,                          \
	  "system calls left out by the filters")                                                  \
	X(spans_lost, "spans beyond what one operation keeps", WARN,                               \
	  "spans beyond what an operation keeps")                                                  \
	X(returns_missed, "functions whose return was not seen: spans that are missing", WARN,     \
	  "functions not seen to return: their spans are missing")                                 \
	X(switches_missed, "context switches that no probe saw, noticed at the next call", GAP,    \
	  "context switches not reported: who had the CPU before is not known")                    \
	X(completions_missed, "bios whose memory was used again before their end was seen", GAP,   \
	  "bios without an end: their completion was not reported")                                \
	X(ends_late, "asynchronous operations whose end was seen in the program's ring only", GAP, \
	  "asynchronous operations that may have ended earlier: their completion was not "         \
	  "reported")                                                                              \
	X(tasks_missed, "threads there was no room to follow", WARN,                               \
	  "threads not followed: too many at once (larger --threads)")                             \
	X(faults_failed, "page faults that began to read and failed: no operations", NOTE,         \
	  "page faults that read a mapped file failed: no operations")                             \
	X(asyncs_missed, "asynchronous operations beyond those kept under way", WARN,              \
	  "asynchronous operations not followed: too many under way")                              \
	X(bios_missed, "bios beyond those kept in flight", WARN,                                   \
	  "bios not followed: too many in flight")                                                 \
	X(shares_missed, "bytes of written pages given to another owner of the same bio", WARN,    \
	  "bytes written for others than their owner: too many threads in one bio")                \
	X(sleeps_unnamed, "sleeps whose place was not kept", NONE, "")                             \
	X(skipped_calls, "system calls on files of the directory left out", NONE, "")              \
	X(async_read_bytes, "bytes read by asynchronous operations", NONE, "")                     \
	X(async_written_bytes, "bytes written by asynchronous operations", NONE, "")               \
	X(faulted_bytes, "bytes of mapped pages that faults waited for", NONE, "")                 \
	X(compat_calls, "I/O system calls of 32-bit programs, not traced", WARN,                   \
	  "I/O system calls of 32-bit programs not traced")

struct kernelio_totals {
#define X(name, what, said, end) uint64_t name;
	KERNELIO_TOTALS(X)
#undef X
};

#define KERNELIO_N_TYPES 24 /* at least the number of record types */

/* Kept by each CPU. A lost record is counted in both, so produced = recorded + lost. */
struct kernelio_cpu {
	uint64_t produced[KERNELIO_N_TYPES];
	uint64_t lost[KERNELIO_N_TYPES];
	struct kernelio_totals totals;
};

#define KERNELIO_SLEEP_FRAMES 24
#define KERNELIO_PATH_BYTES 4096

/*
 * A FILE record as it leaves the kernel: instead of a path, names from the last component to the
 * first, each ended by a NUL. path_bytes counts them all.
 */
struct kernelio_file {
	struct eta_record_head head;
	uint32_t dev;
	uint32_t open_flags;
	uint64_t inode;
	uint64_t prev;
	uint32_t fs_magic;
	uint32_t path_bytes;
	char names[KERNELIO_PATH_BYTES + 256];
};

/* X(ID, region): limits that threads wait for. */
#define KERNELIO_LIMITS(X)                                                                         \
	X(QUOTA, "cpu:quota")                                                                      \
	X(REALTIME, "cpu:quota")                                                                   \
	X(DEADLINE, "cpu:quota")                                                                   \
	X(STOPPED, "cpu:stopped")                                                                  \
	X(RECLAIM, "pagecache:reclaim at own limit")                                               \
	X(THROTTLED, "block:held back by own limit")                                               \
	X(EVICTION, "pagecache:eviction at own limit") /* no wait: pages evicted for the group */

enum kernelio_limit_kind {
#define X(id, region) KERNELIO_LIMIT_##id,
	KERNELIO_LIMITS(X)
#undef X
		KERNELIO_N_LIMITS,
};

/* One that threads waited for: key and value of the map `limits`. */
struct kernelio_limit_key {
	/*
	 * Number of the control group in its hierarchy; of STOPPED enum kernelio_stop; of DEADLINE
	 * us of runtime << 32 | us of period.
	 */
	uint64_t group;
	uint32_t kind; /* enum kernelio_limit_kind */
	uint32_t zero;
};

/* Of STOPPED, what stopped them. */
enum kernelio_stop {
	KERNELIO_STOP_SIGNAL = 1,
	KERNELIO_STOP_TRACER,
	KERNELIO_STOP_FREEZER,
};

#define KERNELIO_LIMIT_DEPTH 8
#define KERNELIO_LIMIT_NAME 96
#define KERNELIO_NO_LIMIT UINT64_MAX
struct kernelio_limit {
	uint64_t ns; /* that threads waited, together; of EVICTION pages */
	/*
	 * Of QUOTA ns in each of so many; of RECLAIM, EVICTION the bytes of memory.max,
	 * memory.high; of THROTTLED bytes and requests a second, each read and written.
	 */
	uint64_t amounts[4];
	/* of the group, from the last component to the first; a NUL first ends them */
	char names[KERNELIO_LIMIT_DEPTH][KERNELIO_LIMIT_NAME];
};

/* How many system calls are known in which threads wait for each other, and as many to wake. */
#define KERNELIO_THREAD_CALLS 9

/*
 * Waits of threads between their operations, while the thread that then woke them was in a certain
 * call: value of the map `wakings`.
 */
struct kernelio_waking {
	uint64_t ns, n; /* together */
	uint64_t longest_ns;
	uint32_t tid; /* who waited longest at once */
	uint32_t zero;
};

/* Sleeps of a thread outside of operations, in a system call: key and value of the map `asleep`. */
struct kernelio_asleep_key {
	uint32_t tid;
	int32_t call; /* number of the system call; -1: in none; or this: */
};
#define KERNELIO_COMPAT_CALL (-2) /* one of a 32-bit program, which has other numbers */
struct kernelio_asleep {
	uint64_t ns, n; /* together */
};

/* For whom a kernel thread moved bytes without a record: key of the map `worked`. */
struct kernelio_worked_key {
	uint32_t worker, tid;
};

/*
 * A task that is not traced, the last one to be slowed by the kernel for want of pages: it takes
 * the same that a traced thread waits for.
 */
struct foreign_slowed {
	uint64_t time_ns;
	uint64_t bdi; /* throttled: address of the state of the disk that it writes to */
	uint32_t tid;
	uint32_t zero;
};

struct evictor {
	uint32_t pid, tid;
	uint64_t group; /* whose memory it is: an address, compared only */
};

/* Where a request is counted: see bpf/queue-ahead.h. Small: it is on stacks. */
struct counted {
	uint32_t disk;	/* index */
	uint32_t place; /* 1 + index of its owners; 0: not counted */
	uint32_t tid;
	uint8_t on_disk;     /* it is one of those of that disk, with a place or without */
	uint8_t served;	     /* it is for the file of a loop device */
	uint8_t syncs_file;  /* it makes a loop device sync its file */
	uint8_t stacked;     /* the disk passes it on to lower ones */
	uint8_t lone;	     /* no other request of a traced thread was there when it was queued */
	uint8_t of_traced;   /* it is one of the disk's n_traced */
	uint32_t came;	     /* foreign_came of the disk when it was queued */
	uint32_t flush_part; /* of what it flushes, that was written by others: see
				disk_written_part */
	uint32_t by;	     /* of an untraced task: who queued it */
	uint32_t recent_part, recent_tid; /* when it was queued: see recent_alone */
	uint64_t flushes_ns; /* when it was queued, if it flushes the disk's cache; else 0 */
};

/* A request in flight: value of the map `bios`. */
struct bio_state {
	struct eta_bio_record record;
	int32_t fragments; /* the bio itself and what was split off it */
	uint32_t shared;   /* of several owners: see bio_shares */
	uint64_t vector;   /* on a stacked device: the address of its vector; else 0 */
	uint64_t upper;	   /* key of the bio that stacked devices made this one of; 0: none */
	uint64_t iocb;	   /* address of the asynchronous I/O on a block device that it is all of */
	struct counted counted;
};

#endif

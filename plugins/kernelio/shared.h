/* What the probes and the collector agree on: system calls, totals, the file record on its way. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_SHARED_H
#define KERNELIO_SHARED_H

#include "eta-ext/base/name-calls.h"
#include "eta-ext/format/record.h"

/* In the map `running`: whoever runs on the CPU came without a switch being reported. */
#define SLOT_UNSURE 0xffffffffU

/* How a system call's arguments are laid out. */
enum kernelio_shape {
	SHAPE_NONE,
	SHAPE_RW,	/* fd, buffer, bytes; at the file position */
	SHAPE_PRW,	/* fd, buffer, bytes, offset */
	SHAPE_RWV,	/* fd, iovec, n; at the file position */
	SHAPE_PRWV,	/* fd, iovec, n, offset; -1: at the file position */
	SHAPE_FD,	/* fd */
	SHAPE_RETURNS,	/* gives a descriptor */
	SHAPE_SEEK,	/* fd, offset, whence */
	SHAPE_RANGE,	/* fd, offset, bytes */
	SHAPE_TRUNCATE, /* fd, length */
	SHAPE_ALLOCATE, /* fd, mode, offset, bytes */
	SHAPE_COPY,	/* fd in, &offset, fd out, &offset, bytes: the file is the one written */
	SHAPE_SPLICE,	/* the same, with a pipe on one side */
	SHAPE_SENDFILE, /* fd out, fd in, &offset, bytes */
	SHAPE_CONTROL,	/* fd, command: one of those that lock, or no operation */
	SHAPE_SYNC,	/* fd, of a directory, too */
	SHAPE_MAPPED,	/* address, bytes: of what is mapped there */
	SHAPE_NO_FILE,	/* of all file systems */
	SHAPE_NAME,	/* no file that is known; no operation where it did not wait */
	SHAPE_FILE_MAP, /* the same; fd is the fifth */
	SHAPE_AIO,	/* from here on no operation itself: handed to bpf/aio.h */
	SHAPE_AIO_SUBMIT = SHAPE_AIO, /* context, n, list */
	SHAPE_AIO_REAP,		      /* context, least, n, events */
};

/* X(name, kind, shape): a system call that is an operation on a file. The NAME id is its place. */
#define KERNELIO_SYSCALLS(X)                                                                       \
	X(read, READ, RW)                                                                          \
	X(write, WRITE, RW)                                                                        \
	X(pread64, READ, PRW)                                                                      \
	X(pwrite64, WRITE, PRW)                                                                    \
	X(readv, READ, RWV)                                                                        \
	X(writev, WRITE, RWV)                                                                      \
	X(preadv, READ, PRWV)                                                                      \
	X(pwritev, WRITE, PRWV)                                                                    \
	X(preadv2, READ, PRWV)                                                                     \
	X(pwritev2, WRITE, PRWV)                                                                   \
	X(fsync, SYNC, SYNC)                                                                       \
	X(fdatasync, SYNC, SYNC)                                                                   \
	X(sync_file_range, SYNC, RANGE)                                                            \
	X(lseek, SEEK, SEEK)                                                                       \
	X(open, OPEN, RETURNS)                                                                     \
	X(openat, OPEN, RETURNS)                                                                   \
	X(openat2, OPEN, RETURNS)                                                                  \
	X(creat, OPEN, RETURNS)                                                                    \
	X(close, CLOSE, FD)                                                                        \
	X(ftruncate, META, TRUNCATE)                                                               \
	X(fallocate, META, ALLOCATE)                                                               \
	X(copy_file_range, WRITE, COPY)                                                            \
	X(sendfile, READ, SENDFILE)                                                                \
	X(splice, READ, SPLICE)                                                                    \
	ETA_NAME_CALLS(X)                                                                          \
	X(flock, OTHER, FD)                                                                        \
	X(fcntl, OTHER, CONTROL)                                                                   \
	X(sync, SYNC, NO_FILE)                                                                     \
	X(syncfs, SYNC, SYNC)                                                                      \
	X(msync, SYNC, MAPPED)                                                                     \
	X(fadvise64, OTHER, RANGE)                                                                 \
	X(readahead, OTHER, RANGE)

/* X(id, system call, kind): calls of the list above whose regular file is the other descriptor. */
#define KERNELIO_REVERSED_SYSCALLS(X)                                                              \
	X(sendfile_to, sendfile, WRITE)                                                            \
	X(splice_to, splice, WRITE)

/* X(name, shape): system calls that submit or complete operations of the list below. */
#define KERNELIO_QUEUE_SYSCALLS(X)                                                                 \
	X(io_submit, AIO_SUBMIT)                                                                   \
	X(io_getevents, AIO_REAP)                                                                  \
	X(io_pgetevents, AIO_REAP)

/*
 * X(number): the same calls by the numbers of 32-bit x86 (asm/unistd_32.h), which mean other calls
 * to a 64-bit program. They are not traced, but counted.
 */
#define KERNELIO_COMPAT_SYSCALLS(X)                                                                \
	X(3)   /* read */                                                                          \
	X(4)   /* write */                                                                         \
	X(5)   /* open */                                                                          \
	X(6)   /* close */                                                                         \
	X(8)   /* creat */                                                                         \
	X(19)  /* lseek */                                                                         \
	X(36)  /* sync */                                                                          \
	X(93)  /* ftruncate */                                                                     \
	X(118) /* fsync */                                                                         \
	X(140) /* _llseek */                                                                       \
	X(143) /* flock */                                                                         \
	X(144) /* msync */                                                                         \
	X(145) /* readv */                                                                         \
	X(146) /* writev */                                                                        \
	X(148) /* fdatasync */                                                                     \
	X(180) /* pread64 */                                                                       \
	X(181) /* pwrite64 */                                                                      \
	X(187) /* sendfile */                                                                      \
	X(194) /* ftruncate64 */                                                                   \
	X(225) /* readahead */                                                                     \
	X(239) /* sendfile64 */                                                                    \
	X(247) /* io_getevents */                                                                  \
	X(248) /* io_submit */                                                                     \
	X(250) /* fadvise64 */                                                                     \
	X(272) /* fadvise64_64 */                                                                  \
	X(295) /* openat */                                                                        \
	X(313) /* splice */                                                                        \
	X(314) /* sync_file_range */                                                               \
	X(324) /* fallocate */                                                                     \
	X(333) /* preadv */                                                                        \
	X(334) /* pwritev */                                                                       \
	X(344) /* syncfs */                                                                        \
	X(377) /* copy_file_range */                                                               \
	X(378) /* preadv2 */                                                                       \
	X(379) /* pwritev2 */                                                                      \
	X(385) /* io_pgetevents */                                                                 \
	X(416) /* io_pgetevents_time64 */                                                          \
	X(437) /* openat2 */

/* X(id, region, kind): operations that no system call is. */
#define KERNELIO_OPERATIONS(X)                                                                     \
	X(mmap_fault, "pagecache:mmap read fault", READ)                                           \
	X(aio_read, "vfs:aio_read", READ)                                                          \
	X(aio_write, "vfs:aio_write", WRITE)                                                       \
	X(aio_fsync, "vfs:aio_fsync", SYNC)                                                        \
	X(uring_read, "vfs:io_uring_read", READ)                                                   \
	X(uring_write, "vfs:io_uring_write", WRITE)                                                \
	X(uring_fsync, "vfs:io_uring_fsync", SYNC)                                                 \
	X(mmap_write_fault, "pagecache:mmap write fault", WRITE)

enum kernelio_syscall {
	KERNELIO_SYS_NONE,
#define X(name, kind, shape) KERNELIO_SYS_##name,
	KERNELIO_SYSCALLS(X)
#undef X
#define X(id, name, kind) KERNELIO_SYS_##id,
		KERNELIO_REVERSED_SYSCALLS(X)
#undef X
#define X(id, region, kind) KERNELIO_SYS_##id,
			KERNELIO_OPERATIONS(X)
#undef X
				KERNELIO_N_SYSCALLS,
	KERNELIO_SYS_QUEUE, /* the index of all of KERNELIO_QUEUE_SYSCALLS */
};
#define KERNELIO_SYS_REVERSED KERNELIO_SYS_sendfile_to /* from here on */

#define KERNELIO_MAX_SYSCALL_NR 512 /* a power of two above every number in the list */

/* One per system call number; index 0 is "not one of ours". */
struct kernelio_syscall_info {
	uint8_t index;	/* enum kernelio_syscall */
	uint8_t kind;	/* enum eta_op_kind */
	uint8_t shape;	/* enum kernelio_shape */
	uint8_t compat; /* is one of ours by this number in a 32-bit program */
};

/* Flags of open(2) as this architecture numbers them. */
struct kernelio_open_flags {
	uint32_t direct, sync, append;
};

struct file_key {
	uint64_t inode;
	uint32_t dev;
	uint32_t zero;
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
	  "context switches not reported: the waits around them are missing")                      \
	X(completions_missed, "bios whose memory was used again before their end was seen", GAP,   \
	  "bios without an end: their completion was not reported")                                \
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

/*
 * Finished system calls of one CPU on their way: whole records, one behind the other. `head` and
 * `start` are the probe's to write, `tail` the collector's; all count bytes from the beginning of
 * the trace. The record at byte X begins at place (X - start) % size, and goes on behind the end
 * where it has to. What is empty starts anew with its first byte: as long as the collector keeps
 * up, the same few pages are in use, which the cache holds.
 */
struct kernelio_ring {
	uint64_t head;
	uint64_t start;
	uint64_t reserved[6];
	uint64_t tail; /* in a cache line of its own */
	uint64_t reserved_too[7];
	unsigned char records[];
};

#define KERNELIO_RING_SPANS 8 /* a call with more goes the way of all other records */
#define KERNELIO_RING_RECORD                                                                       \
	(sizeof(struct eta_kernel_op) + KERNELIO_RING_SPANS * sizeof(struct eta_span))
/* Of a ring with room for BYTES: whole pages, with what stands before and behind. */
#define KERNELIO_RING_PAGE 4096
#define KERNELIO_RING_VALUE(bytes)                                                                 \
	(((bytes) + sizeof(struct kernelio_ring) + KERNELIO_RING_RECORD + KERNELIO_RING_PAGE -     \
	  1) /                                                                                     \
	 KERNELIO_RING_PAGE * KERNELIO_RING_PAGE)

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
	X(STOPPED, "cpu:stopped")                                                                  \
	X(RECLAIM, "pagecache:reclaim at own limit")                                               \
	X(HELD_BACK, "block:held back by own limit")

enum kernelio_limit_kind {
#define X(id, region) KERNELIO_LIMIT_##id,
	KERNELIO_LIMITS(X)
#undef X
		KERNELIO_N_LIMITS,
};

/* One that threads waited for: key and value of the map `limits`. */
struct kernelio_limit_key {
	uint64_t group; /* number of the control group in its hierarchy; or enum kernelio_stop */
	uint32_t kind;	/* enum kernelio_limit_kind */
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
	uint64_t ns; /* that threads waited, together */
	/*
	 * Of QUOTA ns in each of so many; of RECLAIM the bytes of memory.max, memory.high; of
	 * HELD_BACK bytes and requests a second, each read and written.
	 */
	uint64_t amounts[4];
	/* of the group, from the last component to the first; a NUL first ends them */
	char names[KERNELIO_LIMIT_DEPTH][KERNELIO_LIMIT_NAME];
};

/*
 * A task that is not traced, the last one to be slowed by the kernel for want of pages: it takes
 * the same that a traced thread waits for.
 */
struct foreign_slowed {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t zero;
};

struct evictor {
	uint32_t pid, tid;
	uint64_t group; /* whose memory it is: an address, compared only */
};

/* Where a request is counted: see bpf/queue-ahead.h. */
struct counted {
	uint32_t disk;	/* index */
	uint32_t place; /* 1 + index of its owners; 0: not counted */
	uint32_t tid;
	uint32_t on_disk;    /* it is one of those of that disk, with a place or without */
	uint32_t flush_part; /* of what it flushes, that was written by others: see
				disk_written_part */
};

/* A request in flight: value of the map `bios`. */
struct bio_state {
	struct eta_bio_record record;
	int32_t fragments; /* the bio itself and what was split off it */
	uint32_t shared;   /* of several owners: see bio_shares */
	uint64_t vector;   /* on a stacked device: the address of its vector; else 0 */
	uint64_t upper;	   /* key of the bio that stacked devices made this one of; 0: none */
	struct counted counted;
};

#endif

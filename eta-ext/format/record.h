/* The spool: what our tracers write and eta-ext reads, one record per finished operation. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_RECORD_H
#define ETA_RECORD_H

/*
 * A spool is a directory:
 *
 *   meta                 struct eta_spool_header (kind META), then NAME, PROPERTY, SLEEP records
 *   user.PID.TID.START   of a thread of a traced program, and of those that began after it ended
 *                        (kind USER): USER_OP, USER_REPEAT, FILE, THREAD records
 *   process.PID.START    one per image of a traced process (kind PROCESS): NAME, PROPERTY, MODULE,
 *                        STACK records
 *   cpu.N                one per CPU (kind KERNEL): KERNEL_OP, ASYNC_OP, WAIT, BIO, RPC, TASK,
 *                        FILE, LOSS records
 *   cpu.definitions      TASK, FILE, LOSS records of all CPUs, where those keep their last records
 *
 * Every file starts with a header of ETA_SPOOL_HEADER_BYTES, then records until one whose `type` is
 * 0 or the end of the file. Records are stored into a window that is filled with zeros and mapped,
 * so what was stored survives kill -9. A window that is full is appended to the file and used
 * again: offsets of records count as if that never happened, and the header says where each one
 * lies (see `stored`). Host byte order; the same machine reads them. All times are CLOCK_MONOTONIC
 * ns. This header uses fixed-size types only and compiles for the BPF target too (include
 * vmlinux-like types first and define ETA_RECORD_NO_STDINT).
 */
#ifndef ETA_RECORD_NO_STDINT
#include <stdint.h>
#endif

#define ETA_SPOOL_MAGIC "SCISPOOL"
#define ETA_SPOOL_VERSION 2
#define ETA_SPOOL_VERSION_LAST 3 /* the same, of a file that keeps its last records only */
#define ETA_SPOOL_HEADER_BYTES 4096
/*
 * The sixth argument of the user tracer's own system calls, none of which has so many: the kernel's
 * tracer leaves them out. (A program that does the same hides them from nobody but its own user.)
 */
#define ETA_OWN_CALL_MARK 0x4e574f5f494353 /* "SCI_OWN" */
#define ETA_UNIT_BYTES 32 /* every record is a multiple of this; `units` counts them */

enum eta_spool_kind {
	ETA_SPOOL_META = 1,
	ETA_SPOOL_USER,
	ETA_SPOOL_PROCESS,
	ETA_SPOOL_KERNEL,
};

struct eta_spool_header {
	char magic[8];
	uint32_t version;
	uint32_t kind; /* enum eta_spool_kind */
	uint32_t pid;  /* tgid, as seen by the writer (see pid_ns); 0 for KERNEL */
	uint32_t tid;
	uint32_t ppid;		/* 0: unknown */
	uint32_t cpu;		/* KERNEL: which */
	uint64_t start_ns;	/* thread, image or tracer start */
	uint64_t clock_mono_ns; /* a pair read together, */
	uint64_t clock_real_ns; /* so that the wall clock can be computed */
	uint64_t lost;		/* records that could not be stored, updated in place */
	uint64_t
		last_file; /* offset of the newest FILE record, 0: none; go on through its `prev` */
	uint32_t parent_tid; /* thread that created this one, 0: unknown */
	uint32_t flags;	     /* ETA_SPOOL_* */
	char host[64];
	char comm[64];	      /* thread name at creation */
	char exe[256];	      /* path of the program */
	uint64_t last_thread; /* offset of the newest THREAD record, 0: none; on through its `prev`
			       */
	/* calls of a level of detail that was not asked for, updated in place */
	uint64_t not_recorded;
	/*
	 * The window is window_bytes behind the header, and holds the records from offset window_at
	 * on. Those before `stored` were appended: offset + window_bytes is where they lie. Window
	 * records before `stored` are copies.
	 */
	uint64_t window_bytes;
	uint64_t window_at;
	uint64_t stored;
	/*
	 * Inode of the pid namespace in which pid and tid, and of that in which ppid and parent_tid
	 * are numbers; 0: unknown. In the kernel's files they are numbers of the first one.
	 */
	uint32_t pid_ns;
	uint32_t parent_ns;
	/* when the process began, by its tick of 10 ms: exec keeps it, a reused pid does not */
	uint64_t process_ns;
	/* /proc/sys/kernel/random/boot_id: containers of one machine have names of their own */
	char boot[40];
	/*
	 * Of a file that keeps its last records only: all windows that were appended are
	 * window_bytes long, and once there are ring_bytes of them (0: not yet) each takes the
	 * place of the oldest. The records from offset `kept` on are there. overwritten: how many
	 * of each type were before; overwritten_ns: the latest time at which one of them began
	 * (USER) or ended.
	 */
	uint64_t ring_bytes;
	uint64_t kept; /* 0: all */
	uint64_t overwritten_ns;
	uint64_t overwritten[18]; /* ETA_RECORD_TYPES */
};

#define ETA_FIRST_PID_NS 0xeffffffcu /* inode of the pid namespace that the system started with */
#define ETA_SPOOL_FORKED 1 /* PROCESS: not exec'ed, so its parent's modules are its own, too */
#define ETA_SPOOL_DEFINITIONS                                                                      \
	2 /* KERNEL: of no CPU: what must outlive the records of the others                        \
	   */

enum eta_record_type {
	ETA_RECORD_END = 0, /* the zeros behind the last record */
	ETA_RECORD_USER_OP,
	ETA_RECORD_KERNEL_OP, /* followed by its spans */
	ETA_RECORD_BIO,
	ETA_RECORD_FILE,
	ETA_RECORD_TASK,
	ETA_RECORD_NAME,
	ETA_RECORD_PROPERTY,
	ETA_RECORD_LOSS,
	ETA_RECORD_SKIP, /* filler to be passed over */
	ETA_RECORD_WAIT, /* struct eta_kernel_op without a system call: waits between two of them */
	ETA_RECORD_THREAD,
	ETA_RECORD_MODULE,
	ETA_RECORD_STACK,
	ETA_RECORD_USER_REPEAT,
	ETA_RECORD_SLEEP,
	ETA_RECORD_ASYNC_OP, /* struct eta_kernel_op, in a track */
	ETA_RECORD_RPC,
};
#define ETA_RECORD_TYPES 18 /* room for their counts */

/* The first 24 bytes of every record. */
struct eta_record_head {
	uint64_t time_ns;
	uint64_t end_ns; /* 0: not ended when the trace did */
	uint8_t type;	 /* enum eta_record_type */
	uint8_t flags;
	uint16_t units; /* size of the record, spans included, in ETA_UNIT_BYTES */
	uint32_t id;	/* meaning per type */
};

#define ETA_OFFSET_UNKNOWN INT64_MIN

/*
 * One library call. The writer stores everything known at entry with `head.end_ns` 0 and the rest
 * at return, so a thread killed inside the call leaves a truncated operation, not nothing.
 */
struct eta_user_op {
	/* id: NAME id of the function; flags: ETA_USER_* */
	struct eta_record_head head;
	int32_t fd;	 /* -1: none */
	uint32_t file;	 /* FILE id within the process, 0: unknown */
	uint64_t size;	 /* requested bytes */
	int64_t offset;	 /* byte offset in the file, ETA_OFFSET_UNKNOWN */
	int64_t ret;	 /* returned value; -errno where the call failed */
	uint64_t caller; /* return address, 0: not kept; or see ETA_USER_STACK */
};

/*
 * In a USER_OP's head.flags: 1 + enum eta_op_kind where this call did something else than what the
 * NAME says (fcntl that duplicates, sendfile into a pipe); 0: as the NAME says.
 */
#define ETA_USER_KIND 0x0f
/* The same: `caller` is the id of a STACK record, whose first address is the return address. */
#define ETA_USER_STACK 0x10
/*
 * The same: 0, or which call of the thread this is that USER_REPEAT records refer to from here on,
 * until another takes the number.
 */
#define ETA_USER_PATTERN 0xe0
#define ETA_USER_PATTERN_SHIFT 5
#define ETA_USER_PATTERNS 8

/*
 * A transfer that differs from the previous one of the same pattern number only in time, offset and
 * result.
 */
struct eta_user_repeat {
	/* flags: pattern number << ETA_USER_PATTERN_SHIFT; id: the result, as an int32_t */
	struct eta_record_head head;
	int64_t offset; /* as in struct eta_user_op */
};

/* A file that was opened or met. In the kernel spool `id` is 0 and (dev, inode) is the key. */
struct eta_file_record {
	struct eta_record_head
		head;	     /* id: FILE id, unique in the process; flags: enum eta_file_kind */
	uint32_t dev;	     /* major << 20 | minor, as the kernel counts */
	uint32_t open_flags; /* O_*, as given or as F_GETFL says */
	uint64_t inode;
	uint64_t prev;	     /* offset of the FILE record before this one in the same file */
	uint32_t fs_magic;   /* statfs f_type, 0: unknown */
	uint32_t path_bytes; /* length of path without a NUL; */
	char path[];	     /* padded with zeros to whole units */
};

enum eta_file_kind {
	ETA_FILE_UNKNOWN,
	ETA_FILE_REGULAR,
	ETA_FILE_BLOCK_DEVICE,
	ETA_FILE_CHARACTER_DEVICE,
	ETA_FILE_DIRECTORY,
	ETA_FILE_PIPE,
	ETA_FILE_SOCKET,
	ETA_FILE_TERMINAL,
};

/*
 * USER: the thread before ended, and what follows is the calls of another, of the same process. A
 * file is reused since making one costs more than making a thread.
 */
struct eta_thread_record {
	/* id: tid; time: start of its trace; flags: ETA_THREAD_GOES_ON */
	struct eta_record_head head;
	uint64_t prev; /* offset of the THREAD record before this one, 0: none */
	char comm[16];
	uint64_t reserved[2];
};
/* The thread is that of the records before: every window says whose it is that may be the first. */
#define ETA_THREAD_GOES_ON 1

/* What an id stands for (a user function, a system call), and what it does. */
struct eta_name_record {
	struct eta_record_head head; /* id: the id; flags: enum eta_op_kind */
	uint32_t text_bytes;
	uint32_t reserved;
	char text[]; /* padded with zeros to whole units */
};

/*
 * SLEEP, in meta: the same layout. id: `who` of a span of that kind; text: the region that the wait
 * is, "-" where its place does not say it, then the kernel's functions, innermost first, each
 * behind a newline.
 */

enum eta_op_kind {
	ETA_OP_OTHER,
	ETA_OP_OPEN,
	ETA_OP_CLOSE,
	ETA_OP_READ,
	ETA_OP_WRITE,
	ETA_OP_SEEK,
	ETA_OP_SYNC,
	ETA_OP_META,
	ETA_OP_WAIT, /* for another thread, inside of a call; `size`: its tid, 0: unknown */
};

/* "KEY=VALUE": backends in use, levels missing, command line. */
struct eta_property_record {
	struct eta_record_head head;
	uint32_t text_bytes;
	uint32_t reserved;
	char text[];
};

/* What is mapped into the process: the program, a library. Until another one at the same place. */
struct eta_module_record {
	struct eta_record_head head; /* time_ns: when it was met; flags: ETA_MODULE_* */
	uint64_t start;		     /* addresses, */
	uint64_t end;		     /* the last one excluded */
	uint64_t bias;		     /* address - bias is an address as in the file */
	uint16_t build_id_bytes;     /* 0: it has none */
	uint16_t path_bytes;
	uint32_t reserved;
	char text[]; /* the build id's bytes, then the path; padded with zeros to whole units */
};
#define ETA_MODULE_PROGRAM 1 /* head.flags: the program itself, no library */

/* A path of calls: return addresses, that of the library call first. */
struct eta_stack_record {
	struct eta_record_head head; /* id: STACK id, unique in the image, never 0 */
	uint32_t n_frames;
	uint32_t reserved;
	uint64_t frames[]; /* padded with zeros to whole units */
};

/* A task the kernel tracer met; time_ns is its start, so a reused tid is another task. */
struct eta_task_record {
	struct eta_record_head head; /* id: tid; end_ns: exit, 0 while alive */
	uint32_t pid;
	uint32_t ppid;
	char comm[16];
	uint64_t cgroup_id;
	uint32_t ns_pid; /* as seen inside its pid namespace */
	uint32_t ns_tid;
	uint64_t noted_ns; /* of a task's records, left on several CPUs, the latest holds */
	uint32_t pid_ns;   /* inode of that namespace, 0: unknown */
	uint32_t reserved_32;
	uint64_t waited_ns; /* UNTRACED: how long threads that are traced waited for it, together */
	uint64_t reserved;
};
/* head.flags */
#define ETA_TASK_KERNEL_THREAD 1
#define ETA_TASK_UNTRACED 2 /* was in the way of one that is traced: known by name only */

/*
 * One system call on a file, with all its stamps; (head.units - 2) spans follow. ASYNC_OP: from
 * submission to completion of what a queue (io_uring, libaio) was given; a thread has several under
 * way, each in a track in which it overlaps no other. Its spans are what a worker of io_uring
 * waited for that served it.
 */
struct eta_kernel_op {
	struct eta_record_head head; /* id: tid */
	uint32_t pid;
	uint32_t dev;
	uint64_t inode;
	int64_t offset;	   /* of the transfer; ETA_OFFSET_UNKNOWN */
	uint32_t size;	   /* requested bytes (the kernel caps a transfer below 2 GiB) */
	int32_t ret;	   /* -errno where the call failed */
	uint16_t syscall;  /* NAME id (in meta) */
	uint16_t op_flags; /* ETA_KOP_* */
	union {
		uint32_t spans_lost; /* spans that did not fit the record */
		uint32_t track;	     /* ASYNC_OP: from 1 on */
	};
};
#define ETA_KOP_DIRECT 1 /* O_DIRECT */
#define ETA_KOP_SYNC 2	 /* O_SYNC or O_DSYNC */
#define ETA_KOP_MISS 4	 /* added pages to the page cache */
#define ETA_KOP_APPEND 8
#define ETA_KOP_WAITS 16 /* light mode: only from its first wait to its last */

/*
 * An interval inside an operation. Spans nest or are disjoint as the kernel executes them; a reader
 * clips what crosses.
 */
struct eta_span {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint8_t kind;  /* enum eta_span_kind */
	uint8_t flags; /* ETA_SPAN_* */
	/* how many occurrences were folded into it (0 counts as 1); OTHER_LOCK: SLEEP id, 0:
	 * unknown; SLEEP: see ETA_SLEEP_CHANGES */
	uint16_t count;
	/* tid of the lock's holder, of who had the CPU longest, of whom pages went for, of a task
	 * that is not traced and was in the way of a DIRTY_THROTTLING or RECLAIM; SLEEP: id; 0:
	 * unknown */
	uint32_t who;
	/* lock address, bytes for PAGECACHE_*, the kernel's pause in ns for DIRTY_THROTTLING,
	 * number of the control group for QUOTA, see ETA_SLEEP_* for sleeps, else 0 */
	uint64_t object;
};

/* X(ID, region): regions of the unified trace; SLEEP is named after what surrounds it. */
#define ETA_SPANS(X)                                                                               \
	X(PAGECACHE_READ, "pagecache:filemap_read")                                                \
	X(PAGECACHE_WRITE, "pagecache:generic_perform_write")                                      \
	X(READAHEAD, "pagecache:page_cache_ra")                                                    \
	X(FS_READ, "fs:file_read_iter")                                                            \
	X(FS_WRITE, "fs:file_write_iter")                                                          \
	X(FS_DIRECT, "fs:iomap_dio_rw")                                                            \
	X(FS_SYNC, "fs:sync_file")                                                                 \
	X(FS_WRITEPAGES, "fs:writepages")                                                          \
	X(INODE_LOCK, "fs:inode lock")                                                             \
	X(FILE_POSITION_LOCK, "vfs:file position lock")                                            \
	X(INVALIDATE_LOCK, "pagecache:other lock")                                                 \
	X(OTHER_LOCK, "vfs:other lock")                                                            \
	X(DIRTY_THROTTLING, "pagecache:dirty throttling")                                          \
	X(PAGE_WRITEBACK_WAIT, "pagecache:page writeback wait")                                    \
	X(RECLAIM, "pagecache:reclaim")                                                            \
	X(SLEEP, "other wait")                                                                     \
	X(RUN_QUEUE, "cpu:run queue")                                                              \
	X(VFS_READ, "vfs:vfs_read")                                                                \
	X(VFS_WRITE, "vfs:vfs_write")                                                              \
	X(VFS_SYNC, "vfs:vfs_fsync_range")                                                         \
	X(BIO_SUBMIT, "block:submit_bio")                                                          \
	X(ALLOCATION, "fs:allocation")                                                             \
	X(WAKE_UP, "cpu:wake-up")                                                                  \
	X(FILE_LOCK, "vfs:file lock")                                                              \
	X(QUOTA, "cpu:quota")                                                                      \
	X(STOPPED, "cpu:stopped")                                                                  \
	X(RECLAIM_AT_OWN_LIMIT, "pagecache:reclaim at own limit")                                  \
	X(ADDRESS_SPACE_LOCK, "vfs:address space lock")                                            \
	X(SPIN_LOCK, "vfs:spin lock")                                                              \
	X(EVICTION, "pagecache:eviction")                                                          \
	X(EVICTION_AT_OWN_LIMIT, "pagecache:eviction at own limit")

enum eta_span_kind {
	ETA_SPAN_NONE,
#define X(id, region) ETA_SPAN_##id,
	ETA_SPANS(X)
#undef X
		ETA_N_SPANS,
};
/*
 * In `object` of a SLEEP or PAGE_WRITEBACK_WAIT: the tid of a task that is not traced and used the
 * same journal or disk meanwhile (0: none), and above that which part of the sleep it was there, in
 * ETA_SLEEP_WHOLE.
 */
#define ETA_SLEEP_TID(object) ((uint32_t)(object))
#define ETA_SLEEP_PART(object) ((uint32_t)((object) >> 32))
#define ETA_SLEEP_WHOLE 0x10000u
/*
 * In `count` of a SLEEP, of this: which part of the metadata that the file system's journal had to
 * write was changed by tasks that are not traced, of which the same tid is one.
 */
#define ETA_SLEEP_CHANGES 0xffffu
#define ETA_SPAN_IOWAIT 1    /* SLEEP: task->in_iowait was set */
#define ETA_SPAN_READER 2    /* lock taken for reading */
#define ETA_SPAN_SYNTHETIC 4 /* bounds taken from tracepoints inside the function */
#define ETA_SPAN_PREEMPTED 8 /* RUN_QUEUE: taken off the CPU while runnable */
/*
 * of a WAIT: on the way out of the system call before, which is over after it only; of an ASYNC_OP:
 * the result was there, and the thread that had to report it was ready
 */
#define ETA_SPAN_RETURNING 16
#define ETA_SPAN_OWN_WORK 64  /* RUN_QUEUE: who had the CPU was at work for the thread */
#define ETA_SPAN_DROPPED 64   /* EVICTION: the pages were dropped, not reclaimed */
#define ETA_SPAN_OWN_LIMIT 32 /* a limit of the control group held requests of it back */

/* One block request as submitted: bio queued, issued to the device, completed. */
struct eta_bio_record {
	/* time: block_bio_queue; end: completion (0: not seen); id: submitter tid */
	struct eta_record_head head;
	uint64_t issue_ns; /* block_rq_issue, 0: not seen */
	uint64_t sector;   /* 512-byte units */
	uint64_t inode;	   /* of the pages, 0: unknown */
	uint32_t pid;	   /* submitter */
	uint32_t dev;	   /* of the request queue's disk or partition */
	uint32_t bytes;
	uint32_t op_flags;  /* ETA_BIO_* */
	uint32_t owner_pid; /* who dirtied the pages (writeback), else the submitter */
	uint32_t owner_tid;
	uint32_t file_dev; /* device of the inode's file system */
	int32_t status;	   /* 0 or -errno */
	uint32_t track;	   /* of the owner's ASYNC_OP that it is for; 0: none */
	/*
	 * How many requests of others than its owner were on the disk when it was queued, and when
	 * it was issued (65535: or more), and the owner of one of them, sampled at random; 0:
	 * nobody.
	 */
	uint16_t queue_ahead, issue_ahead;
	uint32_t queue_ahead_tid, issue_ahead_tid;
	/*
	 * From here on in records of ETA_BIO_FOREIGN_UNITS only: for how long of the time from
	 * being queued to issue, and from there to completion, tasks that are not traced had
	 * requests on the disk (one that was never issued: all of it is queue_foreign_ns), and
	 * one of them; 0: nobody. For a loop device also any others on the disk below it, while
	 * its file has requests there.
	 */
	uint64_t queue_foreign_ns, device_foreign_ns;
	uint32_t foreign_tid;
	/*
	 * How many requests there were of tasks that are not traced, and of others that are, as
	 * seen when it was queued and when it completed: sums, of which only the ratio means
	 * anything; 0 and 0: not known. And one of those others; 0: not known.
	 */
	uint16_t foreign_n, traced_n;
	uint32_t traced_tid;
	uint32_t reserved;
};
#define ETA_BIO_FOREIGN_UNITS 4
#define ETA_BIO_WRITE 1
#define ETA_BIO_FLUSH 2
#define ETA_BIO_DISCARD 4
#define ETA_BIO_META 8
#define ETA_BIO_READAHEAD 16
#define ETA_BIO_DIRECT 32
#define ETA_BIO_SYNC 64
#define ETA_BIO_SHARE 128 /* the pages of another owner of the bio of the record before */
#define ETA_BIO_LOWER 256 /* part of a request to a stacked device, which has a record, too */

/* One call to a file server (NFS): made, sent, answered. */
struct eta_rpc_record {
	/* time: made; end: its answer, or that it was given up; id: tid of the thread it is for */
	struct eta_record_head head;
	uint32_t pid;
	/*
	 * An owner of calls that were ahead on the same connection when it was made, where it had
	 * to wait for its turn; 0: nobody's
	 */
	uint32_t ahead_tid;
	uint64_t sent_ns;   /* 0: never */
	uint64_t resent_ns; /* for the last time; 0: once only */
	uint64_t reserved[2];
};

/* Records that a CPU's ring could not take, per record type, since the previous LOSS record. */
struct eta_loss_record {
	struct eta_record_head head; /* id: record type */
	uint64_t lost;
	uint64_t produced; /* all of that type on that CPU, the lost included */
	uint64_t reserved[3];
};

/*
 * The last record of a window in a file that keeps its last records only: a SKIP, as what fills the
 * window up to it.
 */
struct eta_window_record {
	struct eta_record_head head;  /* time_ns: as overwritten_ns of the header */
	uint32_t n[ETA_RECORD_TYPES]; /* how many of each type are in the window */
};

#ifndef __bpf__
_Static_assert(ETA_RECORD_RPC < ETA_RECORD_TYPES, "types have a count");
_Static_assert(sizeof(struct eta_window_record) == 96, "three units");
_Static_assert(sizeof(struct eta_spool_header) <= ETA_SPOOL_HEADER_BYTES, "header fits its page");
_Static_assert(sizeof(struct eta_user_op) == 64, "two units");
_Static_assert(sizeof(struct eta_user_repeat) == 32, "one unit");
_Static_assert(sizeof(struct eta_kernel_op) == 64, "two units");
_Static_assert(sizeof(struct eta_stack_record) == 32, "one unit");
_Static_assert(sizeof(struct eta_span) == 32, "one unit");
_Static_assert(ETA_N_SPANS <= 32, "sets of kinds are 32 bits");
_Static_assert(sizeof(struct eta_task_record) == 96, "three units");
_Static_assert(sizeof(struct eta_bio_record) == ETA_BIO_FOREIGN_UNITS * ETA_UNIT_BYTES,
	       "four units; three of spools from before");
_Static_assert(sizeof(struct eta_thread_record) == 64, "two units");
_Static_assert(sizeof(struct eta_loss_record) == 64, "two units");
_Static_assert(sizeof(struct eta_rpc_record) == 64, "two units");
#endif

#endif

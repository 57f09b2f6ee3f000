/*
 * State shared by all probe groups: what is known of each traced thread, the maps, and writing of
 * records.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_STATE_H
#define KERNELIO_STATE_H

#include "compat.h"

#include "eta-ext/base/levels.h"
#include "plugins/kernelio/filters.h"
#include "plugins/kernelio/shared.h"

#define TASK_IS_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
#define MAX_SPANS 120
/*
 * As many of them as waits may take. The rest is kept for the functions on the way through the
 * kernel, which are known at the end: by these calls are compared, whatever they wait for.
 */
#define WAIT_SPANS (MAX_SPANS - 8)
#define SPIN_SPANS (MAX_SPANS / 2) /* as many of those as spin locks may take */
#define MAX_LOCKS 4		   /* a power of two */
#define SEEN_FILES 8
#define MODE_TYPE 0170000
#define MODE_REGULAR 0100000
#define LOCK_OWNER_FLAGS 7UL /* low bits of a lock's owner, not part of the pointer */
#define LOCK_OWNER_READS 1UL /* of a semaphore: readers have it */
#define ASYNC_TRACKS 1024
#define MAX_FUNCTION_SPANS 32 /* a power of two above every kind of span */

enum off_cpu {
	OFF_NOT,
	OFF_SLEEPING,
	OFF_RUNNABLE,
};

/*
 * An operation that writes to an inode which several threads dirty: are its pages noted as its
 * thread's?
 */
enum owned {
	OWNED_NOT,
	OWNED,
	OWNED_AT_EXIT,
};

/*
 * Identifies an asynchronous operation: the address of its request, or address and process of its
 * iocb.
 */
struct async_key {
	uint64_t id;
	uint32_t tgid;
	uint32_t zero;
};

/*
 * What was written to a disk, or changed in a file system: by all tasks, and by untraced ones. Only
 * differences mean anything.
 */
struct amounts {
	uint64_t all, foreign;
};

/* The part, of WHOLE, of untraced tasks in what NOW has more than BEFORE. */
static __always_inline uint64_t foreign_part(const struct amounts *now,
					     const struct amounts *before, uint32_t whole)
{
	uint64_t all = now->all - before->all, foreign = now->foreign - before->foreign;

	if (all >> 47 || !foreign)
		return 0;
	return foreign < all ? foreign * whole / all : whole;
}

struct lock_wait {
	uint64_t lock;
	uint64_t begin_ns;
	uint32_t who;
	uint8_t kind;
	uint8_t flags;
	uint8_t sleeps; /* a lock to sleep on, not to spin on */
	uint8_t guess;	/* `who` is one of several readers, or unknown: see lock_released() */
	uint32_t place; /* lock its address does not name: 1 + stack id in `sleeps`; 0: unknown */
};

/*
 * What is known of a traced thread. Probes inside an operation note what they see here; sys_exit
 * turns the notes into spans and writes one record.
 */
#define EVICTED_AT_LIMIT 0xffffffffU /* in place of a tid: see `added` */
#define EVICTED_DROPPED 0x80000000U  /* beside a tid: who dropped the pages */

/* How long threads waited for pages that they had evicted themselves, at a limit. */
uint64_t evicted_at_limit_ns __weak;

struct task_state {
	uint32_t active; /* inside a system call that is an operation */
	uint32_t pid, tid;
	uint32_t switched; /* switched to since tracing of it began */
	uint64_t regs;	   /* of the system call that its operation began with */
	/* how long after their begin its reads and writes reach the page cache: see cache_reached
	 */
	struct reach {
		uint64_t inode; /* of this file; an address, only compared */
		uint32_t after_ns;
		uint32_t calls;
	} reach[2];

	uint64_t seen_ns;  /* first seen running after a missed switch; 0: none missed */
	uint64_t ended_ns; /* end of its last operation that was recorded */

	uint32_t for_tid;     /* io_uring worker: the thread it works for */
	uint32_t changes_dev; /* of the file system it changed last: see fs_of */
	/* its request that is or was the current operation: see worker.h */
	struct {
		uint64_t request; /* address; 0: none */
		uint32_t track;
		uint32_t ending; /* CPUs that may be writing the record of one */
	} serving;

	/* recently used files, whose FILE record has been written */
	struct seen_file {
		struct file_key key;
		uint32_t checked; /* 1 + `sharings` at the last check; 0: not checked */
		uint32_t shared;  /* other threads dirty its pages, too */
	} seen[SEEN_FILES];
	/* the inode dirtied last; this thread alone dirties it while `sharings` is unchanged */
	struct file_key dirtied;
	uint32_t dirtied_sharings;

	/* direct I/O submitted outside an operation: io_submit, io_uring */
	struct {
		uint64_t iocb;
		struct file_key file;
		uint32_t track;
	} direct;

	/* asynchronous operations: see async.h */
	struct {
		uint64_t tracks[ASYNC_TRACKS / 64]; /* bitmap of tracks in use */
		struct async_key last;		    /* submitted last; id 0: none */
		uint32_t first_track;		    /* less 1 */
		uint64_t list; /* in io_submit or io_getevents: the user's array, */
		uint32_t n;    /* and the number of its elements */
		uint64_t ring; /* the context of the last io_submit */
		uint32_t seen; /* where in it is what has not been looked at */
		uint8_t call;  /* enum kernelio_shape; 0: not in such a call */
	} async;

	uint32_t disk; /* disk of its last request: 1 + index (queue-ahead.h) */

	/* a page fault on a mapped file, which may turn out to read: see fault.h */
	struct {
		uint64_t begin_ns, mapping, index;
		uint64_t at;	    /* instruction pointer of the program, */
		uint64_t registers; /* and the sum of what was in its registers (light.h) */
		uint64_t last_ns;   /* when it was last seen, spans aside */
		uint32_t endless;   /* it is the current operation, and no probe reports its end */
		uint32_t dirtied, throttled;
		uint32_t memory;   /* it reclaims, or reads from a device, and no file is known */
		uint64_t swap_ns;  /* it began to read memory that was swapped out; 0: it did not */
		uint32_t left_out; /* the filters excluded its read, which has been counted */
		/* the last fault that wrote */
		uint64_t written_at;
		struct file_key written;
	} fault;

	/* light mode: the system call that is the current operation: see light.h */
	struct {
		uint64_t registers; /* sum of the program's */
		uint64_t counted;   /* the thread's count of reads and writes before it */
	} call;

	/* the file lock that its last call failed to get; INODE 0: none */
	struct {
		uint64_t inode;
		uint64_t begin_ns, end_ns; /* the thread did nothing but sleep in this time */
		uint32_t dev;
		uint32_t who; /* holder; 0: unknown */
	} refused;

	/*
	 * the pages it added last, possibly by readahead: of which file, and who had evicted them
	 * (EVICTED_AT_LIMIT: itself, at the limit of its control group's memory)
	 */
	struct {
		uint64_t inode;
		uint32_t evicted, evictor;
	} added;
	uint8_t at_memory_limit; /* it reclaims, since its control group's memory is full */

	/* off the CPU outside of operations */
	struct {
		uint64_t off_ns, wake_ns, ready_ns, came_ns; /* the last wait for a CPU, */
		uint32_t ready_cpu, ready_who; /* as in struct operation; who had it then */
		int32_t left_nr;	  /* system call that it has left last; -1: none of these */
		int32_t in_nr;		  /* system call it was in when it left the CPU */
		uint8_t off, ready_flags; /* enum off_cpu; of struct ready */
		uint8_t returning;	  /* it was returning from that call, which is recorded */
		uint8_t unwritten;	  /* that call did not wait, and is not recorded so far */
		uint8_t leaves;		  /* it sleeps on the way out of that call */
		uint8_t pending;	  /* what such a sleep will be for */
	} idle;

	/* off the CPU, inside or outside operations: see limits.h */
	struct {
		uint64_t queue;	    /* struct cfs_rq it waits in; 0: one without a limit */
		uint64_t before_ns; /* throttled time of that queue when the wait began */
		/* of the task itself, used up: KERNELIO_LIMIT_REALTIME or _DEADLINE; 0: none */
		uint8_t own;
	} quota;
	uint8_t stop;	  /* enum kernelio_stop */
	uint64_t held_by; /* struct throtl_grp that throttles its requests; 0: none */
	/* waits whose end no switch reported: added to the limits when it next leaves the CPU */
	struct {
		uint64_t quota_ns, stop_ns, held_ns;
	} unreported;
	/* the scheduler's statistics when it left the CPU */
	struct {
		uint64_t clock_ns; /* our clock minus the scheduler's; 0: unknown */
		uint64_t run_delay_ns;
		bool yields; /* as a deadline task: it counts as ready, but does not want to run */
	} left;

	/* the current operation; cleared when one begins */
	struct operation {
		uint32_t n_spans;
		uint32_t n_locks;
		uint8_t kind;	 /* of the system call: enum eta_op_kind */
		uint8_t shape;	 /* enum kernelio_shape */
		uint8_t off;	 /* enum off_cpu */
		uint8_t pending; /* what the next sleep will be for: enum eta_span_kind */
		uint8_t off_flags;
		uint8_t waits_for_own; /* it has queued a request and will wait for it */
		uint8_t waited;	       /* has waited for a lock or slept */
		uint8_t bytes_known;   /* `flushed` is set */
		uint32_t off_who;
		uint32_t lock_holder; /* holder of the file lock FILE_LOCK waits for; 0: unknown */
		uint32_t pause_ticks; /* length of the sleep for DIRTY_THROTTLING */
		uint32_t ready_cpu;   /* CPU it left or was woken on, when it became ready */
		uint32_t cache_reads, cache_writes, pages_added;
		uint32_t pages_evicted, evictor; /* evicted before: see evict.h, `added` */
		uint64_t off_ns, wake_ns;

		/* kernel addresses, never dereferenced */
		uint64_t file, inode, mapping, inode_lock;

		/* when each part was first and last seen */
		uint64_t cache_read_ns, cache_read_end_ns, cache_write_ns, cache_write_end_ns;
		uint64_t readahead_ns, readahead_end_ns;
		uint64_t direct_ns, sync_ns, writepages_ns, reclaim_ns, allocation_ns;
		uint64_t inode_locked_ns; /* when another held it: see inode_lock_end */
		uint32_t inode_holder;
		uint32_t pages_owned;	/* enum owned */
		uint32_t off_stack;	/* where it sleeps: 1 + stack id in `sleeps`; 0: unknown */
		uint32_t sync_dev;	/* of the file system it syncs; 0: that of its file */
		struct amounts changed; /* up to the begin of the sync before that */
		uint32_t off_disk; /* 1 + place of its disk, at the begin of the sleep; 0: none */
		uint32_t off_recent, off_recent_tid; /* of its disk, then: see recent_alone */
		uint64_t off_foreign_ns;	     /* and disk_foreign_ns */
		struct amounts flushed;		     /* at the last flush before its first sleep */

		/*
		 * bit masks by enum eta_span_kind: now inside such a function; entry and return
		 * were seen
		 */
		uint32_t inside, exact;
	} now;

	struct lock_wait locks[MAX_LOCKS];

	/* by enum eta_span_kind; valid where the bit in `now.inside` is set */
	struct {
		uint64_t begin_ns;
		uint32_t nested; /* nested calls of functions of the same kind */
	} functions[MAX_FUNCTION_SPANS];

	/* record of a wait outside any operation: too large for the stack of some callers */
	struct {
		struct eta_kernel_op op;
		struct eta_span span;
	} wait;

	/* record of the operation, written in one piece */
	struct eta_kernel_op op;
	struct eta_span spans[MAX_SPANS];
};

/* The verifier knows its value and removes the code of unused filters. */
const volatile struct kernelio_filter filter __weak;
#define LEVEL_WANTED(level) (filter.levels & 1U << ETA_LEVEL_##level)

/* While it is set nothing new is recorded; threads are still followed. */
uint32_t paused __weak;

/* The objects are linked into one, where maps of the same name become one map. */
/* The slot of a traced thread; others have none. */
struct task_slot {
	uint32_t slot;	 /* 0: never had one, or has given it back */
	uint16_t member; /* traced; or descends from one that is, for the filters to choose */
	uint16_t missed; /* wanted a slot when none was free */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_slot);
} tasks __weak SEC(".maps");

/* Slot 0 is not used. The number of slots is set before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct task_state);
} slots __weak SEC(".maps");

/*
 * The slot of the thread that runs on each CPU, kept by sched_switch. This is the filter that every
 * probe asks first: two inlined array lookups, where task storage would cost a call of 20 ns.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
} running __weak SEC(".maps");

/* One ring per CPU; sizes and number are set before loading. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(values, struct ring);
} rings __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernelio_cpu);
} cpus __weak SEC(".maps");

/* The disk of a device: its address, 0: unknown, and 1 + its place, 0: nobody waited for it yet. */
struct device_disk {
	uint64_t gendisk;
	uint32_t place, unused;
};

/* Devices of the file systems that they are on. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, uint32_t);
	__type(value, struct device_disk);
} devices_seen __weak SEC(".maps");

/*
 * A traced thread uses DEV, or syncs it: from now on what others do there counts. BLOCK: the device
 * itself; NULL: unknown.
 */
static __always_inline void device_note(uint32_t dev, struct block_device *block)
{
	struct device_disk disk = {};

	if (bpf_map_lookup_elem(&devices_seen, &dev))
		return;
	if (block)
		disk.gendisk = (uint64_t)BPF_CORE_READ(block, bd_disk);
	bpf_map_update_elem(&devices_seen, &dev, &disk, BPF_NOEXIST);
}

static __always_inline struct task_state *slot_state(uint32_t slot)
{
	return slot ? bpf_map_lookup_elem(&slots, &slot) : NULL;
}

/* The state of a thread that need not be the current one. */
static __always_inline struct task_state *task_state_of(struct task_struct *task)
{
	struct task_slot *slot = bpf_task_storage_get(&tasks, task, NULL, 0);

	return slot ? slot_state(slot->slot) : NULL;
}

static __always_inline struct kernelio_cpu *this_cpu(void)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(&cpus, &zero);
}

/*
 * Writes a record, or counts it as lost. Operations are written from system calls only; other types
 * also from interrupts, so their counters are atomic.
 */
static __always_inline int record_leave(uint32_t type, void *record, uint64_t bytes)
{
	struct kernelio_cpu *cpu = this_cpu();
	uint32_t n = bpf_get_smp_processor_id();
	void *ring = bpf_map_lookup_elem(&rings, &n);
	long rc;

	if (!cpu || type >= KERNELIO_N_TYPES)
		return -1;
	rc = ring ? bpf_ringbuf_output(ring, record, bytes, BPF_RB_NO_WAKEUP) : -1;
	if (type == ETA_RECORD_KERNEL_OP) {
		cpu->produced[type]++;
		if (rc)
			cpu->lost[type]++;
	} else {
		__sync_fetch_and_add(&cpu->produced[type], 1);
		if (rc)
			__sync_fetch_and_add(&cpu->lost[type], 1);
	}
	return rc ? -1 : 0;
}

/* Adds to a total of the run; safe in any context. */
#define TOTAL_ADD(name, n)                                                                         \
	do {                                                                                       \
		struct kernelio_cpu *cpu_ = this_cpu();                                            \
		if (cpu_)                                                                          \
			__sync_fetch_and_add(&cpu_->totals.name, (n));                             \
	} while (0)

/*
 * Tasks that traced threads waited for: tid -> ns waited. An untraced one's name is recorded when
 * it exits or at the end (task.bpf.c). If the map is full, only its tid is known.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, uint64_t);
} waited_for __weak SEC(".maps");

static __always_inline void note_waited_for(uint32_t tid, uint64_t ns)
{
	uint64_t *sum_ns = tid ? bpf_map_lookup_elem(&waited_for, &tid) : NULL;

	if (sum_ns)
		__sync_fetch_and_add(sum_ns, ns);
	else if (tid)
		bpf_map_update_elem(&waited_for, &tid, &ns, BPF_NOEXIST);
}

struct foreign_slowed throttled __weak; /* by balance_dirty_pages, for up to 0.2 s */
struct foreign_slowed reclaimed __weak; /* in direct reclaim */
#define FOREIGN_SLOWED_NS 250000000

/* Who was slowed last, if that was after FROM_NS or shortly before it; 0: nobody. */
static __always_inline uint32_t foreign_slowed_since(const struct foreign_slowed *last,
						     uint64_t from_ns)
{
	return last->tid && last->time_ns + FOREIGN_SLOWED_NS > from_ns ? last->tid : 0;
}

/* A function, not a wait. */
#define FUNCTION_SPANS                                                                             \
	(1U << ETA_SPAN_PAGECACHE_READ | 1U << ETA_SPAN_PAGECACHE_WRITE |                          \
	 1U << ETA_SPAN_READAHEAD | 1U << ETA_SPAN_FS_READ | 1U << ETA_SPAN_FS_WRITE |             \
	 1U << ETA_SPAN_FS_DIRECT | 1U << ETA_SPAN_FS_SYNC | 1U << ETA_SPAN_FS_WRITEPAGES |        \
	 1U << ETA_SPAN_VFS_READ | 1U << ETA_SPAN_VFS_WRITE | 1U << ETA_SPAN_VFS_SYNC)

static __always_inline void span_add_full(struct task_state *st, uint8_t kind, uint64_t begin_ns,
					  uint64_t end_ns, uint8_t flags, uint32_t who,
					  uint64_t object, uint32_t count)
{
	uint32_t n = st->now.n_spans;
	struct eta_span *span;

	if (!(filter.spans >> kind & 1))
		return;
	if (n >= (FUNCTION_SPANS >> kind & 1 ? MAX_SPANS : WAIT_SPANS)) {
		st->op.spans_lost++;
		return;
	}
	st->now.n_spans = n + 1;
	barrier(); /* an interrupt that waits for a lock now adds its span after this one */
	span = &st->spans[n];
	span->begin_ns = begin_ns;
	span->end_ns = end_ns;
	span->kind = kind;
	span->flags = flags;
	span->count = count < 0xffff ? count : 0xffff;
	span->who = who;
	span->object = object;
}

/*
 * An operation whose end is not reported was seen at NOW. An interrupt that spun on a lock may have
 * noted a later time since the clock was read.
 */
static __always_inline void endless_seen(struct task_state *st, uint64_t now)
{
	if (now > st->fault.last_ns)
		st->fault.last_ns = now;
}

static __always_inline void span_add(struct task_state *st, uint8_t kind, uint64_t begin_ns,
				     uint64_t end_ns)
{
	span_add_full(st, kind, begin_ns, end_ns, 0, 0, 0, 0);
}

/*
 * A task spins on a semaphore before the slow path, which alone reports contention. If another task
 * held the inode's lock when the operation began, the time until NOW was spent waiting for it. NOW:
 * when the first thing done under the lock was seen.
 */
static __always_inline void inode_lock_end(struct task_state *st, uint64_t now)
{
	uint64_t begin_ns = st->now.inode_locked_ns;

	if (!begin_ns)
		return;
	st->now.inode_locked_ns = 0;
	if (st->now.off == OFF_SLEEPING)
		return; /* for another reason, so it had the lock: see switched_in */
	note_waited_for(st->now.inode_holder, now - begin_ns);
	span_add_full(st, ETA_SPAN_INODE_LOCK, begin_ns, now, 0, st->now.inode_holder,
		      st->now.inode_lock, 0);
}

#define REACH_UNKNOWN 0x7fffffff
#define REACH_SHORT_NS 1000
#define REACH_FIRST 4
#define REACH_EVERY 16 /* a power of two */

/*
 * When the operation reaches the page cache, which is now. To read the clock waits for all loads
 * under way, and costs more than the rest of such a probe. Of a thread's calls on one file that
 * have met no lock and no wait on their way, the first and then one in so many are timed, and are
 * as good for the others: the shortest, since an interrupt is not part of the way, growing slowly
 * where all become longer. A long way is not the same each time, and each is timed.
 */
static __always_inline uint64_t cache_reached(struct task_state *st, bool writes)
{
	struct reach *reach = &st->reach[writes];
	bool met = st->now.n_spans || st->now.n_locks || st->now.inode_locked_ns;
	uint64_t now, after_ns;

	if (met || filter.light)
		return bpf_ktime_get_ns();
	if (reach->inode != st->now.inode)
		*reach = (struct reach){ .inode = st->now.inode, .after_ns = REACH_UNKNOWN };
	else if (++reach->calls >= REACH_FIRST && reach->calls & (REACH_EVERY - 1) &&
		 reach->after_ns < REACH_SHORT_NS)
		return st->op.head.time_ns + reach->after_ns;
	now = bpf_ktime_get_ns();
	after_ns = now - st->op.head.time_ns;
	if (after_ns > reach->after_ns)
		after_ns = reach->after_ns + (reach->after_ns >> 4) + 1;
	reach->after_ns = after_ns;
	return now;
}

/* The copy of buffered data begins. */
static __always_inline void cache_write_begin(struct task_state *st)
{
	if (st->now.cache_write_ns)
		return;
	st->now.cache_write_ns = cache_reached(st, true);
	inode_lock_end(st, st->now.cache_write_ns);
}

/* The thread that a task does I/O for: itself, or the one a worker works for. */
static __always_inline uint32_t owner_tid(const struct task_state *st)
{
	return st->for_tid ?: st->tid;
}

static __always_inline bool is_regular(uint32_t mode)
{
	return (mode & MODE_TYPE) == MODE_REGULAR;
}

#endif

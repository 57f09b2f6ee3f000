/* File locks (flock, fcntl, leases): who holds the one that a call waits for. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILE_LOCK_H
#define KERNELIO_FILE_LOCK_H

#include "running.h"

#define LOCK_DEFERRED 1	  /* FILE_LOCK_DEFERRED: the call will sleep until it gets the lock */
#define LOCK_REFUSED -11  /* EAGAIN: another holds it, and the call does not wait */
#define LOCK_WRITES 1	  /* F_WRLCK */
#define LOCK_GIVEN_BACK 2 /* F_UNLCK */
#define LOCK_QUEUE 1024	  /* length of the longest chain of waiters followed */

/* Linux 6.9 (2cd06eb25d1c) put a struct file_lock_core at the begin of locks and leases. */
struct file_lock___plain {
	void *fl_blocker;
	struct list_head fl_list;
	void *fl_owner;
	unsigned char fl_type;
	int fl_pid;
} __attribute__((preserve_access_index));

#define HAVE_LOCK_CORE bpf_core_type_exists(struct file_lock_core)
#define LOCK_FIELD(lock, field)                                                                    \
	({                                                                                         \
		void *lock_ = (lock);                                                              \
		HAVE_LOCK_CORE ? BPF_CORE_READ((struct file_lock_core *)lock_, flc_##field)        \
			       : BPF_CORE_READ((struct file_lock___plain *)lock_, fl_##field);     \
	})

/*
 * The kernel's lock names its process only. The traced thread that took it, or waits for it, is
 * noted here.
 */
struct lock_key {
	uint64_t owner;
	int64_t start;
};

struct lock_taker {
	uint32_t pid, tid;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct lock_key);
	__type(value, struct lock_taker);
} lock_takers __weak SEC(".maps");

static __always_inline struct lock_key lock_key_of(void *lock)
{
	return (struct lock_key){
		.owner = (uint64_t)LOCK_FIELD(lock, owner),
		.start = BPF_CORE_READ((struct file_lock *)lock, fl_start),
	};
}

/* The traced thread that LOCK is noted for; 0: none. */
static __always_inline uint32_t lock_taker_of(void *lock)
{
	struct lock_key key = lock_key_of(lock);
	struct lock_taker *taker = bpf_map_lookup_elem(&lock_takers, &key);

	/* the address may have been reused by another owner */
	return taker && taker->pid == (uint32_t)LOCK_FIELD(lock, pid) ? taker->tid : 0;
}

static __always_inline void lock_taker_note(struct task_state *st, void *lock)
{
	struct lock_key key = lock_key_of(lock);
	struct lock_taker taker = { .pid = LOCK_FIELD(lock, pid), .tid = st->tid };

	bpf_map_update_elem(&lock_takers, &key, &taker, BPF_ANY);
}

/* Loop from a waiter to the holder of its lock. */
struct lock_walk {
	void *lock;
	uint32_t tid;
};

/* One step of it, for bpf_loop: 1 ends the walk. */
static long lock_step(uint32_t step, struct lock_walk *walk)
{
	void *next = LOCK_FIELD(walk->lock, blocker);

	if (!next)
		return 1;
	walk->lock = next;
	walk->tid = lock_taker_of(next);
	return walk->tid != 0;
}

/*
 * Whom the request LOCK waits for. Waiters for one lock form a chain: the first traced one in it,
 * whose own wait says what it waits for; else the process of the holder.
 */
static __always_inline uint32_t lock_holder_of(void *lock)
{
	struct lock_walk walk = { .lock = lock };

	bpf_loop(LOCK_QUEUE, lock_step, &walk, 0);
	if (walk.tid || walk.lock == lock)
		return walk.tid;
	return LOCK_FIELD(walk.lock, pid);
}

/* Loop through an inode's locks to the first that conflicts with LOCK. */
struct conflict_walk {
	void *lock, *at, *end; /* a request; list heads */
	uint32_t who;
	uint32_t flock; /* flock(2): of the whole file */
};

static __always_inline bool locks_conflict(void *a, void *b, bool flock)
{
	struct file_lock *x = a, *y = b;

	if (LOCK_FIELD(a, owner) == LOCK_FIELD(b, owner))
		return false;
	if (LOCK_FIELD(a, type) != LOCK_WRITES && LOCK_FIELD(b, type) != LOCK_WRITES)
		return false;
	return flock || (BPF_CORE_READ(x, fl_start) <= BPF_CORE_READ(y, fl_end) &&
			 BPF_CORE_READ(y, fl_start) <= BPF_CORE_READ(x, fl_end));
}

/* One step of it, for bpf_loop: 1 ends the walk. */
static long conflict_step(uint32_t step, struct conflict_walk *walk)
{
	struct list_head *head = walk->at;
	void *other;

	if (!head || head == walk->end)
		return 1;
	if (HAVE_LOCK_CORE)
		other = (void *)head - bpf_core_field_offset(struct file_lock_core, flc_list);
	else
		other = (void *)head - bpf_core_field_offset(struct file_lock___plain, fl_list);
	if (locks_conflict(walk->lock, other, walk->flock)) {
		walk->who = lock_taker_of(other) ?: (uint32_t)LOCK_FIELD(other, pid);
		return 1;
	}
	walk->at = BPF_CORE_READ(head, next);
	return 0;
}

/* Who holds the lock that LOCK conflicted with; 0: it has been released since. */
static __always_inline uint32_t lock_refuser_of(struct inode *inode, void *lock, bool flock)
{
	void *context = BPF_CORE_READ(inode, i_flctx);
	struct conflict_walk walk = { .lock = lock, .flock = flock };
	struct list_head *list;

	if (!context)
		return 0;
	list = context + (flock ? bpf_core_field_offset(struct file_lock_context, flc_flock)
				: bpf_core_field_offset(struct file_lock_context, flc_posix));
	walk.end = list;
	walk.at = BPF_CORE_READ(list, next);
	bpf_loop(LOCK_QUEUE, conflict_step, &walk, 0);
	return walk.who;
}

#endif

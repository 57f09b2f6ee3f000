/* Calls that wait for a file lock, and who holds it. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "file-lock.h"

/* The current thread's request to take or release LOCK returned RET. */
static __always_inline void lock_answered(struct inode *inode, void *lock, int ret, bool flock)
{
	struct task_state *st = awake_operation();

	if (!st || !lock || !inode)
		return;
	if (ret == LOCK_DEFERRED) {
		st->now.pending = ETA_SPAN_FILE_LOCK;
		st->now.lock_holder = lock_holder_of(lock);
	} else if (st->now.pending == ETA_SPAN_FILE_LOCK) {
		st->now.pending = ETA_SPAN_NONE; /* it got the lock without sleeping */
	}
	if (ret == LOCK_DEFERRED || ret == 0)
		lock_taker_note(st, lock);
	if (ret == LOCK_REFUSED) {
		st->refused.who = lock_refuser_of(inode, lock, flock);
		st->refused.dev = st->op.dev;
		st->refused.inode = st->op.inode;
		st->refused.begin_ns = 0;
	} else if (LOCK_FIELD(lock, type) != LOCK_GIVEN_BACK) {
		st->refused.inode = 0;
	}
}

SEC("tp_btf/posix_lock_inode")
int BPF_PROG(on_posix_lock, struct inode *inode, struct file_lock *lock, int ret)
{
	lock_answered(inode, lock, ret, false);
	return 0;
}

SEC("tp_btf/flock_lock_inode")
int BPF_PROG(on_flock, struct inode *inode, struct file_lock *lock, int ret)
{
	lock_answered(inode, lock, ret, true);
	return 0;
}

/* An open that breaks a lease waits until its holder has released it. */
SEC("tp_btf/break_lease_block")
int BPF_PROG(on_lease, struct inode *inode, void *lease)
{
	struct task_state *st = awake_operation();

	if (!st || !lease)
		return 0;
	st->now.pending = ETA_SPAN_FILE_LOCK;
	st->now.lock_holder = lock_holder_of(lease);
	return 0;
}

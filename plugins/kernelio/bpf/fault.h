/* A page fault on a mapped file turns out to read: it becomes the thread's operation. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FAULT_H
#define KERNELIO_FAULT_H

#include "filter.h"
#include "owner.h"

/*
 * A page is being added to MAPPING outside of any operation. true: by a fault on it, which is the
 * thread's operation from here on; it ends with the fault (fault.bpf.c). Pages that readahead adds
 * behind a page that is there are no part of it: nobody waits for them.
 */
static inline __noinline int fault_begin(struct task_state *st, struct address_space *mapping)
{
	struct file_key key = {};
	struct inode *inode;
	uint8_t *seen;

	if (!st || st->fault.mapping != (uint64_t)mapping || paused)
		return 0;
	st->fault.mapping = 0;
	inode = BPF_CORE_READ(mapping, host);
	key.inode = BPF_CORE_READ(inode, i_ino);
	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	seen = bpf_map_lookup_elem(&files_seen, &key);
	if (seen ? *seen != SEEN_LEFT : FILES_FILTERED)
		return 0;
	if (!kind_passes(ETA_OP_READ)) {
		TOTAL_ADD(filtered_calls, 1);
		return 0;
	}
	__builtin_memset(&st->now, 0, sizeof(st->now));
	st->now.kind = ETA_OP_READ;
	st->now.inode = (uint64_t)inode;
	st->now.mapping = (uint64_t)mapping;
	st->now.inode_lock = (uint64_t)inode + bpf_core_field_offset(struct inode, i_rwsem);
	st->op.head.time_ns = st->fault.begin_ns;
	st->op.head.end_ns = 0;
	st->op.head.type = ETA_RECORD_KERNEL_OP;
	st->op.head.id = st->tid;
	st->op.pid = st->pid;
	st->op.dev = key.dev;
	st->op.inode = key.inode;
	st->op.offset = st->fault.index * page_bytes;
	st->op.size = page_bytes;
	st->op.ret = 0;
	st->op.syscall = KERNELIO_SYS_mmap_fault;
	st->op.op_flags = 0;
	st->op.spans_lost = 0;
	st->active = 1;
	return 1;
}

/*
 * The thread is out of the fault, and the kernel has not counted it: it failed (fault.bpf.c), and
 * when is not known.
 */
static __always_inline void fault_drop(struct task_state *st)
{
	if (!st->active || st->op.syscall != KERNELIO_SYS_mmap_fault)
		return;
	st->active = 0;
	TOTAL_ADD(faults_failed, 1);
}

#endif

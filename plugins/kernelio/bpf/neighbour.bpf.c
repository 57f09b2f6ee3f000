/* Tasks, traced or not, that sync a file system or make files dirty: others wait for that. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "dirtied-by.h"
#include "owner.h"
#include "running.h"
#include "syncs.h"
#include "task.h"
#include "worker.h"

/* The syncs of INODE's file system; NULL: no traced thread has synced it. */
static __always_inline struct fs_syncs *syncs_of(struct inode *inode, const struct task_state *st)
{
	if (!syncs_used && !st)
		return NULL;
	return syncs_at(BPF_CORE_READ(inode, i_sb, s_dev), st);
}

/* A worker of io_uring syncs for the thread it works for. */
static __always_inline uint32_t syncing_tid(struct task_struct *task, const struct task_state *st)
{
	return st && st->for_tid ? st->for_tid : (uint32_t)task->pid;
}

/*
 * The current task syncs the file system of S on DEV. That of a traced thread's file may be another
 * (overlayfs), but this is what it waits for now, and whose journal works for it.
 */
static __always_inline void syncs_note(struct fs_syncs *s, uint32_t dev, struct block_device *block,
				       struct task_state *st, uint32_t how)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool inside =
		st && in_operation(st); /* first: that may end its call before, and its sync */

	sync_comes(s, task->tgid, syncing_tid(task, st), how | (st ? 0 : SYNC_FOREIGN));
	if (!st)
		note_waited_for(task->pid, 0); /* it may have exited when a wait for it ends */
	else if (inside) {
		st->now.sync_dev = dev;
		st->now.changed = s->before;
	}
	if (st)
		device_note(dev, block);
}

static __always_inline int sync_begins(struct inode *inode)
{
	struct task_state *st = current_state() ?: worker_state(bpf_get_current_task_btf());
	struct fs_syncs *s = syncs_of(inode, st);

	if (s)
		syncs_note(s, BPF_CORE_READ(inode, i_sb, s_dev), BPF_CORE_READ(inode, i_sb, s_bdev),
			   st, 0);
	return 0;
}

static __always_inline int sync_ends(struct inode *inode)
{
	struct fs_syncs *s = syncs_of(inode, NULL);

	if (s) {
		s->ends = 1;
		sync_goes(s, syncing_tid(bpf_get_current_task_btf(), current_state()));
	}
	return 0;
}

SEC("tp_btf/ext4_sync_file_enter")
int BPF_PROG(on_ext4_syncs, struct file *file)
{
	return sync_begins(BPF_CORE_READ(file, f_inode));
}

SEC("tp_btf/ext4_sync_file_exit")
int BPF_PROG(on_ext4_synced, struct inode *inode)
{
	return sync_ends(inode);
}

/* Of who syncs the whole file system; when an untraced one is done, nothing tells. */
SEC("tp_btf/ext4_sync_fs")
int BPF_PROG(on_ext4_syncs_all, struct super_block *sb)
{
	struct task_state *st = current_state();
	uint32_t dev = sb->s_dev;
	struct fs_syncs *s;

	if (st ? !in_operation(st) || st->op.dev != dev : !syncs_used)
		return 0;
	s = syncs_at(dev, st);
	if (s)
		syncs_note(s, dev, sb->s_bdev, st, st ? 0 : SYNC_ENDLESS);
	return 0;
}

/* The thread of ST changes the file system on DEV, which lies on BLOCK, if that is known. */
static __always_inline void changes_on(struct task_state *st, uint32_t dev,
				       struct block_device *block)
{
	st->changes_dev = dev;
	device_note(dev, block);
}

/* What the file system lies on that the current task has a handle of (ext4's journal). */
static __always_inline struct block_device *journal_block(void)
{
	struct jbd2_journal_handle *handle = bpf_get_current_task_btf()->journal_info;

	return handle && bpf_core_field_exists(handle->h_transaction)
		       ? BPF_CORE_READ(handle, h_transaction, t_journal, j_fs_dev)
		       : NULL;
}

/*
 * A change of DIRTIED blocks, which are counted in the first change of each in a commit. SYNC: it
 * must be in the journal before the call returns, without any fsync: names in a directory and
 * attributes of a file whose changes are synced (chattr +D and +S, mount -o sync).
 */
SEC("tp_btf/jbd2_handle_stats")
int BPF_PROG(on_change, uint32_t dev, uint32_t tid, uint32_t type, uint32_t line, int interval,
	     int sync, int requested, int dirtied)
{
	struct task_state *st;
	struct fs_syncs *s;

	if (!sync && !syncs_used)
		return 0;
	st = current_state();
	if (st && st->changes_dev != dev)
		changes_on(st, dev, journal_block());
	s = syncs_used ? bpf_map_lookup_elem(&syncs, &dev) : NULL;
	if (s)
		changes_note(s, dirtied, !st);
	if (!sync || (st ? !in_operation(st) : !syncs_used))
		return 0;
	s = s ?: syncs_at(dev, st);
	if (s)
		syncs_note(s, dev, NULL, st, SYNC_ENDLESS);
	return 0;
}

SEC("tp_btf/xfs_file_fsync")
int BPF_PROG(on_xfs_syncs, struct xfs_inode *inode)
{
	if (!bpf_core_field_exists(inode->i_vnode))
		return 0;
	return sync_begins(&inode->i_vnode);
}

/* A transaction of TICKET is done: what it has used is what it changed that was not yet to be
 * logged. */
static __always_inline int xfs_changed(struct xlog *log, struct xlog_ticket *ticket)
{
	struct task_state *st;
	struct fs_syncs *s;
	uint32_t dev;

	if (!syncs_used || !bpf_core_field_exists(ticket->t_unit_res))
		return 0;
	st = current_state();
	dev = BPF_CORE_READ(log, l_mp, m_super, s_dev);
	if (st && st->changes_dev != dev)
		changes_on(st, dev, BPF_CORE_READ(log, l_mp, m_super, s_bdev));
	s = bpf_map_lookup_elem(&syncs, &dev);
	if (s)
		changes_note(s, ticket->t_unit_res - ticket->t_curr_res, !st);
	return 0;
}

SEC("tp_btf/xfs_log_ticket_ungrant")
int BPF_PROG(on_xfs_change, struct xlog *log, struct xlog_ticket *ticket)
{
	return xfs_changed(log, ticket);
}

/* The same, with another part of the transaction to follow. */
SEC("tp_btf/xfs_log_ticket_regrant")
int BPF_PROG(on_xfs_part_change, struct xlog *log, struct xlog_ticket *ticket)
{
	return xfs_changed(log, ticket);
}

SEC("tp_btf/btrfs_sync_file")
int BPF_PROG(on_btrfs_syncs, struct file *file)
{
	return sync_begins(BPF_CORE_READ(file, f_inode));
}

/* WHO gave blocks of DEV back, from BLOCK of 2^BITS bytes on. */
static __always_inline void freed_note(uint32_t dev, uint64_t block, uint8_t bits, uint64_t who)
{
	struct freed_key key = { .sector = block << (bits - 9), .dev = dev };

	bpf_map_update_elem(&freed_by, &key, &who, BPF_ANY);
}

SEC("tp_btf/ext4_free_blocks")
int BPF_PROG(on_ext4_frees, struct inode *inode, uint64_t block, unsigned long count)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	uint32_t dev = BPF_CORE_READ(sb, s_dev);
	struct freed_key last = { .sector = FREED_LAST, .dev = dev };
	uint8_t bits = BPF_CORE_READ(sb, s_blocksize_bits) & 31;
	struct task_state *st;
	uint64_t who, group;

	if (task->flags & TASK_IS_KERNEL_THREAD || !bpf_map_lookup_elem(&devices_seen, &dev))
		return 0;
	st = current_state();
	who = st ? (uint64_t)st->pid << 32 | owner_tid(st) : (uint32_t)task->pid;
	bpf_map_update_elem(&freed_by, &last, &who, BPF_ANY);
	freed_note(dev, block, bits, who);
	/* each block group has its own list: a bitmap of one block says which of its blocks are
	 * free */
	group = block - (bits == 10);
	group = (group | ((8ULL << bits) - 1)) + 1 + (bits == 10);
	if (group < block + count)
		freed_note(dev, group, bits, who);
	if (!st)
		note_waited_for((uint32_t)who, 0); /* it may have exited when the disk is told */
	return 0;
}

/* The commit begins: it is for the tasks that have asked for it until now. */
SEC("tp_btf/jbd2_start_commit")
int BPF_PROG(on_commit, struct journal_s *journal)
{
	struct fs_syncs *s;
	uint32_t dev;

	if (!syncs_used || !bpf_core_field_exists(journal->j_fs_dev))
		return 0;
	dev = BPF_CORE_READ(journal, j_fs_dev, bd_dev);
	s = bpf_map_lookup_elem(&syncs, &dev);
	if (s)
		s->commit_ns = bpf_ktime_get_ns();
	return 0;
}

/*
 * Fires each time an inode becomes dirty, in the task that dirties it. A kernel thread that dirties
 * it during writeback is ignored: who dirtied the file before stays noted.
 */
SEC("tp_btf/writeback_dirty_inode_enqueue")
int BPF_PROG(on_inode_dirty, struct inode *inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct file_key key = {};
	struct task_state *st;
	uint32_t tid = task->pid;

	key.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (task->flags & TASK_IS_KERNEL_THREAD ||
	    !is_regular(inode->i_mode)) /* metadata is not one task's */
		return 0;
	key.inode = BPF_CORE_READ(inode, i_ino);
	st = current_state();
	if (filter.light && st)
		inode_take(st, inode, &key);
	if (st || !(bpf_map_lookup_elem(&devices_seen, &key.dev) ||
		    (images_used && bpf_map_lookup_elem(&image_devices, &key.dev))))
		return 0;
	bpf_map_update_elem(&dirtied_by, &key, &tid, BPF_ANY);
	note_waited_for(tid, 0); /* it may have exited when its pages are written */
	return 0;
}

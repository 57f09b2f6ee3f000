/* Where the kernel sleeps, and what that means. One line adds one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_SLEEPS_H
#define KERNELIO_SLEEPS_H

/*
 * X(FUNCTION, REGION): a thread that sleeps in FUNCTION, or in what that calls, waits for what the
 * region is named after. Innermost first: the first function of the stack that is listed counts.
 * Sleeps that a tracepoint tells of (locks, throttling, writeback) do not come here.
 */
#define KERNELIO_SLEEPS(X)                                                                         \
	/* jbd2: ext4, ocfs2 */                                                                    \
	X(jbd2_log_wait_commit, "fs:journal commit")                                               \
	X(jbd2_fc_wait_bufs, "fs:journal commit")                                                  \
	X(jbd2_fc_begin_commit, "fs:journal commit")                                               \
	X(jbd2_journal_lock_updates, "fs:journal commit")                                          \
	X(jbd2_log_do_checkpoint, "fs:journal commit")                                             \
	X(wait_transaction_locked, "fs:journal commit")                                            \
	X(wait_transaction_switching, "fs:journal commit")                                         \
	X(add_transaction_credits, "fs:journal commit")                                            \
	X(do_get_write_access, "fs:journal commit")                                                \
	/* xfs */                                                                                  \
	X(xlog_wait_on_iclog, "fs:journal commit")                                                 \
	X(xlog_force_lsn, "fs:journal commit")                                                     \
	X(xlog_cil_force_seq, "fs:journal commit")                                                 \
	X(xlog_cil_push_now, "fs:journal commit")                                                  \
	X(xlog_state_get_iclog_space, "fs:journal commit")                                         \
	X(xlog_grant_head_wait, "fs:journal commit")                                               \
	X(xfs_log_force, "fs:journal commit")                                                      \
	/* btrfs */                                                                                \
	X(btrfs_sync_log, "fs:journal commit")                                                     \
	X(wait_log_commit, "fs:journal commit")                                                    \
	X(wait_current_trans, "fs:journal commit")                                                 \
	X(wait_for_commit, "fs:journal commit")                                                    \
	X(btrfs_commit_transaction, "fs:journal commit")                                           \
	X(handle_reserve_ticket, "fs:allocation")                                                  \
	X(btrfs_start_ordered_extent_nowriteback, "pagecache:page writeback wait")                 \
	X(btrfs_start_ordered_extent, "pagecache:page writeback wait")                             \
	X(btrfs_wait_ordered_range, "pagecache:page writeback wait")                               \
	/* page cache and memory */                                                                \
	X(wb_wait_for_completion, "pagecache:page writeback wait")                                 \
	X(ext4_sync_fs, "pagecache:page writeback wait") /* the workers behind it */               \
	X(folio_wait_bit_common, "pagecache:page lock")                                            \
	X(folio_wait_bit, "pagecache:page lock")                                                   \
	X(folio_wait_bit_killable, "pagecache:page lock")                                          \
	X(__folio_lock, "pagecache:page lock")                                                     \
	X(__folio_lock_killable, "pagecache:page lock")                                            \
	X(folio_put_wait_locked, "pagecache:page lock")                                            \
	X(reclaim_throttle, "pagecache:reclaim")                                                   \
	X(throttle_direct_reclaim, "pagecache:reclaim")                                            \
	X(try_to_free_pages, "pagecache:reclaim")                                                  \
	X(try_to_free_mem_cgroup_pages, "pagecache:reclaim at own limit")                          \
	X(mem_cgroup_handle_over_high, "pagecache:reclaim at own limit")                           \
	X(__mem_cgroup_handle_over_high, "pagecache:reclaim at own limit")                         \
	X(mem_cgroup_oom_synchronize, "pagecache:reclaim at own limit")                            \
	/* locks on files; who holds one is said by tracepoints, where there are any */            \
	X(locks_lock_inode_wait, "vfs:file lock")                                                  \
	X(flock_lock_inode_wait, "vfs:file lock")                                                  \
	X(posix_lock_inode_wait, "vfs:file lock")                                                  \
	X(do_lock_file_wait, "vfs:file lock")                                                      \
	X(fcntl_setlk, "vfs:file lock")                                                            \
	X(__break_lease, "vfs:file lock")                                                          \
	/* before the queue */                                                                     \
	X(rq_qos_wait, "block:held back")                                                          \
	X(blk_mq_get_tag, "block:held back")                                                       \
	X(__bio_queue_enter, "block:held back")                                                    \
	X(blk_queue_enter, "block:held back")                                                      \
	X(bio_alloc_bioset, "block:held back")

#endif

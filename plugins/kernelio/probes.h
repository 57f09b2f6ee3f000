/* The probes: one line each, with the level they serve. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_PROBES_H
#define KERNELIO_PROBES_H

#include "eta-ext/base/levels.h"
#include "file-systems.h"
#include "functions.h"

/*
 * X(PROGRAM, TRACEPOINT, LEVEL, NEED): a BPF program in bpf/, the kernel tracepoint it sits on, the
 * level it serves. NEED: REQUIRED (no trace without), LEVEL (its absence is announced), EXTRA
 * (fires on some kernels only; its absence is no loss of a level).
 */
#define KERNELIO_PROBES(X)                                                                         \
	X(on_sys_enter, sys_enter, VFS, REQUIRED)                                                  \
	X(on_sys_exit, sys_exit, VFS, REQUIRED)                                                    \
	X(on_fork, sched_process_fork, VFS, REQUIRED)                                              \
	X(on_exec, sched_process_exec, VFS, REQUIRED)                                              \
	X(on_exit, sched_process_exit, VFS, REQUIRED)                                              \
	X(on_free, sched_process_free, VFS, EXTRA)                                                 \
	X(on_uring_submit, io_uring_submit_req, VFS, EXTRA)                                        \
	X(on_uring_submit_before_6_3, io_uring_submit_sqe, VFS, EXTRA)                             \
	X(on_uring_complete, io_uring_complete, VFS, EXTRA)                                        \
	X(on_get_pages, mm_filemap_get_pages, PAGECACHE, LEVEL)                                    \
	X(on_sync_readahead, page_cache_sync_ra, PAGECACHE, EXTRA)                                 \
	X(on_async_readahead, page_cache_async_ra, PAGECACHE, EXTRA)                               \
	X(on_unbounded_readahead, page_cache_ra_unbounded, PAGECACHE, EXTRA)                       \
	X(on_add_to_page_cache, mm_filemap_add_to_page_cache, PAGECACHE, LEVEL)                    \
	X(on_dirty_folio, writeback_dirty_folio, PAGECACHE, LEVEL)                                 \
	X(on_balance_dirty_pages, balance_dirty_pages, PAGECACHE, LEVEL)                           \
	X(on_wait_writeback, folio_wait_writeback, PAGECACHE, LEVEL)                               \
	X(on_fault, mm_filemap_fault, PAGECACHE, EXTRA)                                            \
	X(on_fault_writeback, folio_wait_writeback, PAGECACHE, EXTRA)                              \
	X(on_page_gone, mm_filemap_delete_from_page_cache, PAGECACHE, LEVEL)                       \
	X(on_swap_out, mm_vmscan_write_folio, PAGECACHE, EXTRA)                                    \
	X(on_wake_kswapd, mm_vmscan_wakeup_kswapd, PAGECACHE, EXTRA)                               \
	X(on_reclaim_begin, mm_vmscan_direct_reclaim_begin, PAGECACHE, LEVEL)                      \
	X(on_reclaim_end, mm_vmscan_direct_reclaim_end, PAGECACHE, LEVEL)                          \
	X(on_memcg_reclaim_begin, mm_vmscan_memcg_reclaim_begin, PAGECACHE, EXTRA)                 \
	X(on_memcg_reclaim_end, mm_vmscan_memcg_reclaim_end, PAGECACHE, EXTRA)                     \
	KERNELIO_FS_PROBES(KERNELIO_FS_PROBE, X)                                                   \
	X(on_ext4_frees, ext4_free_blocks, FS, EXTRA)                                              \
	X(on_ext4_syncs, ext4_sync_file_enter, FS, EXTRA)                                          \
	X(on_ext4_synced, ext4_sync_file_exit, FS, EXTRA)                                          \
	X(on_ext4_syncs_all, ext4_sync_fs, FS, EXTRA)                                              \
	X(on_change, jbd2_handle_stats, FS, EXTRA)                                                 \
	X(on_xfs_syncs, xfs_file_fsync, FS, EXTRA)                                                 \
	X(on_xfs_change, xfs_log_ticket_ungrant, FS, EXTRA)                                        \
	X(on_xfs_part_change, xfs_log_ticket_regrant, FS, EXTRA)                                   \
	X(on_fuse_send, fuse_request_send, FS, EXTRA)                                              \
	X(on_fuse_end, fuse_request_end, FS, EXTRA)                                                \
	X(on_btrfs_syncs, btrfs_sync_file, FS, EXTRA)                                              \
	X(on_commit, jbd2_start_commit, FS, EXTRA)                                                 \
	X(on_inode_dirty, writeback_dirty_inode_enqueue, BLOCK, EXTRA)                             \
	X(on_dio_begin, iomap_dio_rw_begin, FS, LEVEL)                                             \
	X(on_dio_complete, iomap_dio_complete, FS, LEVEL)                                          \
	X(on_dio_submit, iomap_dio_rw_begin, BLOCK, EXTRA)                                         \
	X(on_dio_submitted, iomap_dio_complete, BLOCK, EXTRA)                                      \
	X(on_dio_submitted_nested, iomap_dio_complete, BLOCK, EXTRA)                               \
	X(on_dio_queued, iomap_dio_rw_queued, BLOCK, EXTRA)                                        \
	X(on_contention_begin, contention_begin, FS, LEVEL)                                        \
	X(on_contention_end, contention_end, FS, LEVEL)                                            \
	X(on_posix_lock, posix_lock_inode, VFS, EXTRA)                                             \
	X(on_flock, flock_lock_inode, VFS, EXTRA)                                                  \
	X(on_lease, break_lease_block, VFS, EXTRA)                                                 \
	X(on_bio_queue, block_bio_queue, BLOCK, LEVEL)                                             \
	X(on_split, block_split, BLOCK, LEVEL)                                                     \
	X(on_bio_remap, block_bio_remap, BLOCK, EXTRA)                                             \
	X(on_rq_issue, block_rq_issue, BLOCK, LEVEL)                                               \
	X(on_rq_complete, block_rq_complete, BLOCK, LEVEL)                                         \
	X(on_rq_complete_nested, block_rq_complete, BLOCK, EXTRA)                                  \
	X(on_bio_complete, block_bio_complete, BLOCK, EXTRA)                                       \
	X(on_rpc_begin, rpc_task_begin, NET, EXTRA)                                                \
	X(on_rpc_sleep, rpc_task_sleep, NET, EXTRA)                                                \
	X(on_rpc_sent, xprt_transmit, NET, EXTRA)                                                  \
	X(on_rpc_resent, xprt_retransmit, NET, EXTRA)                                              \
	X(on_rpc_end, rpc_task_end, NET, EXTRA)                                                    \
	X(on_nfs_write, nfs_initiate_write, NET, EXTRA)                                            \
	X(on_switch, sched_switch, CPU, LEVEL)                                                     \
	X(on_signal, signal_generate, CPU, EXTRA)                                                  \
	X(on_wakeup, sched_wakeup, CPU, LEVEL)                                                     \
	X(on_waking, sched_waking, CPU, EXTRA)

/*
 * X(PROGRAM, CATEGORY): a program of the list that reads no argument of its tracepoint, so that it
 * can sit on the classic tracepoint CATEGORY:TRACEPOINT as well, whose arguments are others.
 */
#define KERNELIO_CATEGORIES(X)                                                                     \
	X(on_get_pages, filemap)                                                                   \
	X(on_sync_readahead, readahead)                                                            \
	X(on_async_readahead, readahead)                                                           \
	X(on_unbounded_readahead, readahead)                                                       \
	X(on_wait_writeback, writeback)                                                            \
	X(on_reclaim_begin, vmscan)                                                                \
	X(on_reclaim_end, vmscan)                                                                  \
	X(on_memcg_reclaim_begin, vmscan)                                                          \
	X(on_memcg_reclaim_end, vmscan)                                                            \
	X(on_ext4_da_write_begin, ext4)                                                            \
	X(on_ext4_write_begin, ext4)                                                               \
	X(on_ext4_sync_file_enter, ext4)                                                           \
	X(on_ext4_sync_file_exit, ext4)                                                            \
	X(on_ext4_writepages, ext4)                                                                \
	X(on_ext4_writepages_result, ext4)                                                         \
	X(on_ext4_request_blocks, ext4)                                                            \
	X(on_ext4_allocate_blocks, ext4)                                                           \
	X(on_xfs_file_buffered_write, xfs)                                                         \
	X(on_xfs_file_fsync, xfs)                                                                  \
	X(on_xfs_alloc_vextent_this_ag, xfs)                                                       \
	X(on_xfs_alloc_vextent_start_ag, xfs)                                                      \
	X(on_xfs_alloc_vextent_first_ag, xfs)                                                      \
	X(on_xfs_alloc_vextent_exact_bno, xfs)                                                     \
	X(on_xfs_alloc_vextent_near_bno, xfs)                                                      \
	X(on_xfs_alloc_vextent_finish, xfs)                                                        \
	X(on_btrfs_inode_mod_outstanding_extents, btrfs)                                           \
	X(on_btrfs_sync_file, btrfs)                                                               \
	X(on_f2fs_write_begin, f2fs)                                                               \
	X(on_f2fs_sync_file_enter, f2fs)                                                           \
	X(on_f2fs_sync_file_exit, f2fs)                                                            \
	X(on_nfs_fsync_enter, nfs)                                                                 \
	X(on_nfs_fsync_exit, nfs)                                                                  \
	X(on_dio_begin, iomap)                                                                     \
	X(on_dio_complete, iomap)

/*
 * X(PROGRAM, FUNCTION): where FUNCTION's own bounds are in use, PROGRAM would report the same less
 * exactly: it is left out and not missed.
 */
#define KERNELIO_REPLACED(X)                                                                       \
	X(on_get_pages, filemap_read)                                                              \
	X(on_ext4_da_write_begin, generic_perform_write)                                           \
	X(on_ext4_write_begin, generic_perform_write)                                              \
	X(on_ext4_sync_file_enter, ext4_sync_file)                                                 \
	X(on_ext4_sync_file_exit, ext4_sync_file)                                                  \
	X(on_ext4_writepages, do_writepages)                                                       \
	X(on_ext4_writepages_result, do_writepages)                                                \
	X(on_xfs_file_buffered_write, iomap_file_buffered_write)                                   \
	X(on_xfs_file_fsync, xfs_file_fsync)                                                       \
	X(on_btrfs_inode_mod_outstanding_extents, btrfs_buffered_write)                            \
	X(on_btrfs_sync_file, btrfs_sync_file)                                                     \
	X(on_f2fs_write_begin, generic_perform_write)                                              \
	X(on_f2fs_sync_file_enter, f2fs_sync_file)                                                 \
	X(on_f2fs_sync_file_exit, f2fs_sync_file)                                                  \
	X(on_nfs_fsync_enter, nfs_file_fsync)                                                      \
	X(on_nfs_fsync_exit, nfs_file_fsync)                                                       \
	X(on_dio_begin, iomap_dio_rw)                                                              \
	X(on_dio_complete, iomap_dio_rw)

/*
 * X(PROGRAM): those of the light mode, which record waits and their causes. None is on the way of
 * a call that finds what it needs in the cache and waits for nothing.
 */
#define KERNELIO_LIGHT_PROBES(X)                                                                   \
	X(on_fork)                                                                                 \
	X(on_exec)                                                                                 \
	X(on_exit)                                                                                 \
	X(on_free)                                                                                 \
	X(on_uring_submit)                                                                         \
	X(on_uring_submit_before_6_3)                                                              \
	X(on_uring_complete)                                                                       \
	X(on_sync_readahead)                                                                       \
	X(on_balance_dirty_pages)                                                                  \
	X(on_wait_writeback)                                                                       \
	X(on_fault)                                                                                \
	X(on_fault_writeback)                                                                      \
	X(on_page_gone)                                                                            \
	X(on_swap_out)                                                                             \
	X(on_wake_kswapd)                                                                          \
	X(on_reclaim_begin)                                                                        \
	X(on_reclaim_end)                                                                          \
	X(on_memcg_reclaim_begin)                                                                  \
	X(on_memcg_reclaim_end)                                                                    \
	X(on_ext4_request_blocks)                                                                  \
	X(on_ext4_allocate_blocks)                                                                 \
	X(on_xfs_alloc_vextent_this_ag)                                                            \
	X(on_xfs_alloc_vextent_start_ag)                                                           \
	X(on_xfs_alloc_vextent_first_ag)                                                           \
	X(on_xfs_alloc_vextent_exact_bno)                                                          \
	X(on_xfs_alloc_vextent_near_bno)                                                           \
	X(on_xfs_alloc_vextent_finish)                                                             \
	X(on_ext4_frees)                                                                           \
	X(on_ext4_syncs)                                                                           \
	X(on_ext4_synced)                                                                          \
	X(on_ext4_syncs_all)                                                                       \
	X(on_change)                                                                               \
	X(on_xfs_syncs)                                                                            \
	X(on_xfs_change)                                                                           \
	X(on_xfs_part_change)                                                                      \
	X(on_fuse_send)                                                                            \
	X(on_fuse_end)                                                                             \
	X(on_btrfs_syncs)                                                                          \
	X(on_commit)                                                                               \
	X(on_inode_dirty)                                                                          \
	X(on_dio_submit)                                                                           \
	X(on_dio_submitted)                                                                        \
	X(on_dio_submitted_nested)                                                                 \
	X(on_dio_queued)                                                                           \
	X(on_contention_begin)                                                                     \
	X(on_contention_end)                                                                       \
	X(on_posix_lock)                                                                           \
	X(on_flock)                                                                                \
	X(on_lease)                                                                                \
	X(on_bio_queue)                                                                            \
	X(on_split)                                                                                \
	X(on_bio_remap)                                                                            \
	X(on_rq_issue)                                                                             \
	X(on_rq_complete)                                                                          \
	X(on_rq_complete_nested)                                                                   \
	X(on_bio_complete)                                                                         \
	X(on_rpc_begin)                                                                            \
	X(on_rpc_sleep)                                                                            \
	X(on_rpc_sent)                                                                             \
	X(on_rpc_resent)                                                                           \
	X(on_rpc_end)                                                                              \
	X(on_nfs_write)                                                                            \
	X(on_switch)                                                                               \
	X(on_signal)                                                                               \
	X(on_wakeup)                                                                               \
	X(on_waking)

/* The tracepoints, then the functions (functions.h). */
enum kernelio_probe {
#define X(program, tracepoint, level, need) KERNELIO_PROBE_##program,
	KERNELIO_PROBES(X)
#undef X
		KERNELIO_N_TRACEPOINTS,
	KERNELIO_LAST_TRACEPOINT = KERNELIO_N_TRACEPOINTS - 1,
#define X(function, span) KERNELIO_PROBE_enter_##function,
	KERNELIO_FUNCTIONS(X)
#undef X
		KERNELIO_N_PROBES,
};

enum need { NEED_REQUIRED, NEED_LEVEL, NEED_EXTRA };

/* A row of one of the lists. */
struct probe {
	const char *programs[2]; /* of a function: at its entry, at its return; else the second is
				    NULL */
	const char *target;	 /* the tracepoint or function */
	const char *category;	 /* of the classic tracepoint; NULL: does not serve */
	enum eta_level level;
	enum need need;
};

#endif

/* Where the kernel makes threads wait, and what that means. One line adds one. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_SLEEPS_H
#define KERNELIO_SLEEPS_H

/*
 * X(FUNCTION, REGION): a thread that sleeps in FUNCTION, or in what that calls, waits for what the
 * region is named after. Innermost first: the first function of the stack that is listed counts.
 * Sleeps that a tracepoint reports (throttling, writeback, locks that their address names) do not
 * come here.
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
	X(start_this_handle, "fs:journal commit")                                                  \
	X(jbd2_journal_stop, "fs:journal commit")                                                  \
	X(__jbd2_log_wait_for_space, "fs:journal commit")                                          \
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
	X(__reserve_bytes, "fs:allocation")                                                        \
	X(handle_reserve_ticket, "fs:allocation")                                                  \
	X(btrfs_start_ordered_extent_nowriteback, "pagecache:page writeback wait")                 \
	X(btrfs_start_ordered_extent, "pagecache:page writeback wait")                             \
	X(btrfs_start_delalloc_roots, "pagecache:page writeback wait")                             \
	X(btrfs_wait_ordered_roots, "pagecache:page writeback wait")                               \
	X(btrfs_wait_ordered_extents, "pagecache:page writeback wait")                             \
	X(btrfs_wait_ordered_range, "pagecache:page writeback wait")                               \
	/* other programs that the kernel asks */                                                  \
	X(fanotify_get_response, "vfs:fanotify listener")                                          \
	X(fanotify_handle_event, "vfs:fanotify listener")                                          \
	X(request_wait_answer, "fs:FUSE server")                                                   \
	X(fuse_get_req, "fs:FUSE server")                                                          \
	X(__fuse_simple_request, "fs:FUSE server")                                                 \
	X(fuse_simple_request, "fs:FUSE server")                                                   \
	X(fuse_wait_on_folio_writeback, "fs:FUSE server")                                          \
	X(fuse_wait_on_page_writeback, "fs:FUSE server")                                           \
	X(fuse_set_nowrite, "fs:FUSE server")                                                      \
	X(fuse_sync_writes, "fs:FUSE server")                                                      \
	/* servers of network file systems; calls of NFS are recorded one by one */                \
	X(p9_client_rpc, "net:server")                                                             \
	X(p9_client_zc_rpc, "net:server")                                                          \
	X(p9_virtio_request, "net:rpc queue")                                                      \
	X(netfs_begin_read, "net:server")                                                          \
	X(netfs_wait_for_read, "net:server")                                                       \
	X(netfs_wait_for_request, "net:server")                                                    \
	X(netfs_wait_for_in_progress, "net:server")                                                \
	X(netfs_wait_for_outstanding_io, "net:server")                                             \
	X(wait_for_free_credits, "net:rpc queue")                                                  \
	X(wait_for_compound_request, "net:rpc queue")                                              \
	X(compound_send_recv, "net:server")                                                        \
	X(SendReceive, "net:server")                                                               \
	X(SendReceive2, "net:server")                                                              \
	X(__cifs_readv, "net:server")                                                              \
	X(__cifs_writev, "net:server")                                                             \
	X(ceph_mdsc_wait_request, "net:server")                                                    \
	X(ceph_mdsc_do_request, "net:server")                                                      \
	X(ceph_osdc_wait_request, "net:server")                                                    \
	X(__ceph_get_caps, "net:server")                                                           \
	X(ceph_get_caps, "net:server")                                                             \
	X(afs_wait_for_operation, "net:server")                                                    \
	X(afs_wait_for_call_to_complete, "net:server")                                             \
	X(obd_get_request_slot, "net:rpc queue")                                                   \
	X(obd_get_mod_rpc_slot, "net:rpc queue")                                                   \
	X(ptlrpc_set_wait, "net:server")                                                           \
	X(ptlrpc_queue_wait, "net:server")                                                         \
	X(cl_sync_io_wait, "net:server")                                                           \
	X(ldlm_completion_ast, "net:server")                                                       \
	/* names and inodes that another thread is looking up or freeing */                        \
	X(d_alloc_parallel, "vfs:lookup")                                                          \
	X(__wait_on_freeing_inode, "vfs:lookup")                                                   \
	X(find_inode, "vfs:lookup")                                                                \
	X(find_inode_fast, "vfs:lookup")                                                           \
	X(iget_locked, "vfs:lookup")                                                               \
	X(iget5_locked, "vfs:lookup")                                                              \
	/* locks that are no mutex or semaphore: bits, lists of waiters */                         \
	X(inode_dio_wait, "fs:inode lock")                                                         \
	X(inode_dio_wait_interruptible, "fs:inode lock")                                           \
	X(__inode_dio_wait, "fs:inode lock")                                                       \
	X(__lock_buffer, "fs:metadata lock")                                                       \
	X(xfs_extent_busy_flush, "fs:metadata lock")                                               \
	X(xfs_buf_unpin, "fs:metadata lock")                                                       \
	X(xfs_buf_wait_unpin, "fs:metadata lock")                                                  \
	X(btrfs_lock_extent_bits, "fs:metadata lock")                                              \
	X(lock_extent_bits, "fs:metadata lock")                                                    \
	X(wait_extent_bit, "fs:metadata lock")                                                     \
	X(btrfs_drew_read_lock, "fs:metadata lock")                                                \
	X(btrfs_drew_write_lock, "fs:metadata lock")                                               \
	/* page cache and memory */                                                                \
	X(wb_wait_for_completion, "pagecache:page writeback wait")                                 \
	X(ext4_sync_fs, "pagecache:page writeback wait") /* the workers behind it */               \
	X(folio_wait_bit_common, "pagecache:page lock")                                            \
	X(folio_wait_bit, "pagecache:page lock")                                                   \
	X(folio_wait_bit_killable, "pagecache:page lock")                                          \
	X(__folio_lock, "pagecache:page lock")                                                     \
	X(__folio_lock_killable, "pagecache:page lock")                                            \
	X(folio_put_wait_locked, "pagecache:page lock")                                            \
	/* reclaim_throttle is below one of these: whose memory it is they say */                  \
	X(try_to_free_pages, "pagecache:reclaim")                                                  \
	X(node_reclaim, "pagecache:reclaim")                                                       \
	X(compact_zone, "pagecache:reclaim")                                                       \
	X(try_to_free_mem_cgroup_pages, "pagecache:reclaim at own limit")                          \
	X(mem_cgroup_handle_over_high, "pagecache:reclaim at own limit")                           \
	X(__mem_cgroup_handle_over_high, "pagecache:reclaim at own limit")                         \
	X(mem_cgroup_oom_synchronize, "pagecache:reclaim at own limit")                            \
	X(inode_wait_for_writeback, "pagecache:page writeback wait")                               \
	X(__inode_wait_for_writeback, "pagecache:page writeback wait")                             \
	X(inode_sleep_on_writeback, "pagecache:page writeback wait")                               \
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
	X(bio_alloc_bioset, "block:held back")                                                     \
	/* weights and latencies of control groups (io.weight, io.latency) */                      \
	X(ioc_rqos_throttle, "block:held back")                                                    \
	X(blkcg_maybe_throttle_blkg, "block:held back")                                            \
	X(blkcg_maybe_throttle_current, "block:held back")                                         \
	/* a RAID that is checked or rebuilt (md) */                                               \
	X(_wait_barrier, "block:held back")                                                        \
	X(wait_barrier, "block:held back")                                                         \
	X(wait_read_barrier, "block:held back")                                                    \
	X(regular_request_wait, "block:held back")                                                 \
	X(raid1_make_request, "block:held back")                                                   \
	X(raid10_make_request, "block:held back")                                                  \
	X(raid5_get_active_stripe, "block:held back")                                              \
	X(raid5_make_request, "block:held back")                                                   \
	X(md_write_start, "block:held back")                                                       \
	X(md_handle_request, "block:held back")

/*
 * X(FUNCTION, REGION): FUNCTION itself takes a lock, or sleeps, and the region is what that means:
 * of all that it calls this says nothing. Looked at before the list above.
 */
#define KERNELIO_TAKERS(X)                                                                         \
	/* of the directory a name is looked for in, made, removed or moved */                     \
	X(path_openat, "vfs:directory lock")                                                       \
	X(open_last_lookups, "vfs:directory lock")                                                 \
	X(lookup_open, "vfs:directory lock")                                                       \
	X(lookup_slow, "vfs:directory lock")                                                       \
	X(__lookup_slow, "vfs:directory lock")                                                     \
	X(walk_component, "vfs:directory lock")                                                    \
	X(lookup_one_unlocked, "vfs:directory lock")                                               \
	X(do_unlinkat, "vfs:directory lock")                                                       \
	X(do_rmdir, "vfs:directory lock")                                                          \
	X(vfs_rmdir, "vfs:directory lock")                                                         \
	X(filename_create, "vfs:directory lock")                                                   \
	X(filename_unlinkat, "vfs:directory lock")                                                 \
	X(do_renameat2, "vfs:directory lock")                                                      \
	X(do_mkdirat, "vfs:directory lock")                                                        \
	X(do_mknodat, "vfs:directory lock")                                                        \
	X(do_symlinkat, "vfs:directory lock")                                                      \
	X(do_linkat, "vfs:directory lock")                                                         \
	X(lock_rename, "vfs:directory lock")                                                       \
	X(lock_rename_child, "vfs:directory lock")                                                 \
	X(lock_two_directories, "vfs:directory lock")                                              \
	X(__start_removing_path, "vfs:directory lock")                                             \
	X(start_dirop, "vfs:directory lock")                                                       \
	X(__start_dirop, "vfs:directory lock")                                                     \
	X(start_creating, "vfs:directory lock")                                                    \
	X(start_removing, "vfs:directory lock")                                                    \
	X(start_creating_path, "vfs:directory lock")                                               \
	X(start_removing_path, "vfs:directory lock")                                               \
	X(simple_start_creating, "vfs:directory lock")                                             \
	X(iterate_dir, "vfs:directory lock")                                                       \
	X(wrap_directory_iterator, "vfs:directory lock")                                           \
	X(dcache_readdir, "vfs:directory lock")                                                    \
	X(ovl_lock_rename_workdir, "vfs:directory lock")                                           \
	/* of the file itself */                                                                   \
	X(vfs_unlink, "fs:inode lock")                                                             \
	X(vfs_rename, "fs:inode lock")                                                             \
	X(lock_two_nondirectories, "fs:inode lock")                                                \
	X(chmod_common, "fs:inode lock")                                                           \
	X(chown_common, "fs:inode lock")                                                           \
	X(vfs_utimes, "fs:inode lock")                                                             \
	X(do_truncate, "fs:inode lock")                                                            \
	X(vfs_setxattr, "fs:inode lock")                                                           \
	X(vfs_removexattr, "fs:inode lock")                                                        \
	X(vfs_fallocate, "fs:inode lock")                                                          \
	X(vfs_link, "fs:inode lock")                                                               \
	X(ovl_copy_up_start, "fs:inode lock")                                                      \
	X(ext4_map_blocks, "fs:inode lock")                                                        \
	X(ext4_xattr_get, "fs:inode lock")                                                         \
	X(ext4_xattr_set_handle, "fs:inode lock")                                                  \
	X(ext4_da_map_blocks, "fs:inode lock")                                                     \
	X(ext4_truncate, "fs:inode lock")                                                          \
	X(ext4_release_file, "fs:inode lock")                                                      \
	X(ext4_fallocate, "fs:inode lock")                                                         \
	X(xfs_ilock, "fs:inode lock")                                                              \
	X(xfs_ilock_iocb, "fs:inode lock")                                                         \
	X(xfs_ilock_iocb_for_write, "fs:inode lock")                                               \
	X(xfs_lock_inodes, "fs:inode lock")                                                        \
	X(xfs_lock_two_inodes, "fs:inode lock")                                                    \
	X(xfs_ilock2_io_mmap, "fs:inode lock")                                                     \
	X(btrfs_inode_lock, "fs:inode lock")                                                       \
	/* of the memory of the process, or of a part of it */                                     \
	X(vm_mmap_pgoff, "vfs:address space lock")                                                 \
	X(__vm_munmap, "vfs:address space lock")                                                   \
	X(do_mprotect_pkey, "vfs:address space lock")                                              \
	X(__do_sys_mremap, "vfs:address space lock")                                               \
	X(__x64_sys_mremap, "vfs:address space lock")                                              \
	X(lock_mm_and_find_vma, "vfs:address space lock")                                          \
	X(do_user_addr_fault, "vfs:address space lock")                                            \
	X(__vma_start_write, "vfs:address space lock")                                             \
	/* what a file system is frozen with */                                                    \
	X(mnt_want_write, "vfs:frozen file system")                                                \
	X(mnt_want_write_file, "vfs:frozen file system")                                           \
	X(vfs_write, "vfs:frozen file system")                                                     \
	X(vfs_writev, "vfs:frozen file system")                                                    \
	X(do_iter_write, "vfs:frozen file system")                                                 \
	X(do_iter_readv_writev, "vfs:frozen file system")                                          \
	X(vfs_iter_write, "vfs:frozen file system")                                                \
	X(vfs_iocb_iter_write, "vfs:frozen file system")                                           \
	X(do_sys_ftruncate, "vfs:frozen file system")                                              \
	X(do_ftruncate, "vfs:frozen file system")                                                  \
	X(vfs_copy_file_range, "vfs:frozen file system")                                           \
	X(do_splice, "vfs:frozen file system")                                                     \
	X(iter_file_splice_write, "vfs:frozen file system")                                        \
	X(do_sendfile, "vfs:frozen file system")                                                   \
	X(io_write, "vfs:frozen file system")                                                      \
	X(aio_write, "vfs:frozen file system")                                                     \
	X(ext4_page_mkwrite, "vfs:frozen file system")                                             \
	X(xfs_write_fault, "vfs:frozen file system")                                               \
	X(__xfs_filemap_fault, "vfs:frozen file system")                                           \
	X(btrfs_page_mkwrite, "vfs:frozen file system")                                            \
	X(filemap_page_mkwrite, "vfs:frozen file system")                                          \
	/* of the file system's own structures */                                                  \
	X(ext4_orphan_add, "fs:metadata lock")                                                     \
	X(ext4_orphan_del, "fs:metadata lock")                                                     \
	X(ext4_writepages, "fs:metadata lock")                                                     \
	X(ext4_do_writepages, "fs:metadata lock")                                                  \
	X(ext4_fc_commit, "fs:metadata lock")                                                      \
	X(ext4_create_inline_data, "fs:metadata lock")                                             \
	X(ext4_mb_load_buddy_gfp, "fs:metadata lock")                                              \
	X(xfs_buf_lock, "fs:metadata lock")                                                        \
	X(xfs_buf_find_lock, "fs:metadata lock")                                                   \
	X(xfs_buf_get_map, "fs:metadata lock")                                                     \
	X(xfs_alloc_read_agf, "fs:metadata lock")                                                  \
	X(xfs_inodegc_flush, "fs:metadata lock")                                                   \
	X(btrfs_tree_lock_nested, "fs:metadata lock")                                              \
	X(btrfs_tree_read_lock_nested, "fs:metadata lock")                                         \
	X(__btrfs_tree_lock, "fs:metadata lock")                                                   \
	X(__btrfs_tree_read_lock, "fs:metadata lock")                                              \
	X(btrfs_log_inode, "fs:metadata lock")                                                     \
	X(btrfs_log_inode_parent, "fs:metadata lock")                                              \
	X(btrfs_delayed_update_inode, "fs:metadata lock")                                          \
	X(btrfs_insert_delayed_dir_index, "fs:metadata lock")                                      \
	X(btrfs_delete_delayed_dir_index, "fs:metadata lock")                                      \
	X(btrfs_delayed_delete_inode_ref, "fs:metadata lock")                                      \
	X(btrfs_commit_inode_delayed_inode, "fs:metadata lock")                                    \
	X(btrfs_commit_inode_delayed_items, "fs:metadata lock")                                    \
	X(btrfs_inode_delayed_dir_index_count, "fs:metadata lock")                                 \
	X(btrfs_readdir_get_delayed_items, "fs:metadata lock")                                     \
	X(btrfs_log_get_delayed_items, "fs:metadata lock")                                         \
	X(btrfs_fill_inode, "fs:metadata lock")                                                    \
	X(__btrfs_release_delayed_node, "fs:metadata lock")                                        \
	X(__btrfs_kill_delayed_node, "fs:metadata lock")                                           \
	X(btrfs_delayed_ref_lock, "fs:metadata lock")                                              \
	X(btrfs_create_pending_block_groups, "fs:metadata lock")                                   \
	X(btrfs_chunk_alloc, "fs:metadata lock")                                                   \
	X(btrfs_cache_block_group, "fs:metadata lock")                                             \
	X(find_free_extent, "fs:metadata lock")                                                    \
	/* of the journal */                                                                       \
	X(jbd2_log_do_checkpoint, "fs:journal commit")                                             \
	X(__jbd2_log_wait_for_space, "fs:journal commit")                                          \
	X(jbd2_journal_flush, "fs:journal commit")                                                 \
	X(jbd2_journal_lock_updates, "fs:journal commit")                                          \
	X(btrfs_sync_log, "fs:journal commit")                                                     \
	X(btrfs_pin_log_trans, "fs:journal commit")                                                \
	X(btrfs_record_root_in_trans, "fs:journal commit")                                         \
	X(record_root_in_trans, "fs:journal commit")                                               \
	X(start_transaction, "fs:journal commit")                                                  \
	X(join_transaction, "fs:journal commit")                                                   \
	X(xlog_cil_force_seq, "fs:journal commit")                                                 \
	X(xlog_cil_commit, "fs:journal commit")                                                    \
	X(xfs_log_commit_cil, "fs:journal commit")                                                 \
	X(xlog_cil_push_work, "fs:journal commit")

#endif

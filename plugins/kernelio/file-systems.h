/* File systems: the tracepoints of their own, and what each says. One line adds one. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FILE_SYSTEMS_H
#define KERNELIO_FILE_SYSTEMS_H

/*
 * F(X, TRACEPOINT, ROLE, NEED): ROLE is a function of bpf/fs.bpf.c. NEED as in probes.h: a file
 * system that this kernel does not have is nothing to announce, so only ext4's are LEVEL. Those of
 * xfs that bound an allocation are of 6.3 and later.
 *
 * write_begin: buffered data is about to be copied; the first in an operation counts.
 * reserve_begin: the same of a tracepoint that other operations meet, too.
 * sync_begin, sync_end: the function behind fsync; without an end it lasts as long as the call.
 * writepages_begin, writepages_end: dirty pages are turned into requests.
 * allocation_begin, allocation_end: free blocks are looked for, locks and reads of that included.
 *
 * A file system without any has what all have: pages added, dirtied and throttled, direct I/O
 * through iomap, requests and waits.
 */
#define KERNELIO_FS_PROBES(F, X)                                                                   \
	F(X, ext4_da_write_begin, write_begin, LEVEL)                                              \
	F(X, ext4_write_begin, write_begin, LEVEL)                                                 \
	F(X, ext4_sync_file_enter, sync_begin, LEVEL)                                              \
	F(X, ext4_sync_file_exit, sync_end, LEVEL)                                                 \
	F(X, ext4_writepages, writepages_begin, EXTRA)                                             \
	F(X, ext4_writepages_result, writepages_end, EXTRA)                                        \
	F(X, ext4_request_blocks, allocation_begin, EXTRA)                                         \
	F(X, ext4_allocate_blocks, allocation_end, EXTRA)                                          \
	F(X, xfs_file_buffered_write, write_begin, EXTRA)                                          \
	F(X, xfs_file_fsync, sync_begin, EXTRA)                                                    \
	F(X, xfs_alloc_vextent_this_ag, allocation_begin, EXTRA)                                   \
	F(X, xfs_alloc_vextent_start_ag, allocation_begin, EXTRA)                                  \
	F(X, xfs_alloc_vextent_first_ag, allocation_begin, EXTRA)                                  \
	F(X, xfs_alloc_vextent_exact_bno, allocation_begin, EXTRA)                                 \
	F(X, xfs_alloc_vextent_near_bno, allocation_begin, EXTRA)                                  \
	F(X, xfs_alloc_vextent_finish, allocation_end, EXTRA)                                      \
	F(X, btrfs_inode_mod_outstanding_extents, reserve_begin, EXTRA)                            \
	F(X, btrfs_sync_file, sync_begin, EXTRA)                                                   \
	F(X, f2fs_write_begin, write_begin, EXTRA)                                                 \
	F(X, f2fs_sync_file_enter, sync_begin, EXTRA)                                              \
	F(X, f2fs_sync_file_exit, sync_end, EXTRA)                                                 \
	F(X, nfs_fsync_enter, sync_begin, EXTRA)                                                   \
	F(X, nfs_fsync_exit, sync_end, EXTRA)

/*
 * X(MODULE, FUNCTION): the file system may be a module, which comes when one is first mounted. Each
 * kernel that has it has this one of KERNELIO_FUNCTIONS.
 */
#define KERNELIO_FS_MODULES(X)                                                                     \
	X(ext4, ext4_file_write_iter)                                                              \
	X(xfs, xfs_file_write_iter)                                                                \
	X(btrfs, btrfs_file_write_iter)                                                            \
	X(f2fs, f2fs_file_write_iter)                                                              \
	X(nfs, nfs_file_write)                                                                     \
	X(fuse, fuse_file_write_iter)                                                              \
	X(overlay, ovl_write_iter)

/* An F for the list of all probes. */
#define KERNELIO_FS_PROBE(X, tracepoint, role, need) X(on_##tracepoint, tracepoint, FS, need)

#endif

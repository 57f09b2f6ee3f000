/* The kernel functions whose bounds are spans: one line each. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_FUNCTIONS_H
#define KERNELIO_FUNCTIONS_H

/*
 * X(FUNCTION, SPAN): from its entry to its return it is a span of that kind (ETA_SPANS), whose
 * region says the level. A function this kernel or its loaded modules do not have is passed over;
 * one inside another of the same kind belongs to the outer one. A file system is traced once its
 * functions are here.
 */
#define KERNELIO_FUNCTIONS(X)                                                                      \
	X(vfs_read, VFS_READ)                                                                      \
	X(vfs_readv, VFS_READ)                                                                     \
	X(vfs_write, VFS_WRITE)                                                                    \
	X(vfs_writev, VFS_WRITE)                                                                   \
	X(vfs_fsync_range, VFS_SYNC)                                                               \
	X(filemap_read, PAGECACHE_READ)                                                            \
	X(page_cache_sync_ra, READAHEAD)                                                           \
	X(page_cache_async_ra, READAHEAD)                                                          \
	X(page_cache_ra_unbounded, READAHEAD)                                                      \
	X(generic_perform_write, PAGECACHE_WRITE)                                                  \
	X(iomap_file_buffered_write, PAGECACHE_WRITE)                                              \
	X(btrfs_buffered_write, PAGECACHE_WRITE)                                                   \
	X(ext4_file_read_iter, FS_READ)                                                            \
	X(ext4_file_write_iter, FS_WRITE)                                                          \
	X(ext4_sync_file, FS_SYNC)                                                                 \
	X(xfs_file_read_iter, FS_READ)                                                             \
	X(xfs_file_write_iter, FS_WRITE)                                                           \
	X(xfs_file_fsync, FS_SYNC)                                                                 \
	X(btrfs_file_read_iter, FS_READ)                                                           \
	X(btrfs_file_write_iter, FS_WRITE)                                                         \
	X(btrfs_sync_file, FS_SYNC)                                                                \
	X(f2fs_file_read_iter, FS_READ)                                                            \
	X(f2fs_file_write_iter, FS_WRITE)                                                          \
	X(f2fs_sync_file, FS_SYNC)                                                                 \
	X(fuse_file_read_iter, FS_READ)                                                            \
	X(fuse_file_write_iter, FS_WRITE)                                                          \
	X(fuse_fsync, FS_SYNC)                                                                     \
	X(nfs_file_read, FS_READ)                                                                  \
	X(nfs_file_write, FS_WRITE)                                                                \
	X(nfs_file_fsync, FS_SYNC)                                                                 \
	X(ovl_read_iter, FS_READ)                                                                  \
	X(ovl_write_iter, FS_WRITE)                                                                \
	X(ovl_fsync, FS_SYNC)                                                                      \
	X(shmem_file_read_iter, FS_READ)                                                           \
	X(blkdev_read_iter, FS_READ)                                                               \
	X(blkdev_write_iter, FS_WRITE)                                                             \
	X(blkdev_fsync, FS_SYNC)                                                                   \
	X(generic_file_read_iter, FS_READ)                                                         \
	X(generic_file_write_iter, FS_WRITE)                                                       \
	X(__generic_file_fsync, FS_SYNC)                                                           \
	X(iomap_dio_rw, FS_DIRECT)                                                                 \
	X(__iomap_dio_rw, FS_DIRECT)                                                               \
	X(do_writepages, FS_WRITEPAGES)                                                            \
	X(submit_bio, BIO_SUBMIT)

#endif

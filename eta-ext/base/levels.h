/* Levels (where time goes) and reasons (why): the two lists every room shares. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LEVELS_H
#define ETA_LEVELS_H

/* X(ID, name, what), in the order tables show them; how they nest is taken from the trace. */
#define ETA_LEVELS(X)                                                                              \
	X(USER, "user", "the library call outside the kernel")                                     \
	X(VFS, "vfs", "system call to file system")                                                \
	X(PAGECACHE, "pagecache", "copy, lookup, readahead, dirtying")                             \
	X(FS, "fs", "file system code")                                                            \
	X(BLOCK, "block", "waiting for block I/O")                                                 \
	X(NET, "net", "waiting for a file server")                                                 \
	X(CPU, "cpu", "runnable, not running, inside an operation")

/*
 * X(ID, HOME, name): HOME is the level the reason belongs to; a region of the reason is
 * called "level:name". "other wait" takes the level of the region it interrupts.
 */
#define ETA_REASONS(X)                                                                             \
	X(NONE, USER, "")                                                                          \
	X(STREAM_LOCK, USER, "stream lock")                                                        \
	X(USER_LOCK, USER, "user lock")                                                            \
	X(BUFFERING, USER, "buffering")                                                            \
	X(FILE_POSITION_LOCK, VFS, "file position lock")                                           \
	X(FILE_LOCK, VFS, "file lock")                                                             \
	X(DIRECTORY_LOCK, VFS, "directory lock")                                                   \
	X(ADDRESS_SPACE_LOCK, VFS, "address space lock")                                           \
	X(LOOKUP, VFS, "lookup")                                                                   \
	X(FANOTIFY_LISTENER, VFS, "fanotify listener")                                             \
	X(OTHER_LOCK, VFS, "other lock")                                                           \
	X(SPIN_LOCK, VFS, "spin lock")                                                             \
	X(OTHER_WAIT, VFS, "other wait")                                                           \
	X(DIRTY_THROTTLING, PAGECACHE, "dirty throttling")                                         \
	X(PAGE_LOCK, PAGECACHE, "page lock")                                                       \
	X(PAGE_WRITEBACK_WAIT, PAGECACHE, "page writeback wait")                                   \
	X(RECLAIM, PAGECACHE, "reclaim")                                                           \
	X(EVICTION, PAGECACHE, "eviction")                                                         \
	X(DROPPED_PAGES, PAGECACHE, "dropped pages")                                               \
	X(INODE_LOCK, FS, "inode lock")                                                            \
	X(METADATA_LOCK, FS, "metadata lock")                                                      \
	X(JOURNAL_COMMIT, FS, "journal commit")                                                    \
	X(ALLOCATION, FS, "allocation")                                                            \
	X(FUSE_SERVER, FS, "FUSE server")                                                          \
	X(QUEUE, BLOCK, "queue")                                                                   \
	X(DEVICE, BLOCK, "device")                                                                 \
	X(THROTTLED, BLOCK, "held back")                                                           \
	X(RUN_QUEUE, CPU, "run queue")                                                             \
	X(WAKE_UP, CPU, "wake-up")                                                                 \
	X(QUOTA, CPU, "quota")                                                                     \
	X(OWN_WORK, CPU, "own work")                                                               \
	X(STOPPED, CPU, "stopped")                                                                 \
	X(FROZEN_FILE_SYSTEM, VFS, "frozen file system")                                           \
	X(RECLAIM_AT_OWN_LIMIT, PAGECACHE, "reclaim at own limit")                                 \
	X(EVICTION_AT_OWN_LIMIT, PAGECACHE, "eviction at own limit")                               \
	X(THROTTLED_BY_OWN_LIMIT, BLOCK, "held back by own limit")                                 \
	X(VIRTIO, BLOCK, "virtio")                                                                 \
	X(STEAL, CPU, "steal")                                                                     \
	X(RPC_QUEUE, NET, "rpc queue")                                                             \
	X(SERVER, NET, "server")                                                                   \
	X(RETRANSMIT, NET, "retransmit")

#ifdef __cplusplus
extern "C" {
#endif

enum eta_level {
#define X(id, name, what) ETA_LEVEL_##id,
	ETA_LEVELS(X)
#undef X
		ETA_N_LEVELS,
	ETA_LEVEL_NONE = ETA_N_LEVELS, /* a region that is not I/O */
};

enum eta_reason {
#define X(id, home, name) ETA_REASON_##id,
	ETA_REASONS(X)
#undef X
		ETA_N_REASONS,
};

/* Names as in the lists; "?" for a value outside them. */
const char *eta_level_name(enum eta_level level);
const char *eta_reason_name(enum eta_reason reason);

/*
 * Splits a region name "level:function": level and reason through the pointers; returns the part
 * behind the colon, or NAME itself (level NONE, reason NONE) when no known level stands before it.
 */
const char *eta_region_name_split(const char *name, enum eta_level *level, enum eta_reason *reason);

#ifdef __cplusplus
}
#endif
#endif

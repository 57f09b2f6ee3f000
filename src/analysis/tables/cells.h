/* Cells: the pairs of level and reason that time is divided over, and what makes each contended. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CELLS_H
#define SCI_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/base/levels.h"

/*
 * X(LEVEL, REASON, GROUP): how slowdown in the cell is divided into what others caused and the
 * rest. NATURE: always others. FILE, FS: another thread's operation on the same file (file system)
 * overlapped. DIRTY: another thread wrote to the page cache meanwhile. DEVICE: another thread's
 * request was in flight, or throttled, on the same device. SERVER: another thread's call was at the
 * same server, as far as clients are traced. SELF: never others. LIMIT: neither others nor the
 * thread itself, but a limit that somebody set on it.
 */
#define CELLS(X)                                                                                   \
	X(USER, NONE, FILE)                                                                        \
	X(VFS, NONE, FILE)                                                                         \
	X(PAGECACHE, NONE, FILE)                                                                   \
	X(FS, NONE, FILE)                                                                          \
	X(BLOCK, NONE, DEVICE)                                                                     \
	X(CPU, NONE, NATURE)                                                                       \
	X(USER, OTHER_WAIT, FILE)                                                                  \
	X(VFS, OTHER_WAIT, FILE)                                                                   \
	X(PAGECACHE, OTHER_WAIT, FILE)                                                             \
	X(FS, OTHER_WAIT, FILE)                                                                    \
	X(BLOCK, OTHER_WAIT, DEVICE)                                                               \
	X(CPU, OTHER_WAIT, NATURE)                                                                 \
	X(USER, OTHER_LOCK, NATURE)                                                                \
	X(VFS, OTHER_LOCK, NATURE)                                                                 \
	X(PAGECACHE, OTHER_LOCK, NATURE)                                                           \
	X(FS, OTHER_LOCK, NATURE)                                                                  \
	X(BLOCK, OTHER_LOCK, NATURE)                                                               \
	X(USER, STREAM_LOCK, NATURE)                                                               \
	X(USER, USER_LOCK, NATURE)                                                                 \
	X(USER, BUFFERING, FILE)                                                                   \
	X(VFS, SPIN_LOCK, FS)                                                                      \
	X(VFS, FILE_POSITION_LOCK, NATURE)                                                         \
	X(VFS, FILE_LOCK, NATURE)                                                                  \
	X(VFS, DIRECTORY_LOCK, NATURE)                                                             \
	X(VFS, ADDRESS_SPACE_LOCK, NATURE)                                                         \
	X(VFS, LOOKUP, FILE)                                                                       \
	X(VFS, FANOTIFY_LISTENER, NATURE)                                                          \
	X(PAGECACHE, DIRTY_THROTTLING, DIRTY)                                                      \
	X(PAGECACHE, PAGE_LOCK, NATURE)                                                            \
	X(PAGECACHE, PAGE_WRITEBACK_WAIT, DEVICE)                                                  \
	X(PAGECACHE, RECLAIM, DIRTY)                                                               \
	X(PAGECACHE, EVICTION, NATURE)                                                             \
	X(PAGECACHE, DROPPED_PAGES, NATURE)                                                        \
	X(FS, INODE_LOCK, NATURE)                                                                  \
	X(FS, METADATA_LOCK, NATURE)                                                               \
	X(FS, JOURNAL_COMMIT, FS)                                                                  \
	X(FS, ALLOCATION, FS)                                                                      \
	X(FS, FUSE_SERVER, FS)                                                                     \
	X(BLOCK, QUEUE, DEVICE)                                                                    \
	X(BLOCK, DEVICE, DEVICE)                                                                   \
	X(BLOCK, THROTTLED, DEVICE)                                                                \
	X(CPU, RUN_QUEUE, NATURE)                                                                  \
	X(CPU, WAKE_UP, SELF)                                                                      \
	X(CPU, OWN_WORK, SELF)                                                                     \
	X(CPU, QUOTA, LIMIT)                                                                       \
	X(CPU, STOPPED, LIMIT)                                                                     \
	X(VFS, FROZEN_FILE_SYSTEM, LIMIT)                                                          \
	X(PAGECACHE, RECLAIM_AT_OWN_LIMIT, LIMIT)                                                  \
	X(PAGECACHE, EVICTION_AT_OWN_LIMIT, LIMIT)                                                 \
	X(BLOCK, THROTTLED_BY_OWN_LIMIT, LIMIT)                                                    \
	X(BLOCK, VIRTIO, DEVICE)                                                                   \
	X(CPU, STEAL, NATURE)                                                                      \
	X(NET, NONE, SELF)                                                                         \
	X(NET, RPC_QUEUE, DEVICE)                                                                  \
	X(NET, SERVER, SERVER)                                                                     \
	X(NET, RETRANSMIT, SELF)

enum cell {
#define X(level, reason, group) CELL_##level##_##reason,
	CELLS(X)
#undef X
	/* clang-format off */
	N_CELLS,
	CELL_INHERITED = N_CELLS, /* a region that is not I/O: time goes to what encloses it */
	/* clang-format on */
};
_Static_assert(N_CELLS < 64, "a set of cells is one uint64_t");
#define ALL_CELLS (((uint64_t)1 << N_CELLS) - 1)

enum cell_group {
	GROUP_NATURE,
	GROUP_FILE,
	GROUP_FS,
	GROUP_DIRTY,
	GROUP_DEVICE,
	GROUP_SERVER,
	GROUP_SELF,
	GROUP_LIMIT,
	N_GROUPS,
};

struct cell_info {
	enum eta_level level;
	enum eta_reason reason;
	enum cell_group group;
};

extern const struct cell_info cell_table[N_CELLS];

/* The sets of a group's and a level's cells, and of those that wait for a reason: constants. */
static inline __attribute__((always_inline)) uint64_t cells_of_group(enum cell_group group)
{
#define X(l, r, g) | (uint64_t)(GROUP_##g == group) << CELL_##l##_##r
	return 0 CELLS(X);
#undef X
}

static inline __attribute__((always_inline)) uint64_t cells_of_level(enum eta_level level)
{
#define X(l, r, g) | (uint64_t)(ETA_LEVEL_##l == level) << CELL_##l##_##r
	return 0 CELLS(X);
#undef X
}

static inline __attribute__((always_inline)) uint64_t cells_of_reason(enum eta_reason reason)
{
#define X(l, r, g) | (uint64_t)(ETA_REASON_##r == reason) << CELL_##l##_##r
	return 0 CELLS(X);
#undef X
}

/* Waits for pages that the operation would have found in the cache. */
static inline uint64_t cells_of_eviction(void)
{
	return 1ull << CELL_PAGECACHE_EVICTION | 1ull << CELL_PAGECACHE_DROPPED_PAGES |
	       1ull << CELL_PAGECACHE_EVICTION_AT_OWN_LIMIT;
}

/* Waits for work that is the thread's own or others': of devices, journals, writeback. */
static inline uint64_t cells_of_work_waits(void)
{
	return cells_of_group(GROUP_DEVICE) | cells_of_group(GROUP_FS) |
	       cells_of_group(GROUP_DIRTY) | cells_of_group(GROUP_SERVER);
}

/* In these cells, a task that the kernel names counts beside those seen on the resource. */
static inline bool cell_names_others(enum cell cell)
{
	return 1ull << cell & (cells_of_work_waits() & ~cells_of_group(GROUP_SERVER));
}

/* The cell of a region; a reason that is foreign to the level counts as none. */
enum cell cell_of(enum eta_level level, enum eta_reason reason);

/*
 * Is time in the cell, waited for WHO (a tid, 0: unknown), always due to others or a limit? Then it
 * is not part of what an undisturbed operation takes. Locks without a holder that is a task may be
 * the system's own, and do not count.
 */
static inline bool cell_is_for_others(enum cell cell, uint32_t who)
{
	uint64_t where_named = cells_of_reason(ETA_REASON_OTHER_LOCK) |
			       cells_of_reason(ETA_REASON_OTHER_WAIT) |
			       cells_of_reason(ETA_REASON_PAGE_LOCK);

	if (!(1ull << cell & (cells_of_group(GROUP_NATURE) | cells_of_group(GROUP_LIMIT))))
		return false;
	return who || !(1ull << cell & where_named);
}

/*
 * The same of a call that writes out whatever anybody has made dirty, as sync() does: requests of
 * WHO, whom the kernel named, are there only because of that one.
 */
static inline bool cell_is_left_by(enum cell cell, uint32_t who)
{
	return who && 1ull << cell & cells_of_group(GROUP_DEVICE);
}

/*
 * Is it a wait that some operations have and others of the same kind do not? If only those that
 * wait are recorded, it is not part of what an undisturbed operation takes, either.
 */
static inline bool cell_is_of_some(enum cell cell)
{
	return 1ull << cell & cells_of_group(GROUP_DIRTY);
}

/* To loop over the cells in SET: removes and returns the lowest. */
static inline enum cell cell_next(uint64_t *set)
{
	enum cell cell = (enum cell)__builtin_ctzll(*set);

	*set &= *set - 1;
	return cell;
}

#endif

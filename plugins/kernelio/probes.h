/* The probes: one line each, with the level they serve. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_PROBES_H
#define KERNELIO_PROBES_H

#include "plugins/kernelio/file-systems.h"

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
	X(on_get_pages, mm_filemap_get_pages, PAGECACHE, LEVEL)                                    \
	X(on_sync_readahead, page_cache_sync_ra, PAGECACHE, EXTRA)                                 \
	X(on_async_readahead, page_cache_async_ra, PAGECACHE, EXTRA)                               \
	X(on_unbounded_readahead, page_cache_ra_unbounded, PAGECACHE, EXTRA)                       \
	X(on_add_to_page_cache, mm_filemap_add_to_page_cache, PAGECACHE, LEVEL)                    \
	X(on_dirty_folio, writeback_dirty_folio, PAGECACHE, LEVEL)                                 \
	X(on_balance_dirty_pages, balance_dirty_pages, PAGECACHE, LEVEL)                           \
	X(on_wait_writeback, folio_wait_writeback, PAGECACHE, LEVEL)                               \
	X(on_reclaim_begin, mm_vmscan_direct_reclaim_begin, PAGECACHE, LEVEL)                      \
	X(on_reclaim_end, mm_vmscan_direct_reclaim_end, PAGECACHE, LEVEL)                          \
	X(on_memcg_reclaim_begin, mm_vmscan_memcg_reclaim_begin, PAGECACHE, EXTRA)                 \
	X(on_memcg_reclaim_end, mm_vmscan_memcg_reclaim_end, PAGECACHE, EXTRA)                     \
	KERNELIO_FS_PROBES(KERNELIO_FS_PROBE, X)                                                   \
	X(on_dio_begin, iomap_dio_rw_begin, FS, LEVEL)                                             \
	X(on_dio_complete, iomap_dio_complete, FS, LEVEL)                                          \
	X(on_contention_begin, contention_begin, FS, LEVEL)                                        \
	X(on_contention_end, contention_end, FS, LEVEL)                                            \
	X(on_bio_queue, block_bio_queue, BLOCK, LEVEL)                                             \
	X(on_split, block_split, BLOCK, LEVEL)                                                     \
	X(on_rq_issue, block_rq_issue, BLOCK, LEVEL)                                               \
	X(on_rq_complete, block_rq_complete, BLOCK, LEVEL)                                         \
	X(on_rq_complete_nested, block_rq_complete, BLOCK, EXTRA)                                  \
	X(on_bio_complete, block_bio_complete, BLOCK, EXTRA)                                       \
	X(on_switch, sched_switch, CPU, LEVEL)                                                     \
	X(on_wakeup, sched_wakeup, CPU, LEVEL)

enum kernelio_probe {
#define X(program, tracepoint, level, need) KERNELIO_PROBE_##program,
	KERNELIO_PROBES(X)
#undef X
		KERNELIO_N_PROBES,
};

#endif

/* File systems: ext4's write loop and sync, direct I/O through iomap (ext4, xfs). */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "running.h"

/*
 * The write loop lasts from here to the end of the call, or to the sync of an O_SYNC file: a probe
 * on write_end would tell it to 100 ns, at 100 ns a call.
 */
static __always_inline int write_begin(void)
{
	struct task_state *st = current_operation();

	if (!st)
		return 0;
	st->now.cache_writes++;
	if (!st->now.cache_write_ns)
		st->now.cache_write_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/ext4_da_write_begin")
int BPF_PROG(on_ext4_da_write_begin)
{
	return write_begin();
}

SEC("tp_btf/ext4_write_begin")
int BPF_PROG(on_ext4_write_begin)
{
	return write_begin();
}

SEC("tp_btf/ext4_sync_file_enter")
int BPF_PROG(on_ext4_sync_file_enter)
{
	struct task_state *st = current_operation();

	if (!st)
		return 0;
	st->now.sync_ns = bpf_ktime_get_ns();
	if (st->now.cache_write_ns && !st->now.cache_write_end_ns)
		st->now.cache_write_end_ns = st->now.sync_ns;
	return 0;
}

SEC("tp_btf/ext4_sync_file_exit")
int BPF_PROG(on_ext4_sync_file_exit)
{
	struct task_state *st = current_operation();

	if (st && st->now.sync_ns) {
		span_add(st, ETA_SPAN_FS_SYNC, st->now.sync_ns, bpf_ktime_get_ns());
		st->now.sync_ns = 0;
	}
	return 0;
}

SEC("tp_btf/ext4_writepages")
int BPF_PROG(on_ext4_writepages)
{
	struct task_state *st = current_operation();

	if (st)
		st->now.writepages_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/ext4_writepages_result")
int BPF_PROG(on_ext4_writepages_result)
{
	struct task_state *st = current_operation();

	if (st && st->now.writepages_ns) {
		span_add(st, ETA_SPAN_FS_WRITEPAGES, st->now.writepages_ns, bpf_ktime_get_ns());
		st->now.writepages_ns = 0;
	}
	return 0;
}

SEC("tp_btf/iomap_dio_rw_begin")
int BPF_PROG(on_dio_begin)
{
	struct task_state *st = current_operation();

	if (st)
		st->now.direct_ns = bpf_ktime_get_ns();
	return 0;
}

/* In the caller's context for synchronous I/O; a completion elsewhere meets no open operation. */
SEC("tp_btf/iomap_dio_complete")
int BPF_PROG(on_dio_complete)
{
	struct task_state *st = current_operation();

	if (st && st->now.direct_ns) {
		span_add(st, ETA_SPAN_FS_DIRECT, st->now.direct_ns, bpf_ktime_get_ns());
		st->now.direct_ns = 0;
	}
	return 0;
}

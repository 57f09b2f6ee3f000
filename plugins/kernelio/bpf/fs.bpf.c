/* File systems: ext4's write loop and sync, direct I/O through iomap (ext4, xfs). */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "state.h"

static __always_inline int write_begin(void)
{
	struct task_state *st = current_operation();

	if (st && !st->cache_writes++) {
		st->cache_write_ns = bpf_ktime_get_ns();
		/* a write_end that is never seen (a failed copy) leaves an empty span */
		st->cache_write_end_ns = st->cache_write_ns;
		fs_seen(st, st->cache_write_ns, st->cache_write_ns);
	}
	return 0;
}

static __always_inline int write_end(void)
{
	struct task_state *st = current_operation();

	if (st && st->cache_write_ns)
		st->fs_end_ns = st->cache_write_end_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/ext4_da_write_begin")
int BPF_PROG(on_ext4_da_write_begin)
{
	return write_begin();
}

SEC("tp_btf/ext4_da_write_end")
int BPF_PROG(on_ext4_da_write_end)
{
	return write_end();
}

SEC("tp_btf/ext4_write_begin")
int BPF_PROG(on_ext4_write_begin)
{
	return write_begin();
}

SEC("tp_btf/ext4_write_end")
int BPF_PROG(on_ext4_write_end)
{
	return write_end();
}

SEC("tp_btf/ext4_sync_file_enter")
int BPF_PROG(on_ext4_sync_file_enter)
{
	struct task_state *st = current_operation();

	if (st)
		st->sync_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/ext4_sync_file_exit")
int BPF_PROG(on_ext4_sync_file_exit)
{
	struct task_state *st = current_operation();

	if (st && st->sync_ns) {
		uint64_t now = bpf_ktime_get_ns();

		span_add(st, ETA_SPAN_FS_SYNC, st->sync_ns, now);
		fs_seen(st, st->sync_ns, now);
		st->sync_ns = 0;
	}
	return 0;
}

SEC("tp_btf/ext4_writepages")
int BPF_PROG(on_ext4_writepages)
{
	struct task_state *st = current_operation();

	if (st)
		st->writepages_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/ext4_writepages_result")
int BPF_PROG(on_ext4_writepages_result)
{
	struct task_state *st = current_operation();

	if (st && st->writepages_ns) {
		uint64_t now = bpf_ktime_get_ns();

		span_add(st, ETA_SPAN_FS_WRITEPAGES, st->writepages_ns, now);
		fs_seen(st, st->writepages_ns, now);
		st->writepages_ns = 0;
	}
	return 0;
}

SEC("tp_btf/iomap_dio_rw_begin")
int BPF_PROG(on_dio_begin)
{
	struct task_state *st = current_operation();

	if (st)
		st->direct_ns = bpf_ktime_get_ns();
	return 0;
}

/* In the caller's context for synchronous I/O; a completion elsewhere meets no open operation. */
SEC("tp_btf/iomap_dio_complete")
int BPF_PROG(on_dio_complete)
{
	struct task_state *st = current_operation();

	if (st && st->direct_ns) {
		uint64_t now = bpf_ktime_get_ns();

		span_add(st, ETA_SPAN_FS_DIRECT, st->direct_ns, now);
		fs_seen(st, st->direct_ns, now);
		st->direct_ns = 0;
	}
	return 0;
}

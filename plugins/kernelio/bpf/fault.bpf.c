/* Page faults on mapped files that read: operations from the fault to the page. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "fault.h"
#include "operation.h"

/* Not known to read yet: that is so once a page is added to the cache (fault.h). */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_fault, struct address_space *mapping, unsigned long index)
{
	struct task_state *st = current_state();

	if (!st)
		return 0;
	if (st->active) {
		/* inside of a call; or once more for the same page */
		if (st->op.syscall != KERNELIO_SYS_mmap_fault ||
		    (st->now.mapping == (uint64_t)mapping && st->fault.index == index))
			return 0;
		fault_drop(st);
	}
	st->fault.begin_ns = bpf_ktime_get_ns();
	st->fault.mapping = (uint64_t)mapping;
	st->fault.index = index;
	return 0;
}

/* The kernel counts a major fault, at its end. */
SEC("perf_event")
int on_major_fault(void *ctx)
{
	struct task_state *st = current_state();
	int n;

	if (!st || !st->active || st->op.syscall != KERNELIO_SYS_mmap_fault)
		return 0;
	st->active = 0;
	barrier();
	st->op.ret = st->op.size;
	TOTAL_ADD(faulted_bytes, st->op.size);
	n = operation_finish(st, bpf_ktime_get_ns());
	if (n >= 0)
		operation_leave(st, n);
	return 0;
}

/* Page faults: the begin of those on mapped files, and the end of those that read. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "fault.h"
#include "operation.h"

/* Whether it will read is known once a page is added to the cache (fault.h). */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_fault, struct address_space *mapping, unsigned long index)
{
	struct task_state *st = awake_state();
	uint64_t at, now;

	if (!st || (filter.light && call_see(st, 0)))
		return 0;
	at = exception_at(bpf_get_current_task_btf());
	now = bpf_ktime_get_ns();
	if (st->active) {
		/* inside a system call, or a repeat for the same page */
		if (!is_fault(st) ||
		    (st->now.mapping == (uint64_t)mapping && st->fault.index == index &&
		     !st->fault.dirtied && (!st->fault.endless || fault_goes_on(st, at, now))))
			return 0;
		/* it has waited, and only now its file is known */
		if (!st->now.mapping && fault_goes_on(st, at, now)) {
			st->fault.index = index;
			endless_seen(st, now);
			if (!fault_take(st, mapping, index))
				st->active = st->fault.endless = 0;
			return 0;
		}
		fault_close(st);
	}
	st->fault.left_out = 0;
	st->fault.begin_ns = now;
	st->fault.mapping = (uint64_t)mapping;
	st->fault.index = index;
	st->fault.at = at;
	st->fault.registers = faulting_registers();
	return 0;
}

/* The kernel counts a major fault when it ends. */
SEC("perf_event")
int on_major_fault(void *ctx)
{
	struct task_state *st = sure_operation();
	uint64_t now;
	int n;

	if (!st || !is_fault(st))
		return 0;
	if (!st->op.inode && !fault_is_on_memory(st))
		return fault_close(st);
	st->active = st->fault.endless = 0;
	barrier(); /* an interrupt from here on is not part of it */
	now = bpf_ktime_get_ns();
	fault_swapped_in(st, now);
	/* its kind was not known when it began to wait */
	if (!kind_passes(st->now.kind)) {
		if (!st->fault.left_out)
			TOTAL_ADD(filtered_calls, 1);
		return 0;
	}
	st->op.ret = st->op.size;
	if (st->op.inode)
		TOTAL_ADD(faulted_bytes, st->op.size);
	n = operation_finish(st, now);
	if (n >= 0)
		operation_leave(st, n);
	return 0;
}

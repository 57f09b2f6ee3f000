/* Spans of kernel functions, from entry to return, where fentry or kprobes load. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "running.h"

#include "plugins/kernelio/functions.h"

/* Of nested functions of one kind, the outermost is the span. */
static __noinline int function_enter(uint32_t kind)
{
	struct task_state *st = current_operation();

	kind &= MAX_FUNCTION_SPANS - 1;
	if (!st)
		return 0;
	if (st->now.inside & 1U << kind) {
		st->functions[kind].nested++;
		return 0;
	}
	st->functions[kind].begin_ns = bpf_ktime_get_ns();
	st->functions[kind].nested = 0;
	st->now.inside |= 1U << kind;
	/* both run with the inode's lock held */
	if (kind == ETA_SPAN_PAGECACHE_WRITE || kind == ETA_SPAN_FS_DIRECT)
		inode_lock_end(st, st->functions[kind].begin_ns);
	return 0;
}

static __noinline int function_return(uint32_t kind)
{
	struct task_state *st = current_operation();
	uint64_t begin_ns, now;
	bool first;

	kind &= MAX_FUNCTION_SPANS - 1;
	if (!st || !(st->now.inside & 1U << kind))
		return 0;
	if (st->functions[kind].nested) {
		st->functions[kind].nested--;
		return 0;
	}
	now = bpf_ktime_get_ns();
	begin_ns = st->functions[kind].begin_ns;
	first = !(st->now.exact & 1U << kind);
	st->now.inside &= ~(1U << kind);
	st->now.exact |= 1U << kind;
	if (kind == ETA_SPAN_FS_DIRECT)
		st->now.waits_for_own = 0;
	/* written at the end of the operation, when the bytes are known */
	if (first && kind == ETA_SPAN_PAGECACHE_READ) {
		st->now.cache_read_ns = begin_ns;
		st->now.cache_read_end_ns = now;
	} else if (first && kind == ETA_SPAN_PAGECACHE_WRITE) {
		st->now.cache_write_ns = begin_ns;
		st->now.cache_write_end_ns = now;
	} else {
		span_add(st, kind, begin_ns, now);
	}
	return 0;
}

/*
 * No program reads an argument, so that each serves as fentry and, with its type changed before
 * loading, as kprobe.
 */
#define X(function, span)                                                                          \
	SEC("fentry/" #function)                                                                   \
	int enter_##function(void *ctx)                                                            \
	{                                                                                          \
		return function_enter(ETA_SPAN_##span);                                            \
	}                                                                                          \
	SEC("fexit/" #function)                                                                    \
	int return_##function(void *ctx)                                                           \
	{                                                                                          \
		return function_return(ETA_SPAN_##span);                                           \
	}
KERNELIO_FUNCTIONS(X)
#undef X

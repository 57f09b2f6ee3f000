/* Who stopped a traced process: a debugger, or the sender of a signal. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_STOPS_H
#define KERNELIO_STOPS_H

#include "limits.h"
#include "state.h"

struct stopped {
	uint32_t tgid;
	uint32_t stop; /* enum kernelio_stop */
};

struct stopper {
	uint32_t tgid;
	char comm[16];
};

/* Who did so last. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 256);
	__type(key, struct stopped);
	__type(value, struct stopper);
} stoppers __weak SEC(".maps");

/* TASK is stopped, or will be, by the process of BY. */
static __always_inline void stopper_note(struct task_struct *task, uint32_t stop,
					 struct task_struct *by)
{
	struct stopped stopped = { BPF_CORE_READ(task, tgid), stop };
	struct stopper stopper = { .tgid = BPF_CORE_READ(by, tgid) };

	BPF_CORE_READ_STR_INTO(&stopper.comm, by, group_leader, comm);
	bpf_map_update_elem(&stoppers, &stopped, &stopper, BPF_ANY);
}

/* A thread of process TGID was stopped for NS. */
SEPARATE int stop_report(uint32_t tgid, uint32_t stop, uint64_t ns)
{
	struct stopped stopped = { tgid, stop };
	struct stopper *by = bpf_map_lookup_elem(&stoppers, &stopped);
	uint64_t who = by ? (uint64_t)by->tgid << 32 | stop : stop;
	struct kernelio_limit *limit;

	limit_note(KERNELIO_LIMIT_STOPPED, 0, who, ns, NULL);
	if (!by)
		return 0;
	limit = limit_of(KERNELIO_LIMIT_STOPPED, who);
	if (limit)
		bpf_probe_read_kernel_str(limit->names[0], sizeof(by->comm), by->comm);
	return 0;
}

#endif

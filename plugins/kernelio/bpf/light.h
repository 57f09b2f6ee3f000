/* The light mode: which system call a thread is in, from its registers, since no probe tells. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LIGHT_H
#define KERNELIO_LIGHT_H

#include "operation.h"

/*
 * No probe sits on system calls, so an operation begins with the first wait of the call that the
 * thread is in, or whatever else tells of one, and ends with what was seen of it last. That the
 * thread is out of it is known at the next sight of it: it has other registers, has counted a read
 * or a write since, or has not been seen for long. Library calls have their bounds from the user's
 * side; the merge puts the waits there.
 */

/* More than that without a sight of it, and the same registers are those of another call. */
#define CALL_GAP_NS 1000000

/* How many reads and writes TASK has done: each is counted when it ends. */
static __always_inline uint64_t calls_counted(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->ioac.syscr))
		return 0;
	return task->ioac.syscr + task->ioac.syscw;
}

/* When the operation, a call that has no other end, was seen last. */
static __always_inline uint64_t call_last_ns(const struct task_state *st)
{
	uint32_t n = st->now.n_spans - 1;
	uint64_t last_ns = st->fault.last_ns;

	return n < MAX_SPANS && st->spans[n].end_ns > last_ns ? st->spans[n].end_ns : last_ns;
}

/* Is the operation of ST the system call that TASK, the current one, is in NOW? */
static __always_inline bool call_goes_on(const struct task_state *st, struct task_struct *task,
					 struct pt_regs *regs, uint64_t now)
{
	return st->active && !is_fault(st) && st->call.nr == (int32_t)SYSCALL_NR(regs) &&
	       st->call.at == PROGRAM_AT(regs) && st->call.stack == STACK_AT(regs) &&
	       st->call.args[0] == SYSCALL_ARG0(regs) && st->call.args[1] == SYSCALL_ARG1(regs) &&
	       st->call.args[2] == SYSCALL_ARG2(regs) && st->call.counted == calls_counted(task) &&
	       (st->now.off || now - call_last_ns(st) < CALL_GAP_NS);
}

static __always_inline void call_note(struct task_state *st, struct task_struct *task,
				      struct pt_regs *regs, uint64_t now)
{
	st->call.nr = SYSCALL_NR(regs);
	st->call.at = PROGRAM_AT(regs);
	st->call.stack = STACK_AT(regs);
	st->call.args[0] = SYSCALL_ARG0(regs);
	st->call.args[1] = SYSCALL_ARG1(regs);
	st->call.args[2] = SYSCALL_ARG2(regs);
	st->call.counted = calls_counted(task);
	st->fault.last_ns = now;
}

/* The thread is out of its call. One that has not waited is left to the user's side. */
static __always_inline int call_close(struct task_state *st)
{
	int n;

	st->active = st->fault.endless = 0;
	barrier();
	if (!st->now.n_spans)
		return 0;
	st->op.op_flags |= ETA_KOP_WAITS;
	/* what it returned is not known: what most do */
	st->op.ret = st->now.kind == ETA_OP_READ || st->now.kind == ETA_OP_WRITE ? st->op.size : 0;
	n = operation_finish(st, call_last_ns(st));
	if (n >= 0)
		operation_leave(st, n);
	return 0;
}

#endif

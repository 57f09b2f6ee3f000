/*
 * Light mode: the system call a thread is in, read from its registers, since no probe reports it.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LIGHT_H
#define KERNELIO_LIGHT_H

#include "operation.h"

/*
 * There is no probe on system calls. An operation begins with the first wait, or other event,
 * inside the call, and ends with the last one seen. That the thread has left the call is noticed at
 * the next event: its registers differ, its count of reads or writes has grown, or it was not seen
 * for too long. The bounds of library calls come from the user's side; the merge puts the waits
 * into them.
 */

/* After this long without an event, the same registers belong to another call. */
#define CALL_GAP_NS 1000000

/*
 * With so many spans, what follows becomes an operation of its own, before there is no room for
 * more: one may stand for many calls whose registers are the same.
 */
#define CALL_SPANS (MAX_SPANS * 3 / 4)

#define REGISTERS_MIX(sum, value) (((sum) ^ (value)) * 0x9e3779b97f4a7c15ULL)

/*
 * Sum of the program's registers, which stay what they are while it is in a call. A loop that makes
 * the same call again often differs in none of the arguments, but in what it counts with.
 */
static __always_inline uint64_t registers_sum(struct pt_regs *regs)
{
	uint64_t sum = REGISTERS_MIX(SYSCALL_NR(regs), PROGRAM_AT(regs));

	sum = REGISTERS_MIX(sum, STACK_AT(regs));
#define X(value) sum = REGISTERS_MIX(sum, value);
	PROGRAM_REGISTERS(regs, X)
#undef X
	return sum;
}

/* How many reads and writes TASK has finished. */
static __always_inline uint64_t calls_counted(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->ioac.syscr))
		return 0;
	return task->ioac.syscr + task->ioac.syscw;
}

/* Is TASK, the current one, at NOW still in the system call that is the operation of ST? */
static __always_inline bool call_goes_on(const struct task_state *st, struct task_struct *task,
					 struct pt_regs *regs, uint64_t now)
{
	return st->active && !is_fault(st) && st->call.registers == registers_sum(regs) &&
	       st->call.counted == calls_counted(task) &&
	       (st->now.off || (now < endless_last_ns(st) + CALL_GAP_NS &&
				(st->now.n_spans < CALL_SPANS || st->now.n_locks)));
}

static __always_inline void call_note(struct task_state *st, struct task_struct *task,
				      struct pt_regs *regs, uint64_t now)
{
	st->call.registers = registers_sum(regs);
	st->call.counted = calls_counted(task);
	endless_seen(st, now);
}

/* The thread has left its call. One that did not wait is not recorded: the user's side has it. */
static __always_inline int call_close(struct task_state *st)
{
	int n;

	st->active = st->fault.endless = 0;
	barrier();
	if (!st->now.n_spans)
		return 0;
	st->op.op_flags |= ETA_KOP_WAITS;
	/* its result is not known: assume the usual one */
	st->op.ret = st->now.kind == ETA_OP_READ || st->now.kind == ETA_OP_WRITE ? st->op.size : 0;
	n = operation_finish(st, endless_last_ns(st));
	if (n >= 0)
		operation_leave(st, n);
	return 0;
}

#endif

/* Signals that stop traced processes: who sent them. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "stops.h"

/* They have one number on all architectures that are built for. */
static __always_inline bool stops(int signal)
{
	switch (signal) {
	case 19: /* SIGSTOP */
	case 20: /* SIGTSTP */
	case 21: /* SIGTTIN */
	case 22: /* SIGTTOU */
		return true;
	default:
		return false;
	}
}

/* What the kernel sends by itself, as from a terminal, has this address in place of its facts. */
#define FROM_KERNEL 1

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int signal, struct kernel_siginfo *facts, struct task_struct *task)
{
	if (!stops(signal) || (uint64_t)facts == FROM_KERNEL)
		return 0;
	/* the thread that it is reported for need not be one that is traced */
	if (task_state_of(task) || task_state_of(task->group_leader))
		stopper_note(task, KERNELIO_STOP_SIGNAL, bpf_get_current_task_btf());
	return 0;
}

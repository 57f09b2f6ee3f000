/* The last tasks on a CPU: whom a thread that was ready to run on it has waited for. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_CPU_HISTORY_H
#define KERNELIO_CPU_HISTORY_H

/*
 * The task that ran right before the end of a wait is often a kernel thread with a moment's work,
 * so the last few are kept. Tid 0 is the idle task. The includer defines the integer types: the
 * unit test compiles this for user space.
 */
#define CPU_HISTORY 8
struct cpu_history {
	uint64_t since_ns; /* since when the current task runs; 0: its switch was not reported */
	uint32_t tid;
	uint32_t next;
	uint32_t kernel;     /* the current task is a kernel thread */
	uint32_t of_kernels; /* a bit for each of `tids`: it was one */
	uint32_t tids[CPU_HISTORY];
	uint64_t begin_ns[CPU_HISTORY], end_ns[CPU_HISTORY];
};

/* At NOW the CPU switches from PREV to NEXT, a kernel thread if KERNEL. */
static inline __attribute__((always_inline)) void
cpu_history_switch(struct cpu_history *s, uint32_t prev, uint32_t next, bool kernel, uint64_t now)
{
	uint32_t i = s->next % CPU_HISTORY;

	if (s->since_ns) {
		s->tids[i] = prev;
		s->begin_ns[i] = s->since_ns;
		s->end_ns[i] = now;
		s->next = i + 1;
		s->of_kernels = (s->of_kernels & ~(1U << i)) | s->kernel << i;
	}
	s->tid = next;
	s->kernel = kernel;
	s->since_ns = now;
}

/* A switch on this CPU was missed. */
static inline __attribute__((always_inline)) void cpu_history_unsure(struct cpu_history *s)
{
	s->since_ns = 0;
}

/*
 * The task, other than idle, that ran longest between BEGIN_NS and NOW; UNKNOWN if none is known.
 */
static inline __attribute__((always_inline)) uint32_t
cpu_history_longest(const struct cpu_history *s, uint64_t begin_ns, uint64_t now, uint32_t unknown)
{
	uint64_t longest_ns = 0;
	uint32_t who = unknown;

	for (uint32_t i = 0; i < CPU_HISTORY; i++) {
		uint64_t from_ns = s->begin_ns[i] > begin_ns ? s->begin_ns[i] : begin_ns;

		if (s->tids[i] && s->end_ns[i] > from_ns && s->end_ns[i] - from_ns > longest_ns) {
			longest_ns = s->end_ns[i] - from_ns;
			who = s->tids[i];
		}
	}
	if (s->since_ns && s->tid) {
		uint64_t from_ns = s->since_ns > begin_ns ? s->since_ns : begin_ns;

		if (now > from_ns && now - from_ns > longest_ns)
			who = s->tid;
	}
	return who;
}

/* How much of FROM_NS to TO_NS lies between BEGIN_NS and END_NS. */
static inline __attribute__((always_inline)) uint64_t
cpu_history_part(uint64_t from_ns, uint64_t to_ns, uint64_t begin_ns, uint64_t end_ns)
{
	if (from_ns < begin_ns)
		from_ns = begin_ns;
	if (to_ns > end_ns)
		to_ns = end_ns;
	return from_ns < to_ns ? to_ns - from_ns : 0;
}

/*
 * For how long between BEGIN_NS and END_NS programs had the CPU, and in WHO the one that had it
 * longest at a time. Kernel threads work for others, perhaps for who waits. What is forgotten was
 * as what is known.
 */
static inline __attribute__((always_inline)) uint64_t
cpu_history_programs(const struct cpu_history *s, uint64_t begin_ns, uint64_t end_ns, uint32_t *who)
{
	uint64_t longest_ns = 0, sum_ns = 0, known_ns = 0;

	for (uint32_t i = 0; i <= CPU_HISTORY; i++) {
		bool is_last = i == CPU_HISTORY;
		uint32_t tid = is_last ? s->tid : s->tids[i];
		uint64_t ns;

		if (is_last)
			ns = s->since_ns ? cpu_history_part(s->since_ns, end_ns, begin_ns, end_ns)
					 : 0;
		else
			ns = cpu_history_part(s->begin_ns[i], s->end_ns[i], begin_ns, end_ns);
		known_ns += ns;
		if (!tid || (is_last ? s->kernel : s->of_kernels >> i & 1))
			continue;
		sum_ns += ns;
		if (ns > longest_ns) {
			longest_ns = ns;
			*who = tid;
		}
	}
	if (!known_ns || known_ns >= end_ns - begin_ns)
		return sum_ns;
	return (end_ns - begin_ns) * (sum_ns * 1024 / known_ns) / 1024;
}

/* A kernel thread that wakes a task gives it the CPU within this time. */
#define CPU_HISTORY_WAKES_NS 100000

/*
 * The end of the wake-up of a task at BEGIN_NS, at most NOW: the CPU is idle until then, or a
 * kernel thread has it that is about to leave it, mostly the one that woke the task (ksoftirqd,
 * which completes its request). Else BEGIN_NS.
 */
static inline __attribute__((always_inline)) uint64_t
cpu_history_wakes_until(const struct cpu_history *s, uint64_t begin_ns, uint64_t now)
{
	for (uint32_t i = 0; i < CPU_HISTORY; i++) {
		bool is_kernels =
			s->of_kernels >> i & 1 && s->end_ns[i] - begin_ns <= CPU_HISTORY_WAKES_NS;

		if (s->begin_ns[i] <= begin_ns && s->end_ns[i] > begin_ns &&
		    (!s->tids[i] || is_kernels))
			return s->end_ns[i] < now ? s->end_ns[i] : now;
	}
	return s->since_ns && !s->tid && s->since_ns <= begin_ns ? now : begin_ns;
}

#endif

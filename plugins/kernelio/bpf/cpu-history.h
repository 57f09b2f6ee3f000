/* Who had a CPU lately: what a thread that was ready to run on it has waited for. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_CPU_HISTORY_H
#define KERNELIO_CPU_HISTORY_H

/*
 * The task right before the end of a wait often is a kernel thread that came in for a moment, so
 * the last few are kept. Includers bring the integer types: the unit test compiles this for user
 * space. Tid 0 is the idle task.
 */
#define CPU_HISTORY 8
struct cpu_history {
	uint64_t since_ns; /* of the one that is there; 0: not reported */
	uint32_t tid;
	uint32_t next;
	uint32_t tids[CPU_HISTORY];
	uint64_t begin_ns[CPU_HISTORY], end_ns[CPU_HISTORY];
};

/* PREV leaves the CPU to NEXT, at NOW. */
static inline __attribute__((always_inline)) void
cpu_history_switch(struct cpu_history *s, uint32_t prev, uint32_t next, uint64_t now)
{
	uint32_t i = s->next % CPU_HISTORY;

	if (s->since_ns) {
		s->tids[i] = prev;
		s->begin_ns[i] = s->since_ns;
		s->end_ns[i] = now;
		s->next = i + 1;
	}
	s->tid = next;
	s->since_ns = now;
}

/* Switches on this CPU are not reported for a while. */
static inline __attribute__((always_inline)) void cpu_history_unsure(struct cpu_history *s)
{
	s->since_ns = 0;
}

/* Who but the idle task had the CPU longest from BEGIN_NS to NOW; UNKNOWN where nobody is known. */
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

/* Until when the idle task had the CPU, from BEGIN_NS on and not past NOW; BEGIN_NS: not at all. */
static inline __attribute__((always_inline)) uint64_t
cpu_history_idle_until(const struct cpu_history *s, uint64_t begin_ns, uint64_t now)
{
	for (uint32_t i = 0; i < CPU_HISTORY; i++)
		if (!s->tids[i] && s->begin_ns[i] <= begin_ns && s->end_ns[i] > begin_ns)
			return s->end_ns[i] < now ? s->end_ns[i] : now;
	return s->since_ns && !s->tid && s->since_ns <= begin_ns ? now : begin_ns;
}

#endif

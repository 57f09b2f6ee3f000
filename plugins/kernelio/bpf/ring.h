/* Writes the record of a system call into memory that the collector has mapped. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RING_H
#define KERNELIO_RING_H

#include "state.h"
#include "plugins/kernelio/ring-layout.h"

/* Size of a ring, a power of two. Set before loading, so the verifier knows it. */
const volatile uint32_t op_ring_bytes = 4096;

/* struct kernelio_ring of each CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(uint32_t));
	__uint(value_size, KERNELIO_RING_VALUE(4096));
} op_rings SEC(".maps");

/* Both are aligned to 8 bytes; BYTES is a constant. */
static __always_inline void copy_words(void *to, const void *from, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] = ((const uint64_t *)from)[i];
}

/* Publishes HEAD: earlier stores are visible before it, later ones after it. */
static __always_inline void head_publish(struct kernelio_ring *ring, uint64_t head)
{
#ifdef __TARGET_ARCH_x86
	barrier(); /* x86 keeps the order of stores */
	*(volatile uint64_t *)&ring->head = head;
#else
	__sync_lock_test_and_set(&ring->head, head);
#endif
}

/*
 * Writes ST's operation with N spans. Called from the probe of sys_exit only, which never nests on
 * a CPU: one writer, no locks. It costs a third of the kernel's ring buffer, which must work in all
 * contexts.
 */
static __always_inline void ring_leave(struct task_state *st, uint32_t n)
{
	uint32_t number = bpf_get_smp_processor_id();
	struct kernelio_ring *ring = bpf_map_lookup_elem(&op_rings, &number);
	struct kernelio_cpu *cpu = this_cpu();
	uint64_t head, start, bytes;
	unsigned char *to;

	if (!ring || !cpu)
		return;
	cpu->produced[ETA_RECORD_KERNEL_OP]++;
	bytes = sizeof(st->op) + n * sizeof(struct eta_span);
	head = ring->head;
	start = ring->start;
	if (*(volatile uint64_t *)&ring->tail == head) {
		start = head;
		*(volatile uint64_t *)&ring->start = head;
	} else if (head + bytes - *(volatile uint64_t *)&ring->tail > op_ring_bytes) {
		cpu->lost[ETA_RECORD_KERNEL_OP]++;
		return;
	}
	to = ring->records + ((head - start) & (op_ring_bytes - 1));
	copy_words(to, &st->op, sizeof(st->op));
	for (uint32_t i = 0; i < KERNELIO_RING_SPANS; i++) {
		if (i >= n)
			break;
		copy_words(to + sizeof(st->op) + i * sizeof(struct eta_span), &st->spans[i],
			   sizeof(struct eta_span));
	}
	head_publish(ring, head + bytes);
}

#endif

/* The ways from probe to collector: each CPU's ring of finished calls, and its ring of the rest. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eta-ext/format/spool-budget.h"
#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define DEFAULT_RING_BYTES ((size_t)16 << 20)
#define RING_PAGE ((size_t)4096) /* the kernel's ring buffer has no fewer */

size_t ring_bytes_of_calls(const struct kernelio *k)
{
	return (k->options.ring_bytes ? k->options.ring_bytes : DEFAULT_RING_BYTES) / 2;
}

static size_t ring_bytes_of_others(const struct kernelio *k)
{
	size_t bytes = ring_bytes_of_calls(k);

	return bytes > RING_PAGE ? bytes : RING_PAGE;
}

void rings_close(struct kernelio *k)
{
	if (k->op_rings)
		munmap(k->op_rings, k->n_cpus * KERNELIO_RING_VALUE(ring_bytes_of_calls(k)));
	k->op_rings = NULL;
	for (unsigned cpu = 0; k->ring_fds && cpu < k->n_cpus; cpu++) {
		if (k->ring_fds[cpu] >= 0)
			close(k->ring_fds[cpu]);
		k->ring_fds[cpu] = -1;
	}
}

int rings_prepare(struct kernelio *k, struct kernelio_bpf *bpf)
{
	size_t bytes = ring_bytes_of_calls(k);
	int rc = bpf_map__set_max_entries(bpf->maps.rings, k->n_cpus);

	if (rc == 0)
		rc = bpf_map__set_max_entries(bpf->maps.op_rings, k->n_cpus);
	if (rc == 0)
		rc = bpf_map__set_value_size(bpf->maps.op_rings,
					     (uint32_t)KERNELIO_RING_VALUE(bytes));
	bpf->rodata->op_ring_bytes = (uint32_t)bytes;
	return rc;
}

/*
 * The rings of the rest are put into the map of rings. Their descriptors are kept for the
 * collector: to ask the map for them takes the rights of an administrator.
 */
int rings_make(struct kernelio *k)
{
	size_t bytes = k->n_cpus * KERNELIO_RING_VALUE(ring_bytes_of_calls(k));
	void *at;

	for (uint32_t cpu = 0; cpu < k->n_cpus; cpu++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0,
					(uint32_t)ring_bytes_of_others(k), NULL);
		int rc = fd;

		k->ring_fds[cpu] = fd;
		if (fd >= 0)
			rc = bpf_map_update_elem(bpf_map__fd(k->bpf->maps.rings), &cpu, &fd,
						 BPF_ANY);
		if (rc < 0)
			return rc;
	}
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		  bpf_map__fd(k->bpf->maps.op_rings), 0);
	if (at == MAP_FAILED)
		return -errno;
	k->op_rings = at;
	return 0;
}

struct kernelio_ring *ring_of(const struct kernelio *k, unsigned cpu)
{
	void *at = k->op_rings + cpu * KERNELIO_RING_VALUE(ring_bytes_of_calls(k));

	return at;
}

/* Bytes of the records from AT on, one at least, that are LEFT, before END, and fit into ROOM. */
static size_t run_bytes(const unsigned char *at, const unsigned char *end, uint64_t left,
			size_t room, uint64_t *n)
{
	size_t bytes = 0;

	*n = 0;
	while (bytes < left && at + bytes < end) {
		const struct eta_record_head *head = (const void *)(at + bytes);
		size_t next = bytes + (size_t)head->units * ETA_UNIT_BYTES;

		if (bytes && next > room)
			break;
		bytes = next;
		++*n;
	}
	return bytes;
}

void ring_lost(struct cpu_spool *cpu, unsigned type, uint64_t n)
{
	cpu->lost[type] += n;
	if (cpu->spool.header)
		cpu->spool.header->lost += n - 1;
	if (cpu->spool.error != SPOOL_BUDGET_ERROR)
		return;
	cpu->refused += n;
	spool_budget_refused(n - 1);
}

/* The BYTES of records at FROM were stored. */
static void note_used(struct definitions *definitions, const unsigned char *from, size_t bytes)
{
	for (size_t at = 0; at < bytes;) {
		const struct eta_record_head *head = (const void *)(from + at);

		definitions_used(definitions, head);
		at += (size_t)head->units * ETA_UNIT_BYTES;
	}
}

void ring_take(struct cpu_spool *cpu)
{
	struct kernelio_ring *ring = cpu->ring;
	const size_t ring_bytes = ring_bytes_of_calls(cpu->k);
	const size_t head_bytes = sizeof(struct eta_record_head);
	uint64_t tail = ring->tail, start;
	uint64_t head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);

	/* after the head: it is the start of what was left before that, since then as well */
	start = __atomic_load_n(&ring->start, __ATOMIC_RELAXED);
	while (tail != head) {
		const unsigned char *from = ring->records + ((tail - start) & (ring_bytes - 1));
		size_t room = (size_t)(cpu->spool.end - cpu->spool.next);
		uint64_t n;
		size_t bytes = run_bytes(from, ring->records + ring_bytes, head - tail, room, &n);
		unsigned char *to = spool_take(&cpu->spool, bytes);

		if (to) {
			/* the first head last: it makes all of them exist */
			memcpy(to + head_bytes, from + head_bytes, bytes - head_bytes);
			spool_put_head(to, (const void *)from);
			cpu->recorded[ETA_RECORD_KERNEL_OP] += n;
			if (cpu->k->definitions)
				note_used(cpu->k->definitions, from, bytes);
		} else {
			ring_lost(cpu, ETA_RECORD_KERNEL_OP, n);
		}
		tail += bytes;
		cpu->round_bytes += bytes;
		__atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
	}
}

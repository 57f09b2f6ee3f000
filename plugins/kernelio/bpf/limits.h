/* Limits of control groups: how long each made threads wait, and whose it is. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LIMITS_H
#define KERNELIO_LIMITS_H

#include "group.h"
#include "state.h"

/* Limits that made threads wait. When the map is full, waits have no group. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, struct kernelio_limit_key);
	__type(value, struct kernelio_limit);
} limits __weak SEC(".maps");

/* Room for one, too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct kernelio_limit);
} limit_room __weak SEC(".maps");

/* Linux 6.15 (741c10b096bc) renamed it. */
struct kernfs_node___before_6_15 {
	struct kernfs_node___before_6_15 *parent;
} __attribute__((preserve_access_index));

struct kernfs_node___since_6_15 {
	struct kernfs_node___since_6_15 *__parent;
} __attribute__((preserve_access_index));

static __always_inline struct kernfs_node *node_parent(struct kernfs_node *node)
{
	struct kernfs_node___before_6_15 *before = (void *)node;
	struct kernfs_node___since_6_15 *since = (void *)node;

	if (bpf_core_field_exists(since->__parent))
		return (void *)BPF_CORE_READ(since, __parent);
	return (void *)BPF_CORE_READ(before, parent);
}

/* Writes the names of the node at OF_NODE and those above it; the root's is empty. */
SEPARATE int limit_name(struct kernelio_limit *limit, uint64_t of_node)
{
	struct kernfs_node *node = (void *)of_node;

	if (!limit)
		return 0;
	for (int i = 0; i < KERNELIO_LIMIT_DEPTH; i++) {
		const char *name = node ? BPF_CORE_READ(node, name) : NULL;

		limit->names[i][0] = 0;
		if (!name)
			continue;
		bpf_probe_read_kernel_str(limit->names[i], KERNELIO_LIMIT_NAME, name);
		node = node_parent(node);
	}
	return 0;
}

static __always_inline struct kernelio_limit *limit_of(uint32_t kind, uint64_t group)
{
	struct kernelio_limit_key key = { .group = group, .kind = kind };

	return bpf_map_lookup_elem(&limits, &key);
}

struct limit_amounts {
	uint64_t values[4];
};

/*
 * Adds NS to the wait for the limit KIND of the group of the node at address NODE, or, if 0, of
 * number GROUP. AMOUNTS: the limit's values.
 */
SEPARATE int limit_note(uint32_t kind, uint64_t node, uint64_t group, uint64_t ns,
			const struct limit_amounts *amounts)
{
	struct kernelio_limit_key key = { .group = group, .kind = kind };
	struct kernelio_limit *limit;
	uint32_t zero = 0;

	if (paused)
		return 0;
	if (node)
		key.group = BPF_CORE_READ((struct kernfs_node *)node, id);
	limit = bpf_map_lookup_elem(&limits, &key);
	if (!limit) {
		limit = bpf_map_lookup_elem(&limit_room, &zero);
		if (!limit)
			return 0;
		limit->ns = 0;
		limit_name(limit, node);
		bpf_map_update_elem(&limits, &key, limit, BPF_NOEXIST);
		limit = bpf_map_lookup_elem(&limits, &key);
		if (!limit)
			return 0;
	}
	for (int i = 0; amounts && i < 4; i++)
		limit->amounts[i] = amounts->values[i];
	__sync_fetch_and_add(&limit->ns, ns);
	return 0;
}

/* The memory of the group at OF_GROUP, or of one above it, is limited: adds N to that limit's KIND.
 */
SEPARATE int memory_limit_note(uint32_t kind, uint64_t of_group, uint64_t n, uint64_t page_size)
{
	struct cgroup_subsys_state *group = (void *)of_group;
	struct limit_amounts amounts = { { KERNELIO_NO_LIMIT, KERNELIO_NO_LIMIT } };
	/* the kernel's value for "max" */
	uint64_t none = (UINT64_MAX >> 1) / (page_size ?: 1);

	for (int i = 0; i < KERNELIO_LIMIT_DEPTH && group; i++) {
		struct mem_cgroup *memory =
			(void *)group - bpf_core_field_offset(struct mem_cgroup, css);
		uint64_t max = BPF_CORE_READ(memory, memory.max);
		uint64_t high = BPF_CORE_READ(memory, memory.high);

		if (max < none || high < none) {
			amounts.values[0] = max < none ? max * page_size : KERNELIO_NO_LIMIT;
			amounts.values[1] = high < none ? high * page_size : KERNELIO_NO_LIMIT;
			return limit_note(kind, (uint64_t)BPF_CORE_READ(group, cgroup, kn), 0, n,
					  &amounts);
		}
		group = BPF_CORE_READ(group, parent);
	}
	if (kind != KERNELIO_LIMIT_EVICTION || !of_group)
		return 0; /* the machine's memory is used up, and by whom is what counts */
	group = (void *)of_group;
	return limit_note(kind, (uint64_t)BPF_CORE_READ(group, cgroup, kn), 0, n, &amounts);
}

#endif

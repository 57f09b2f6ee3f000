/*
 * For whom kernel threads do what they do: which untraced tasks made files dirty, and who gave
 * blocks back.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_DIRTIED_BY_H
#define KERNELIO_DIRTIED_BY_H

#include "state.h"

/* For file systems that traced threads use: file -> tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct file_key);
	__type(value, uint32_t);
} dirtied_by __weak SEC(".maps");

/*
 * A file that was dirty before a traced thread used its file system, so that nobody is known to
 * have made it so: who dirties a page of it next did. inode 0: none.
 */
struct file_key dirtied_before __weak;

/* Where blocks that were given back begin. */
struct freed_key {
	uint64_t sector; /* of the file system; FREED_LAST: whatever was given back last */
	uint64_t dev;
};

#define FREED_LAST UINT64_MAX

/*
 * Who gave blocks back, as folio_own() takes it: with `mount -o discard` a kernel thread tells the
 * disk, after the commit, and neighbouring blocks at once: from where one of them began.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, struct freed_key);
	__type(value, uint64_t);
} freed_by __weak SEC(".maps");

static __always_inline uint64_t partition_start(struct block_device *device)
{
	return bpf_core_field_exists(device->bd_start_sect) ? BPF_CORE_READ(device, bd_start_sect)
							    : 0;
}

/* Who gave back what BIO, of the file system on DEV, reports as free; 0: not known. */
static __always_inline uint64_t freed_find(uint32_t dev, struct bio *bio)
{
	struct freed_key key = { .dev = dev }, last = { FREED_LAST, dev };
	uint64_t *found, who;

	key.sector = bio->bi_iter.bi_sector - partition_start(bio->bi_bdev);
	found = bpf_map_lookup_elem(&freed_by, &key) ?: bpf_map_lookup_elem(&freed_by, &last);
	if (!found)
		return 0;
	who = *found;
	/* a disk of coarse granularity is told in several requests */
	key.sector += bio->bi_iter.bi_size >> 9;
	bpf_map_update_elem(&freed_by, &key, &who, BPF_NOEXIST);
	return who;
}

#endif

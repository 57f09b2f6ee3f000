/* Who owns the pages of a bio whose file several threads write to. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_SHARES_H
#define KERNELIO_SHARES_H

#include "owner.h"

#define COMPOUND_TAIL 1UL

/* Owners of the pages of one bio. */
#define MAX_SHARES 8
#define MAX_BIO_PAGES 16384
struct bio_shares {
	struct bio_share {
		uint32_t pid, tid, bytes;
	} shares[MAX_SHARES];
	uint32_t n;
};

/* By the bio's address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, uint64_t);
	__type(value, struct bio_shares);
} bio_shares __weak SEC(".maps");

/* Loop over the pages of a bio that writes to a shared inode. */
struct share_walk {
	struct bio_shares *shares;
	struct page_key key;
	struct owner owner; /* owner of pages without a note */
	uint64_t vector;    /* address of the next bio_vec */
	uint64_t page;	    /* address of the struct page of the next byte */
	uint32_t in_page;
	uint32_t vector_left, left; /* bytes */
};

static __always_inline void share_add(struct bio_shares *shares, uint32_t pid, uint32_t tid,
				      uint32_t bytes)
{
	for (uint32_t i = 0; i < MAX_SHARES; i++) {
		struct bio_share *share = &shares->shares[i];

		if (i == shares->n) {
			share->pid = pid;
			share->tid = tid;
			share->bytes = bytes;
			shares->n = i + 1;
			return;
		}
		if (share->tid == tid && share->pid == pid) {
			share->bytes += bytes;
			return;
		}
	}
	shares->shares[0].bytes += bytes;
	TOTAL_ADD(shares_missed, bytes);
}

static __always_inline uint64_t page_index(uint64_t address)
{
	struct page *page = (void *)address;
	unsigned long head = BPF_CORE_READ(page, compound_head);
	uint64_t folio = head & COMPOUND_TAIL ? head - COMPOUND_TAIL : address;

	return BPF_CORE_READ((struct folio *)folio, index) +
	       (address - folio) / bpf_core_type_size(struct page);
}

/* Called by bpf_loop for each page; 1 ends the loop. */
static long share_step(uint32_t step, struct share_walk *walk)
{
	struct page_owner *owner;
	uint32_t bytes;

	if (!walk->left)
		return 1;
	if (!walk->vector_left) {
		struct bio_vec *vector = (void *)walk->vector;
		uint32_t offset = BPF_CORE_READ(vector, bv_offset) + walk->in_page;

		walk->vector_left = BPF_CORE_READ(vector, bv_len) - walk->in_page;
		walk->page = (uint64_t)BPF_CORE_READ(vector, bv_page) +
			     offset / page_bytes * bpf_core_type_size(struct page);
		walk->in_page = offset % page_bytes;
		walk->vector += bpf_core_type_size(struct bio_vec);
	}
	bytes = page_bytes - walk->in_page;
	if (bytes > walk->vector_left)
		bytes = walk->vector_left;
	if (bytes > walk->left)
		bytes = walk->left;
	if (!bytes)
		return 1;
	owner = page_owner(&walk->key, page_index(walk->page), walk->owner.since_ns);
	share_add(walk->shares, owner ? owner->pid : walk->owner.pid,
		  owner ? owner->tid : walk->owner.tid, bytes);
	walk->left -= bytes;
	walk->vector_left -= bytes;
	walk->page += bpf_core_type_size(struct page);
	walk->in_page = 0;
	return 0;
}

/*
 * Finds the owners of the pages that the bio at address KEY writes to the shared inode FILE. The
 * first one becomes RECORD's owner.
 */
SEPARATE int shares_find(const uint64_t *key, struct file_key *file, struct owner *owner,
			 struct eta_bio_record *record)
{
	static const struct bio_shares none;
	struct share_walk walk = {};
	uint64_t address;
	struct bio *bio;
	uint32_t n;

	if (!key || !file || !owner || !record)
		return 0;
	address = *key;
	bio = (void *)address;
	if (bpf_map_update_elem(&bio_shares, &address, &none, BPF_ANY)) {
		TOTAL_ADD(shares_missed, record->bytes);
		return 0;
	}
	walk.shares = bpf_map_lookup_elem(&bio_shares, &address);
	if (!walk.shares)
		return 0;
	walk.key.inode = file->inode;
	walk.key.dev = file->dev;
	walk.owner = *owner;
	walk.vector = (uint64_t)BPF_CORE_READ(bio, bi_io_vec) +
		      BPF_CORE_READ(bio, bi_iter.bi_idx) * bpf_core_type_size(struct bio_vec);
	walk.in_page = BPF_CORE_READ(bio, bi_iter.bi_bvec_done);
	walk.left = record->bytes;
	bpf_loop(MAX_BIO_PAGES, share_step, &walk, 0);
	n = walk.shares->n;
	if (n) {
		record->owner_pid = walk.shares->shares[0].pid;
		record->owner_tid = walk.shares->shares[0].tid;
	}
	if (n > 1)
		return 1;
	bpf_map_delete_elem(&bio_shares, &address);
	return 0;
}

#endif

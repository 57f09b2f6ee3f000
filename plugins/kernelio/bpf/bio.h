/* Bios in flight: what is known of each from queueing to completion. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_BIO_H
#define KERNELIO_BIO_H

#include "async.h"
#include "late.h"
#include "queue-ahead.h"
#include "shares.h"
#include "status.h"
#include "works-for.h"

/*
 * Stacked devices (device mapper, md, multipath NVMe) pass a bio on to lower devices: either as
 * clones, which share the vector of pages and may be queued in any context, or the bio itself,
 * remapped and not queued again. What is known of the upper bio holds for the lower ones.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint64_t);	 /* address of the vector */
	__type(value, uint64_t); /* key of the bio at the top */
} stacked __weak SEC(".maps");

/* Set once a bio was queued to one, or remapped; until then nothing needs to be looked up. */
uint32_t stacked_used __weak;
uint32_t remapped_used __weak;

/* The key of a remapped bio at the lower device. Bios are aligned, so that it is unique. */
#define LOWER_KEY(key) ((key) + 1)

/* Bios in flight, by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint64_t);
	__type(value, struct bio_state);
} bios __weak SEC(".maps");

/* A bio split off another -> that other one. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint64_t);
	__type(value, uint64_t);
} split_bios __weak SEC(".maps");

/* Loop over the owners of a bio, writing a record for each. */
struct leave_walk {
	struct bio_shares *shares;
	struct eta_bio_record *record;
};

/* Called by bpf_loop; 1 ends the loop. */
static long leave_step(uint32_t i, struct leave_walk *walk)
{
	struct bio_shares *shares = walk->shares;
	struct eta_bio_record *record = walk->record;
	struct bio_share *share;

	if (i >= shares->n || i >= MAX_SHARES)
		return 1;
	share = &shares->shares[i];
	record->owner_pid = share->pid;
	record->owner_tid = share->tid;
	record->bytes = share->bytes;
	if (i > 0)
		record->op_flags |= ETA_BIO_SHARE;
	record_leave(ETA_RECORD_BIO, record, sizeof(*record));
	return 0;
}

/* Writes the record of the bio at address KEY: one for each owner of its pages. */
SEPARATE int bio_leave(const uint64_t *key, struct bio_state *value)
{
	struct leave_walk walk = {};
	uint64_t address;

	if (!key || !value)
		return 0;
	address = *key;
	if (value->shared)
		walk.shares = bpf_map_lookup_elem(&bio_shares, &address);
	if (!walk.shares) {
		record_leave(ETA_RECORD_BIO, &value->record, sizeof(value->record));
		return 0;
	}
	walk.record = &value->record;
	bpf_loop(MAX_SHARES, leave_step, &walk, 0);
	bpf_map_delete_elem(&bio_shares, &address);
	return 0;
}

static __always_inline struct bio_state *bio_find(uint64_t *key)
{
	struct bio_state *value = bpf_map_lookup_elem(&bios, key);
	uint64_t *parent;

	if (value)
		return value;
	parent = bpf_map_lookup_elem(&split_bios, key);
	if (!parent)
		return NULL;
	*key = *parent;
	return bpf_map_lookup_elem(&bios, key);
}

/* Who waits for the bio has waited for the kernel thread that was LATE, too. */
static __always_inline void bio_is_late(const struct bio_state *value, const struct late *late)
{
	if (!late)
		return;
	late_pass(late, value->record.head.id);
	if (value->record.owner_tid != value->record.head.id)
		late_pass(late, value->record.owner_tid);
}

static __always_inline void bio_finish(uint64_t key, struct bio_state *value, uint64_t now)
{
	uint64_t vector = value->vector, issue_ns = value->record.issue_ns;
	uint64_t *top;

	value->record.head.end_ns = now;
	works_for_ended(value->record.owner_tid, true, now);
	queue_ahead_end(&value->record, &value->counted, now);
	if (issue_ns && value->record.issue_ahead_tid == value->record.queue_ahead_tid)
		issue_ns = 0; /* both in one step */
	note_waited_for(value->record.queue_ahead_tid,
			(issue_ns ?: now) - value->record.head.time_ns);
	if (issue_ns)
		note_waited_for(value->record.issue_ahead_tid, now - issue_ns);
	if (value->iocb)
		async_raw_end(value->iocb, value->record.status ?: (int64_t)value->record.bytes);
	bio_is_late(value, flushed_late(&value->counted));
	bio_is_late(value, file_late(&value->counted, value->record.head.time_ns));
	disk_uncount(&value->counted);
	bio_leave(&key, value);
	if (vector) {
		top = bpf_map_lookup_elem(&stacked, &vector);
		if (top && *top == key)
			bpf_map_delete_elem(&stacked, &vector);
	}
	bpf_map_delete_elem(&bios, &key);
}

static __always_inline void bio_issue(struct bio_state *value, uint64_t now)
{
	const struct late *late;

	if (value->record.issue_ns)
		return;
	value->record.issue_ns = now;
	late = late_now();
	if (late) {
		bio_is_late(value, late);
		file_is_late(&value->counted, late);
	}
	queue_ahead_issue(&value->record, &value->counted, now);
}

/* A bio is issued to a device, and with it the one it was made from. */
static __always_inline void bio_issued(struct bio_state *value, uint64_t now)
{
	uint64_t upper;

	if (!value)
		return;
	bio_issue(value, now);
	upper = value->upper;
	value = upper ? bpf_map_lookup_elem(&bios, &upper) : NULL;
	if (value)
		bio_issue(value, now);
}

static __always_inline void bio_end(uint64_t key, int32_t status, uint64_t now)
{
	uint64_t part = key, below = LOWER_KEY(key);
	struct bio_state *value;

	if (remapped_used) {
		value = bpf_map_lookup_elem(&bios, &below);
		if (value) {
			value->record.status = status;
			bio_finish(below, value, now);
		}
	}
	value = bio_find(&key);
	if (part != key)
		bpf_map_delete_elem(&split_bios, &part);
	if (!value) {
		foreign_end(part, now);
		return;
	}
	if (status)
		value->record.status = status;
	if (__sync_fetch_and_add(&value->fragments, -1) > 1)
		return;
	bio_finish(key, value, now);
}

#endif

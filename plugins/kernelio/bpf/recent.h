/* Whose bytes a disk was given last: who waits there alone may wait for what those used up. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RECENT_H
#define KERNELIO_RECENT_H

#include "disk.h"

/*
 * The host of a virtual disk, or the storage behind it, may limit how much it takes. Who comes after
 * that is used up waits, and this kernel sees one request that takes long and no other beside it.
 * Such a wait is divided by the bytes that each has read and written there in the second before.
 */
#define RECENT_HALF_NS 500000000ULL

/* A disk without a limit takes less for one request, also one that turns. */
#define LIMITED_NS 20000000ULL

/* BYTES come to DISK or leave it, FOREIGN of them for the untraced TID. */
static __always_inline void recent_note(struct disk *disk, uint64_t bytes, uint64_t foreign,
					uint32_t tid, uint64_t now)
{
	int64_t age_ns = (int64_t)(now - disk->recent.since_ns);

	if (age_ns >= (int64_t)RECENT_HALF_NS) {
		disk->recent.before = disk->recent.bytes;
		if (age_ns >= (int64_t)(2 * RECENT_HALF_NS))
			disk->recent.before.all = disk->recent.before.foreign = 0;
		disk->recent.bytes.all = disk->recent.bytes.foreign = 0;
		disk->recent.since_ns = now;
	}
	__sync_fetch_and_add(&disk->recent.bytes.all, bytes);
	if (!foreign)
		return;
	__sync_fetch_and_add(&disk->recent.bytes.foreign, foreign);
	disk->recent.tid = tid;
}

/* The part of untraced tasks, of ETA_SLEEP_WHOLE, in what DISK was given last. */
static __always_inline uint32_t recent_last_part(const struct disk *disk)
{
	const struct amounts none = {};
	struct amounts sum = disk->recent.bytes;

	sum.all += disk->recent.before.all;
	sum.foreign += disk->recent.before.foreign;
	return foreign_part(&sum, &none, ETA_SLEEP_WHOLE);
}

/* The same of the second before NOW. */
static __always_inline uint32_t recent_part(const struct disk *disk, uint64_t now)
{
	const struct amounts none = {};
	int64_t age_ns = (int64_t)(now - disk->recent.since_ns);

	if (age_ns < (int64_t)RECENT_HALF_NS)
		return recent_last_part(disk);
	return age_ns < (int64_t)(2 * RECENT_HALF_NS)
		       ? foreign_part(&disk->recent.bytes, &none, ETA_SLEEP_WHOLE)
		       : 0;
}

/* Where a loop device is limited: the disk that its file lies on, else DISK itself. */
static __always_inline struct disk *limited_disk(struct disk *disk)
{
	struct disk *lower = disk->lower ? lower_disk(disk) : NULL;

	return lower ? lower : disk;
}

/*
 * A request of BYTES for the file of the loop device above DISK: it is for who gave that device
 * bytes last, however long ago; the file's pages may be written much later. Returns how many are
 * for an untraced task, DISK's recent.tid.
 */
SEPARATE uint64_t recent_served(struct disk *disk, uint64_t bytes, uint64_t now)
{
	uint32_t index = disk ? disk->files.upper - 1 : 0;
	struct disk *upper = disk && disk->files.upper ? bpf_map_lookup_elem(&disks, &index) : NULL;
	uint64_t foreign = 0;
	uint32_t tid = 0;

	if (!disk)
		return 0;
	if (upper && upper->lower && upper->lower_gendisk == disk->gendisk) {
		foreign = bytes * recent_last_part(upper) / ETA_SLEEP_WHOLE;
		tid = upper->recent.tid;
	}
	recent_note(disk, bytes, foreign, tid, now);
	return foreign;
}

/*
 * The part of untraced tasks in what DISK was given in the second before NOW, if up to N requests
 * are there; 0 if there are more, which are what a new one waits for.
 */
SEPARATE uint32_t recent_alone(struct disk *disk, int32_t n, uint64_t now)
{
	if (!disk || disk->n > n || disk->n_foreign > 0)
		return 0;
	return recent_part(limited_disk(disk), now);
}

#endif

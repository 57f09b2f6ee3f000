/* Whose bytes a disk was given last: who waits there alone may wait for what those used up. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_RECENT_H
#define KERNELIO_RECENT_H

#include "disk.h"

/*
 * The host of a virtual disk, or the storage behind it, may limit how much it takes. Who comes
 * after that is used up waits, and this kernel sees one request that takes long and no other beside
 * it. Such a wait is divided by the bytes that each has read and written there in the second
 * before.
 */
#define RECENT_HALF_NS 500000000ULL /* bytes are counted since one to two of these */

/* A disk without a limit takes less for one request, also one that turns. */
#define LIMITED_NS 20000000ULL
#define LIMITED_BYTES (16 << 20) /* fewer of others use up no limit */
#define ALONE_OWN 4 /* requests of one thread's own that may be there: those of a readahead */

/* The clock of DISK's recent bytes goes on to NOW. */
static __always_inline void recent_turn(struct disk *disk, uint64_t now)
{
	int64_t age_ns = (int64_t)(now - disk->recent.since_ns);

	if (age_ns < (int64_t)RECENT_HALF_NS)
		return;
	for (int i = 0; i < RECENT_OWNERS; i++) {
		struct recent_owner *owner = &disk->recent.owners[i];

		owner->before = age_ns < (int64_t)(2 * RECENT_HALF_NS) ? owner->bytes : 0;
		owner->bytes = 0;
	}
	disk->recent.since_ns = now;
}

/*
 * BYTES come to DISK or leave it, for WHO: process << 32 | thread, of an untraced task both its
 * tid; 0: nobody is known. Who has fewest makes room for a new one.
 */
SEPARATE int recent_note(struct disk *disk, uint64_t bytes, uint64_t who, uint64_t now)
{
	uint32_t pid = who >> 32, place = 0;
	uint64_t least = -1ULL;

	if (!disk || !who)
		return 0;
	recent_turn(disk, now);
	for (uint32_t i = 0; i < RECENT_OWNERS; i++) {
		struct recent_owner *owner = &disk->recent.owners[i];
		uint64_t sum = owner->pid == pid ? 0 : 1 + owner->bytes + owner->before;

		if (sum < least) {
			least = sum;
			place = i;
		}
	}
	place &= RECENT_OWNERS - 1;
	if (disk->recent.owners[place].pid != pid) {
		disk->recent.owners[place].pid = pid;
		disk->recent.owners[place].before = disk->recent.owners[place].bytes = 0;
	}
	disk->recent.owners[place].tid = (uint32_t)who;
	__sync_fetch_and_add(&disk->recent.owners[place].bytes, bytes);
	return 0;
}

/*
 * A request for the file of the loop device above DISK is for who gave that device bytes last,
 * however long ago, since the file's pages may be written much later: process << 32 | thread,
 * chosen at random by their bytes; 0: nobody is known.
 */
SEPARATE uint64_t recent_served(struct disk *disk)
{
	uint32_t index = disk ? disk->files.upper - 1 : 0;
	uint64_t who = 0;
	struct disk *upper = disk && disk->files.upper ? bpf_map_lookup_elem(&disks, &index) : NULL;
	uint64_t sum = 0, chosen = bpf_get_prandom_u32();

	if (!disk || !upper || !upper->lower || upper->lower_gendisk != disk->gendisk)
		return 0;
	for (int i = 0; i < RECENT_OWNERS; i++)
		sum += upper->recent.owners[i].bytes + upper->recent.owners[i].before;
	chosen = (sum >> 10) * chosen >> 22; /* below SUM, by 2^32 */
	for (int i = 0; i < RECENT_OWNERS; i++) {
		const struct recent_owner *owner = &upper->recent.owners[i];
		uint64_t own = owner->bytes + owner->before;

		if (own && !who && chosen <= own)
			who = (uint64_t)owner->pid << 32 | owner->tid;
		chosen -= own;
	}
	return who;
}

/* Where a loop device is limited: the disk that its file lies on, else DISK itself. */
static __always_inline struct disk *limited_disk(struct disk *disk)
{
	struct disk *lower = disk->lower ? lower_disk(disk) : NULL;

	return lower ? lower : disk;
}

/* Are up to N requests on DISK but for a few of TID, which may have them in another place, too? */
static __always_inline bool is_alone(const struct disk *disk, int32_t n, uint32_t tid)
{
	const struct disk_owner *owner = &disk->owners[tid & (DISK_OWNERS - 1)];
	int32_t own = owner->tid == tid && owner->n > 0 ? owner->n : 0;

	return disk->n_foreign <= 0 && own <= ALONE_OWN && disk->n - own <= n;
}

/*
 * The part of others than the process PID_TID >> 32, of ETA_SLEEP_WHOLE, in what DISK was given in
 * the second before NOW, and in WHO the one with most, if up to N requests are there beside those
 * of the thread; 0 if there are more, or of untraced tasks: those are what a new one waits for.
 */
SEPARATE uint32_t recent_alone(struct disk *disk, int32_t n, uint64_t pid_tid, uint64_t now,
			       uint32_t *who)
{
	uint64_t sum = 0, others = 0, most = 0;
	uint32_t pid = pid_tid >> 32;
	struct disk *limited;

	if (!disk || !who || !is_alone(disk, n, (uint32_t)pid_tid))
		return 0;
	limited = limited_disk(disk);
	recent_turn(limited, now);
	for (int i = 0; i < RECENT_OWNERS; i++) {
		const struct recent_owner *owner = &limited->recent.owners[i];
		uint64_t bytes = owner->bytes + owner->before;

		sum += bytes;
		if (owner->pid == pid)
			continue;
		others += bytes;
		if (bytes > most) {
			most = bytes;
			*who = owner->tid;
		}
	}
	if (others < LIMITED_BYTES || others >> 47)
		return 0;
	return others * ETA_SLEEP_WHOLE / sum;
}

#endif

/* How long untraced tasks had requests on a disk, and how many beside those of traced threads. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_DISK_FOREIGN_H
#define KERNELIO_DISK_FOREIGN_H

#include "disk.h"

/* Total time until NOW with a request of an untraced task on the disk, but for those below it. */
static __always_inline uint64_t own_foreign_ns(const struct disk *disk, uint64_t now)
{
	uint64_t since_ns = disk->foreign_since_ns, ns = disk->foreign_ns;

	if (disk->n_foreign <= 0 || now < since_ns ||
	    now > disk->foreign_last_ns + QUEUE_AHEAD_STALE_NS)
		return ns;
	return ns + (now - since_ns);
}

/* Total time until NOW in which the file of DISK, a loop device, and others had requests below. */
SEPARATE uint64_t lower_foreign_ns(const struct disk *disk, uint64_t now)
{
	struct disk *lower = disk ? lower_disk(disk) : NULL;
	uint64_t since_ns;

	if (!lower)
		return 0;
	since_ns = lower->files.since_ns;
	if (!since_ns || now < since_ns || now > lower->files.last_ns + QUEUE_AHEAD_STALE_NS)
		return lower->files.ns;
	return lower->files.ns + (now - since_ns);
}

/*
 * The same as own_foreign_ns, with what is below. Only differences mean anything: where others have
 * requests on both, that time counts twice.
 */
static __always_inline uint64_t disk_foreign_ns(const struct disk *disk, uint64_t now)
{
	uint64_t ns = own_foreign_ns(disk, now);

	return disk->lower ? ns + lower_foreign_ns(disk, now) : ns;
}

/* Who had a request last, on DISK or below it. */
static __always_inline uint32_t disk_foreign_who(const struct disk *disk)
{
	struct disk *lower = disk->lower && disk->n_foreign <= 0 ? lower_disk(disk) : NULL;

	return lower && lower->files.came_ns > disk->foreign_last_ns ? lower->files.tid
								     : disk->foreign_tid;
}

/*
 * A request of the untraced TID is queued. Two CPUs that do so at once may lose the time between
 * them.
 */
static __always_inline void disk_foreign_comes(struct disk *disk, uint32_t tid, uint64_t now)
{
	if (disk->n_foreign < 0 || now > disk->foreign_last_ns + QUEUE_AHEAD_STALE_NS)
		disk->n_foreign = 0;
	disk->foreign_tid = tid;
	disk->foreign_came++;
	disk->foreign_last_ns = now;
	if (__sync_fetch_and_add(&disk->n_foreign, 1) == 0)
		disk->foreign_since_ns = now;
}

static __always_inline void disk_foreign_goes(struct disk *disk, uint64_t now)
{
	uint64_t since_ns = disk->foreign_since_ns;

	disk->foreign_last_ns = now;
	if (__sync_fetch_and_add(&disk->n_foreign, -1) == 1 && now > since_ns)
		__sync_fetch_and_add(&disk->foreign_ns, now - since_ns);
}

/*
 * How much of a time of NS, since disk_foreign_ns was MARK_NS, had untraced requests, and in WHO
 * the owner of one.
 */
static __always_inline uint64_t disk_foreign_part(const struct disk *disk, uint64_t mark_ns,
						  uint64_t now, uint64_t ns, uint32_t *who)
{
	uint64_t foreign_ns = disk_foreign_ns(disk, now);

	if (foreign_ns <= mark_ns)
		return 0;
	*who = disk_foreign_who(disk);
	foreign_ns -= mark_ns;
	return foreign_ns < ns ? foreign_ns : ns;
}

static __always_inline uint16_t add_count(uint16_t sum, int32_t n)
{
	return n <= 0 ? sum : sum + n < 0xffff ? sum + n : 0xffff;
}

/* A traced thread with requests on DISK, other than TID; 0: none. */
SEPARATE uint32_t disk_traced_but(const struct disk *disk, uint32_t tid)
{
	const struct disk_owner *owner;

	for (uint32_t i = 0; disk && i < DISK_OWNERS; i++) {
		owner = &disk->owners[i];
		if (owner->traced && owner->n > 0 && owner->tid != tid)
			return owner->tid;
	}
	return 0;
}

/*
 * If untraced tasks have requests on DISK, or below it, adds to RECORD how many, and how many other
 * traced threads have. ENDS: these also if the untraced ones have come and gone meanwhile.
 */
SEPARATE int company_note(const struct disk *disk, const struct counted *counted,
			  struct eta_bio_record *record, bool ends)
{
	const struct disk_owner *owner;
	struct disk *lower;
	int32_t own = 1, foreign;

	if (!disk || !counted || !record)
		return 0;
	foreign = disk->n_foreign > 0 ? disk->n_foreign : 0;
	lower = disk->lower ? lower_disk(disk) : NULL;
	if (lower && lower->files.since_ns)
		foreign += lower->files.n_others;
	if (foreign <= 0 && (!ends || record->foreign_n))
		return 0;
	owner = &disk->owners[(counted->place - 1) & (DISK_OWNERS - 1)];
	if (counted->place && owner->tid == counted->tid && owner->n > 0)
		own = owner->n;
	record->foreign_n = add_count(record->foreign_n, foreign);
	if (disk->n_traced <= own)
		return 0;
	record->traced_n = add_count(record->traced_n, disk->n_traced - own);
	record->traced_tid = disk_traced_but(disk, counted->tid) ?: record->traced_tid;
	return 0;
}

#endif

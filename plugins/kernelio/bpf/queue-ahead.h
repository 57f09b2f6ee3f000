/* The requests on each disk, by owner: who is ahead when another is queued. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_QUEUE_AHEAD_H
#define KERNELIO_QUEUE_AHEAD_H

#include "disk-foreign.h"
#include "recent.h"
#include "works-for.h"

#define QUEUE_AHEAD_QUEUED_NS 10000 /* issued within this time of queueing: the same are ahead */

/* Requests on those disks that are not recorded, by bio. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, uint64_t);
	__type(value, struct counted);
} foreign_bios __weak SEC(".maps");

/* Set once there was one: then completions look for it. */
uint32_t foreign_seen __weak;

/*
 * Counts a request of TID on DISK. Returns 1 + its place; 0: there was none. If two CPUs take one
 * place at once, one request is counted for the other's owner.
 */
SEPARATE uint32_t disk_count(struct disk *disk, uint32_t tid, uint64_t now)
{
	struct disk_owner *owner;
	uint32_t place = 0;

	if (!disk)
		return 0;
	for (uint32_t i = 0; i < DISK_OWNERS; i++) {
		uint32_t at = (tid + i) & (DISK_OWNERS - 1);

		owner = &disk->owners[at];
		if (owner->tid == tid) {
			place = 1 + at;
			break;
		}
		if (!place && (owner->n <= 0 || now - owner->last_ns > QUEUE_AHEAD_STALE_NS))
			place = 1 + at;
	}
	if (!place)
		return 0;
	owner = &disk->owners[(place - 1) & (DISK_OWNERS - 1)];
	/* races between CPUs and missed completions must not add up */
	if (disk->n < 0)
		disk->n = 0;
	if (owner->n < 0)
		owner->n = 0;
	if (owner->n > 0 && now - owner->last_ns > QUEUE_AHEAD_STALE_NS) {
		__sync_fetch_and_add(&disk->n, -owner->n);
		owner->n = 0;
	}
	owner->tid = tid;
	owner->last_ns = now;
	__sync_fetch_and_add(&owner->n, 1);
	__sync_fetch_and_add(&disk->n, 1);
	return place;
}

/*
 * The share of untraced tasks, of ETA_SLEEP_WHOLE, in what was written to DISK since MARK. A flush
 * or commit spends its time writing that, whether or not requests are present at the moment.
 */
static __always_inline uint64_t disk_written_part(const struct disk *disk,
						  const struct amounts *mark)
{
	return foreign_part(&disk->bytes, mark, ETA_SLEEP_WHOLE);
}

/*
 * An untraced task, with the probability of its share in what the disk at *GENDISK has to flush; 0:
 * none.
 */
SEPARATE uint32_t disk_wrote_by_chance(const uint64_t *gendisk)
{
	uint32_t index, chance = bpf_get_prandom_u32() % ETA_SLEEP_WHOLE;
	struct disk *disk = disk_of(gendisk, &index);

	return disk && chance < disk_written_part(disk, &disk->flushed) ? disk->foreign_tid : 0;
}

#define DEV_MAJOR_SHIFT 20

/*
 * 1 + the place of the disk that an operation of ST waits for: that of its file's file system.
 * Where that has no device of its own (btrfs), or no file is known, the thread's last request went
 * to it. 0: none.
 */
static __always_inline uint32_t own_disk_place(const struct task_state *st)
{
	uint32_t dev = fs_of(st);
	struct device_disk *of_device;

	if (!(dev >> DEV_MAJOR_SHIFT))
		return st->disk;
	of_device = bpf_map_lookup_elem(&devices_seen, &dev);
	if (!of_device)
		return 0;
	if (!of_device->place && of_device->gendisk)
		of_device->place = disk_take(&of_device->gendisk);
	return of_device->place;
}

/* The same, when the sleep of ST began; NULL: none. */
static __always_inline struct disk *own_disk(const struct task_state *st)
{
	uint32_t index = st->now.off_disk - 1;

	return st->now.off_disk ? bpf_map_lookup_elem(&disks, &index) : NULL;
}

/* Notes the state of the disk when the operation of ST goes to sleep. */
static __always_inline void own_disk_mark(struct task_state *st, uint64_t now)
{
	struct disk *disk;

	st->now.off_disk = own_disk_place(st);
	disk = own_disk(st);
	st->now.off_foreign_ns = disk ? disk_foreign_ns(disk, now) : 0;
	st->now.off_recent_tid = 0;
	st->now.off_recent = recent_alone(disk, 1, (uint64_t)st->pid << 32 | st->tid, now,
					  &st->now.off_recent_tid);
	if (disk && !st->now.bytes_known) {
		st->now.bytes_known = 1;
		st->now.flushed = disk->flushed;
	}
}

/*
 * A flush of DISK's cache is queued. A loop device syncs its file for it, which is under way below
 * for all that time: it may have no request there at a moment, but a journal's commit that waits
 * for the data of others.
 */
static __always_inline void flush_comes(struct disk *disk, struct counted *counted, uint64_t now)
{
	if (!disk->lower)
		return;
	counted->syncs_file = 1;
	disk_files_change(lower_disk(disk), 0, 1, now);
}

static __always_inline void flush_goes(struct disk *disk, uint64_t now)
{
	disk_files_change(lower_disk(disk), 0, -1, now);
}

/* A counted request has completed, or its completion was missed. */
static __always_inline void disk_uncount(const struct counted *counted)
{
	struct disk_owner *owner;
	struct disk *disk;

	if (!counted->on_disk)
		return;
	disk = bpf_map_lookup_elem(&disks, &counted->disk);
	if (!disk)
		return;
	if (disk->files.used)
		disk_files_change(disk, counted->served ? 0 : counted->tid, -1, bpf_ktime_get_ns());
	if (counted->syncs_file)
		flush_goes(disk, bpf_ktime_get_ns());
	if (counted->of_traced)
		__sync_fetch_and_add(&disk->n_traced, -1);
	if (!counted->place)
		return;
	owner = &disk->owners[(counted->place - 1) & (DISK_OWNERS - 1)];
	if (owner->tid != counted->tid || owner->n <= 0)
		return; /* its place was reused */
	__sync_fetch_and_add(&owner->n, -1);
	__sync_fetch_and_add(&disk->n, -1);
}

/*
 * How many requests of tasks other than TID are on DISK, and in WHO the owner of one, chosen at
 * random in proportion to their requests.
 */
SEPARATE uint32_t disk_queue_ahead(struct disk *disk, uint32_t tid, uint64_t now, uint32_t *who)
{
	uint32_t sum = 0, others, chosen;
	struct disk_owner *owner;

	if (!disk || !who)
		return 0;
	/* its own are mostly in the first place that is theirs */
	owner = &disk->owners[tid & (DISK_OWNERS - 1)];
	others = disk->n - (owner->tid == tid && owner->n > 0 ? owner->n : 0);
	if ((int32_t)others <= 0)
		return 0;
	/* the last one, if `others` has what does not count */
	chosen = bpf_get_prandom_u32() % others;
	for (uint32_t i = 0; i < DISK_OWNERS; i++) {
		int32_t n;

		owner = &disk->owners[i];
		n = *(volatile int32_t *)&owner->n; /* once: another CPU may change it */
		if (owner->tid == tid || n <= 0 || now - owner->last_ns > QUEUE_AHEAD_STALE_NS)
			continue;
		if (sum <= chosen)
			*who = owner->tid;
		sum += n;
	}
	return sum < 0xffff ? sum : 0xffff;
}

/* A write of BYTES to DISK is queued; FLUSH: it flushes what was written before. */
static __always_inline void disk_writes(struct disk *disk, uint32_t bytes, bool foreign, bool flush)
{
	if (flush)
		disk->flushed = disk->bytes;
	if (foreign)
		__sync_fetch_and_add(&disk->bytes.foreign, bytes);
	__sync_fetch_and_add(&disk->bytes.all, bytes);
}

/* RECORD's request on the disk at *GENDISK is queued: notes who is ahead of it. FLUSH: see
 * disk_writes. */
SEPARATE int queue_ahead_begin(const uint64_t *gendisk, struct eta_bio_record *record,
			       struct counted *counted, bool flush)
{
	uint32_t who = 0, place = disk_take(gendisk), index = place - 1, dev;
	struct disk *disk = place ? bpf_map_lookup_elem(&disks, &index) : NULL;
	struct device_disk *of_device;
	uint64_t now, own;

	if (!disk || !record || !counted)
		return 0;
	now = record->head.time_ns;
	dev = record->dev;
	of_device = bpf_map_lookup_elem(&devices_seen, &dev);
	if (of_device && of_device->place != place)
		of_device->place = place;
	counted->disk = index;
	counted->tid = record->owner_tid;
	counted->on_disk = 1;
	record->queue_foreign_ns = disk_foreign_ns(disk, now); /* until it is issued */
	record->queue_ahead = disk_queue_ahead(disk, counted->tid, now, &who);
	counted->stacked = disk->stacked;
	own = (uint64_t)record->owner_pid << 32 | counted->tid;
	counted->recent_part = recent_alone(disk, 0, own, now, &counted->recent_tid);
	recent_note(disk, record->bytes, counted->served ? recent_served(disk) : own, now);
	record->queue_ahead_tid = who;
	counted->lone = disk->n <= disk->n_foreign;
	counted->came = disk->foreign_came;
	counted->place = disk_count(disk, counted->tid, now);
	if (counted->place)
		disk->owners[(counted->place - 1) & (DISK_OWNERS - 1)].traced = 1;
	if (disk->n_traced < 0)
		disk->n_traced = 0;
	__sync_fetch_and_add(&disk->n_traced, 1);
	counted->of_traced = 1;
	if (disk->n_foreign > 0 || disk->lower)
		company_note(disk, counted, record, false);
	disk_files_change(disk, counted->served ? 0 : counted->tid, 1, now);
	if (flush) {
		counted->flushes_ns = now;
		flush_comes(disk, counted, now);
		counted->flush_part = disk_written_part(disk, &disk->flushed);
	}
	if (flush || record->op_flags & ETA_BIO_WRITE)
		disk_writes(disk, record->bytes, false, flush);
	return 0;
}

#define SCHEDULER_HELD_NS 1000000 /* longer than a request that comes to an idle disk waits */
#define SCHEDULER_OTHERS 3	  /* so many that came later were not behind it */

/*
 * COUNTED was queued on DISK for NS. Was it held back by an I/O scheduler for untraced tasks that
 * had requests there meanwhile? A scheduler may keep the disk idle until their next one comes
 * (bfq), or wait until there has been none of a higher priority for a while (ionice). Nothing of
 * traced threads was in its way.
 */
static __always_inline bool scheduler_holds(const struct disk *disk, const struct counted *counted,
					    uint64_t ns)
{
	struct gendisk *gendisk = (void *)disk->gendisk;

	return ns >= SCHEDULER_HELD_NS && counted->lone && disk->n <= disk->n_foreign + 1 &&
	       disk->foreign_came - counted->came >= SCHEDULER_OTHERS &&
	       BPF_CORE_READ(gendisk, queue, elevator);
}

/* The request is issued to the device. */
static __always_inline void queue_ahead_issue(struct eta_bio_record *record,
					      const struct counted *counted, uint64_t now)
{
	struct disk *disk;
	uint32_t who = 0;

	uint64_t ns = now - record->head.time_ns;

	record->issue_ahead = record->queue_ahead;
	record->issue_ahead_tid = record->queue_ahead_tid;
	if (!counted->on_disk)
		return;
	disk = bpf_map_lookup_elem(&disks, &counted->disk);
	if (!disk)
		return;
	record->device_foreign_ns = disk_foreign_ns(disk, now); /* until it completes */
	record->queue_foreign_ns =
		disk_foreign_part(disk, record->queue_foreign_ns, now, ns, &record->foreign_tid);
	if (record->queue_foreign_ns && scheduler_holds(disk, counted, ns))
		record->queue_foreign_ns = ns;
	if (ns < QUEUE_AHEAD_QUEUED_NS || !counted->place)
		return;
	record->issue_ahead = disk_queue_ahead(disk, counted->tid, now, &who);
	record->issue_ahead_tid = who;
}

/* The request has completed: for which part of its time requests of untraced tasks were there. */
static __always_inline void queue_ahead_end(struct eta_bio_record *record,
					    const struct counted *counted, uint64_t now)
{
	uint64_t from_ns = record->issue_ns ?: record->head.time_ns;
	uint64_t *foreign_ns =
		record->issue_ns ? &record->device_foreign_ns : &record->queue_foreign_ns;
	struct disk *disk = bpf_map_lookup_elem(&disks, &counted->disk);

	if (disk && counted->on_disk) {
		uint64_t ns = now - from_ns, part = counted->flush_part;

		*foreign_ns = disk_foreign_part(disk, *foreign_ns, now, ns, &record->foreign_tid);
		if (part && *foreign_ns < ns) {
			*foreign_ns += (ns - *foreign_ns) * part / ETA_SLEEP_WHOLE;
			record->foreign_tid = disk->foreign_tid;
		} else if (counted->recent_part && ns >= LIMITED_NS && *foreign_ns < ns) {
			*foreign_ns += (ns - *foreign_ns) * counted->recent_part / ETA_SLEEP_WHOLE;
			record->foreign_tid = counted->recent_tid;
		}
		if (record->queue_foreign_ns | record->device_foreign_ns)
			company_note(disk, counted, record, true);
	}
	note_waited_for(record->foreign_tid, record->queue_foreign_ns + record->device_foreign_ns);
}

static __always_inline void foreign_uncount(const struct counted *counted, uint64_t now)
{
	struct disk *disk = bpf_map_lookup_elem(&disks, &counted->disk);

	disk_uncount(counted);
	if (disk && counted->tid)
		disk_foreign_goes(disk, now);
}

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct kernelio_worked_key);
	__type(value, uint64_t);
} worked __weak SEC(".maps");

/* The kernel thread WORKER moves BYTES for TID, without a record. */
static __always_inline void worked_note(uint32_t worker, uint32_t tid, uint64_t bytes)
{
	struct kernelio_worked_key key = { .worker = worker, .tid = tid };
	uint64_t *sum = bpf_map_lookup_elem(&worked, &key);

	if (sum)
		__sync_fetch_and_add(sum, bytes);
	else
		bpf_map_update_elem(&worked, &key, &bytes, BPF_ANY);
}

/*
 * The same of any task, which gives DISK a request of TID; 0: see foreign_begin. What a kernel
 * thread writes for nobody who is known (metadata, a journal) does not count.
 */
static __always_inline void bytes_note(struct disk *disk, uint32_t tid, uint32_t bytes,
				       uint64_t now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool kernel = task->flags & TASK_IS_KERNEL_THREAD;
	uint64_t who = tid ? (uint64_t)tid << 32 | tid : recent_served(disk);

	if (!(uint32_t)who || !bytes || (kernel && (uint32_t)who == (uint32_t)task->pid))
		return;
	recent_note(disk, bytes, who, now);
	if (kernel)
		worked_note(task->pid, (uint32_t)who, bytes);
}

/*
 * A request of TID at address *KEY, on the disk at *GENDISK, that is not recorded is queued, and
 * counts as being ahead of others. BYTES: of data. HOW: a mask of the values below. TID 0: it is
 * for the file of a loop device, and for whoever uses that.
 */
#define FOREIGN_WRITES 1
#define FOREIGN_FLUSHES 2 /* see disk_writes */
SEPARATE int foreign_begin(const uint64_t *key, const uint64_t *gendisk, uint32_t tid,
			   uint32_t bytes, uint32_t how)
{
	uint32_t written = how & FOREIGN_WRITES ? bytes : 0;
	bool flush = how & FOREIGN_FLUSHES;
	struct counted counted = { .on_disk = 1, .served = !tid }, *before;
	struct disk *disk = disk_of(gendisk, &counted.disk);
	uint64_t now, address;

	if (!disk || !key)
		return 0;
	address = *key;
	now = bpf_ktime_get_ns();
	counted.tid = tid = works_for_untraced(tid);
	if (tid && (flush || written))
		disk_writes(disk, written, true, flush);
	bytes_note(disk, tid, bytes, now);
	before = bpf_map_lookup_elem(&foreign_bios, &address);
	if (before)
		foreign_uncount(before, now); /* its completion was missed */
	if (tid) {
		counted.place = disk_count(disk, tid, now);
		if (counted.place)
			disk->owners[(counted.place - 1) & (DISK_OWNERS - 1)].traced = 0;
		disk_foreign_comes(disk, tid, now);
	}
	disk_files_change(disk, tid, 1, now);
	if (flush) {
		counted.flushes_ns = now;
		flush_comes(disk, &counted, now);
	}
	counted.by = bpf_get_current_task_btf()->pid;
	if (bpf_map_update_elem(&foreign_bios, &address, &counted, BPF_ANY))
		foreign_uncount(&counted, now);
	foreign_seen = 1;
	return 0;
}

/*
 * A flush of a disk's cache is a request of its own, without bios, for all that wait for one. If
 * that was issued late while COUNTED was there, then by whom; else NULL.
 */
static __always_inline const struct late *flushed_late(const struct counted *counted)
{
	struct disk *disk;

	if (!counted->flushes_ns || !counted->on_disk)
		return NULL;
	disk = bpf_map_lookup_elem(&disks, &counted->disk);
	return disk && disk->flush_late.to_ns > counted->flushes_ns ? &disk->flush_late : NULL;
}

/*
 * COUNTED, for the file of a loop device, is issued by a kernel thread that was LATE. It ends
 * without that thread, and is not for one request of the loop device that could be known.
 */
SEPARATE int file_is_late(const struct counted *counted, const struct late *late)
{
	struct disk *disk, *upper;
	uint32_t index;

	if (!counted || !late || !counted->served || !counted->on_disk)
		return 0;
	index = counted->disk;
	disk = bpf_map_lookup_elem(&disks, &index);
	if (!disk || !disk->files.upper)
		return 0;
	index = disk->files.upper - 1;
	upper = bpf_map_lookup_elem(&disks, &index);
	if (upper && upper->lower_gendisk == disk->gendisk)
		upper->file_late = *late;
	return 0;
}

/* If its disk is a loop device, and what that did since BEGIN_NS was issued late, by whom. */
static __always_inline const struct late *file_late(const struct counted *counted,
						    uint64_t begin_ns)
{
	struct disk *disk;

	if (!counted->on_disk)
		return NULL;
	disk = bpf_map_lookup_elem(&disks, &counted->disk);
	return disk && disk->file_late.to_ns > begin_ns ? &disk->file_late : NULL;
}

static __always_inline void foreign_end(uint64_t key, uint64_t now)
{
	const struct late *late;
	struct counted *counted = foreign_seen ? bpf_map_lookup_elem(&foreign_bios, &key) : NULL;

	if (!counted)
		return;
	works_for_ended(counted->tid, false, now);
	late = flushed_late(counted);
	if (late)
		late_pass(late, counted->by);
	foreign_uncount(counted, now);
	bpf_map_delete_elem(&foreign_bios, &key);
}

/* The request at address *KEY, of an untraced task, was issued by a kernel thread that was LATE. */
SEPARATE int foreign_is_late(const uint64_t *key, const struct late *late)
{
	struct counted *counted;
	uint64_t address;

	if (!key || !late)
		return 0;
	address = *key;
	counted = bpf_map_lookup_elem(&foreign_bios, &address);
	if (counted) {
		late_pass(late, counted->by);
		file_is_late(counted, late);
	}
	return 0;
}

#endif

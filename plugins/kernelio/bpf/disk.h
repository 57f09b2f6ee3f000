/* The disks that traced threads use, and for a loop device the one below it. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_DISK_H
#define KERNELIO_DISK_H

#include "late.h"
#include "state.h"

/*
 * The device of the file system that the operation of ST is in: the one it syncs, that of its file,
 * or, of a call on names, the one that its thread has changed last. 0: unknown.
 */
static __always_inline uint32_t fs_of(const struct task_state *st)
{
	return st->now.sync_dev ?: st->op.dev ?: st->changes_dev;
}

#define DISK_OWNERS 16			    /* a power of two */
#define RECENT_OWNERS 4			    /* the same */
#define QUEUE_AHEAD_STALE_NS 10000000000ULL /* after this long a completion was missed */

struct disk_owner {
	uint32_t tid;
	int32_t n; /* its requests, from queueing to completion */
	uint32_t traced;
	uint64_t last_ns;
};

/* A disk that a traced thread has used; its partitions share the queue. */
struct disk {
	uint64_t gendisk; /* its address */
	int32_t n;	  /* sum of the counts below; 0: nobody can be ahead */
	int32_t n_traced; /* requests of traced threads, all of them */
	/*
	 * Requests of untraced tasks: how many, and the owner of the last one. The first of those
	 * present came at foreign_since_ns; foreign_ns is the total time with at least one, before
	 * that.
	 */
	int32_t n_foreign;
	uint32_t foreign_tid;
	uint32_t foreign_came; /* so many in all; only differences mean anything */
	uint64_t foreign_since_ns, foreign_ns;
	uint64_t foreign_last_ns; /* when one of them came or went */
	struct amounts bytes;
	struct amounts flushed; /* `bytes` at the last flush of its cache */
	struct late flush_late; /* who issued that flush last was late, or those before it */
	struct late file_late;	/* the same of a request for the file of a loop device */
	/*
	 * A loop device: the disk that its file lies on, and 1 + the place of that; 0: none. Who
	 * has requests there while the file has, too, is in its way.
	 */
	uint64_t lower_gendisk;
	uint32_t lower, known;
	uint32_t stacked; /* it takes bios, and passes them on to lower disks */
	/* A disk that such files lie on: */
	struct {
		int32_t n_served, n_others; /* requests for the files, and all others */
		uint32_t used, tid;	    /* owner of the last of the others, */
		uint64_t came_ns;	    /* which came then */
		uint64_t since_ns, ns;	    /* since when both are there, 0: not now; before that */
		uint64_t last_ns;	    /* the last change */
		uint32_t upper;		    /* 1 + the place of the loop device seen last */
	} files;
	/* What was read and written lately, since then and in the time before: see recent.h. */
	struct {
		uint64_t since_ns;
		struct recent_owner {
			uint32_t pid, tid; /* of one of its threads */
			uint64_t bytes, before;
		} owners[RECENT_OWNERS];
	} recent;
	/* requests of owners that find no place are not counted */
	struct disk_owner owners[DISK_OWNERS];
};

/* At the hash of the address, or up to DISK_TRIES - 1 places behind it. */
#define DISKS 64 /* a power of two */
#define DISK_TRIES 8
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DISKS);
	__type(key, uint32_t);
	__type(value, struct disk);
} disks __weak SEC(".maps");

/*
 * 1 + the place of the disk at address *GENDISK; 0: none. TAKE: give it a free place, or that of a
 * disk without requests.
 */
SEPARATE uint32_t disk_place(const uint64_t *gendisk, bool take)
{
	uint32_t place = 0, first, index;
	struct disk *disk;

	if (!gendisk)
		return 0;
	first = *gendisk >> 11 ^ *gendisk >> 17;
	for (uint32_t i = 0; i < DISK_TRIES; i++) {
		index = (first + i) & (DISKS - 1);
		disk = bpf_map_lookup_elem(&disks, &index);
		if (!disk)
			return 0;
		if (disk->gendisk == *gendisk)
			return 1 + index;
		if (!disk->gendisk) {
			place = 1 + index;
			break; /* a disk never lies behind a free place */
		}
		if (!place && disk->n <= 0)
			place = 1 + index;
	}
	index = place - 1;
	disk = take && place ? bpf_map_lookup_elem(&disks, &index) : NULL;
	if (!disk)
		return 0;
	disk->gendisk = *gendisk;
	disk->lower = disk->known = 0;
	__builtin_memset(&disk->files, 0, sizeof(disk->files));
	disk->n_foreign = disk->n_traced = 0;
	disk->bytes.all = disk->bytes.foreign = 0;
	disk->flushed = disk->bytes;
	__builtin_memset(&disk->recent, 0, sizeof(disk->recent));
	return place;
}

/* The disk at address *GENDISK, and in INDEX its place; NULL: it has none. */
static __always_inline struct disk *disk_of(const uint64_t *gendisk, uint32_t *index)
{
	uint32_t place = disk_place(gendisk, false);

	*index = place - 1;
	return place ? bpf_map_lookup_elem(&disks, index) : NULL;
}

/* Where struct loop_device has its file; 0: unknown. Set before loading. */
const volatile uint32_t loop_file_offset __weak;
#define LOOP_MAJOR 7

/* Files of loop devices that traced threads use: address of the inode -> its file system's device.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, uint64_t);
	__type(value, uint32_t);
} images __weak SEC(".maps");

/* Set once there is one. */
uint32_t images_used __weak;

/* The file systems that they lie on. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, uint32_t);
	__type(value, uint32_t);
} image_devices __weak SEC(".maps");

/* Looks at DISK, which is new: is it stacked, or a loop device with a file on a disk below it? */
SEPARATE int disk_look(struct disk *disk)
{
	uint64_t address, lower;
	struct gendisk *upper;
	uint32_t dev, below, one = 1;
	struct disk *found;
	struct inode *inode;
	struct file *file;
	void *loop;

	if (!disk)
		return 0;
	disk->known = 1;
	upper = (void *)disk->gendisk;
	disk->stacked = BPF_CORE_READ(upper, fops, submit_bio) != NULL;
	if (!loop_file_offset || BPF_CORE_READ(upper, major) != LOOP_MAJOR)
		return 0;
	loop = BPF_CORE_READ(upper, private_data);
	if (bpf_probe_read_kernel(&file, sizeof(file), loop + loop_file_offset) || !file)
		return 0;
	inode = BPF_CORE_READ(file, f_mapping, host);
	lower = (uint64_t)BPF_CORE_READ(inode, i_sb, s_bdev, bd_disk);
	if (!lower || lower == disk->gendisk)
		return 0;
	address = (uint64_t)inode;
	dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (bpf_map_update_elem(&images, &address, &dev, BPF_ANY) ||
	    bpf_map_update_elem(&image_devices, &dev, &one, BPF_ANY))
		return 0;
	disk->lower_gendisk = lower;
	disk->lower = disk_place(&lower, true);
	below = disk->lower - 1;
	found = disk->lower ? bpf_map_lookup_elem(&disks, &below) : NULL;
	if (found) {
		found->files.used = 1;
		found->files.upper = disk_place(&disk->gendisk, false);
	}
	images_used = 1;
	return 0;
}

/* 1 + the place of the disk at address *GENDISK, taken if it has none; 0: none is free. */
SEPARATE uint32_t disk_take(const uint64_t *gendisk)
{
	uint32_t place = disk_place(gendisk, true), index = place - 1;
	struct disk *disk = place ? bpf_map_lookup_elem(&disks, &index) : NULL;

	if (disk && !disk->known)
		disk_look(disk);
	return place;
}

/* The disk below DISK; NULL: none. */
static __always_inline struct disk *lower_disk(const struct disk *disk)
{
	uint32_t index = disk->lower - 1;
	struct disk *lower = disk->lower ? bpf_map_lookup_elem(&disks, &index) : NULL;

	return lower && lower->gendisk == disk->lower_gendisk ? lower : NULL;
}

/*
 * A request comes to DISK (BY 1) or goes (-1): of TID, or for the file of a loop device (0). What
 * two CPUs do at once is lost at most.
 */
SEPARATE int disk_files_change(struct disk *disk, uint32_t tid, int by, uint64_t now)
{
	uint64_t since_ns;

	if (!disk || !disk->files.used)
		return 0;
	if (now > disk->files.last_ns + QUEUE_AHEAD_STALE_NS)
		disk->files.n_served = disk->files.n_others = 0;
	disk->files.last_ns = now;
	if (tid && by > 0) {
		disk->files.tid = tid;
		disk->files.came_ns = now;
	}
	if (tid)
		__sync_fetch_and_add(&disk->files.n_others, by);
	else
		__sync_fetch_and_add(&disk->files.n_served, by);
	if (disk->files.n_served < 0)
		disk->files.n_served = 0;
	if (disk->files.n_others < 0)
		disk->files.n_others = 0;
	since_ns = disk->files.n_served && disk->files.n_others ? now : 0;
	since_ns = __sync_lock_test_and_set(&disk->files.since_ns, since_ns);
	if (since_ns && now > since_ns)
		__sync_fetch_and_add(&disk->files.ns, now - since_ns);
	return 0;
}

#endif

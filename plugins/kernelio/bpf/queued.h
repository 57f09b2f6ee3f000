/* Whose a bio is that is being queued: the thread and the file that it is for. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_QUEUED_H
#define KERNELIO_QUEUED_H

#include "async.h"
#include "bio.h"
#include "dirtied-by.h"
#include "follow.h"
#include "syncs.h"

#define MAPPING_FLAGS 3UL
#define MAPPING_ANONYMOUS 1UL
#define OP_MASK 0xff
#define OP_WRITE 1
#define OP_FLUSH 2
#define OP_DISCARD 3

enum req_flag_bits___k {
	__REQ_SYNC___k,
	__REQ_META___k,
	__REQ_PREFLUSH___k,
	__REQ_RAHEAD___k,
};
#define REQ_HAS(opf, name) ((opf) >> bpf_core_enum_value(enum req_flag_bits___k, name) & 1)

/*
 * Untraced threads that wrote on behalf of a traced one: tid -> start, so that each is reported
 * once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, uint64_t);
} helpers_seen SEC(".maps");

/*
 * The inode of the first page of the bio at *KEY, and through INDEX its folio's index; 0: anonymous
 * memory, as in direct I/O.
 */
SEPARATE uint64_t bio_inode(const uint64_t *key, uint64_t *index)
{
	struct bio *bio = key ? (void *)*key : NULL;
	struct bio_vec *vector = BPF_CORE_READ(bio, bi_io_vec);
	uint32_t at = BPF_CORE_READ(bio, bi_iter.bi_idx);
	unsigned long head, mapping;
	struct page *page;

	if (!vector || !index)
		return 0;
	vector = (void *)vector + at * bpf_core_type_size(struct bio_vec);
	page = BPF_CORE_READ(vector, bv_page);
	if (!page)
		return 0;
	head = BPF_CORE_READ(page, compound_head);
	if (head & COMPOUND_TAIL)
		page = (void *)(head - COMPOUND_TAIL);
	mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	if (!mapping || mapping & MAPPING_ANONYMOUS)
		return 0;
	*index = BPF_CORE_READ((struct folio *)page, index);
	return (uint64_t)BPF_CORE_READ((struct address_space *)(mapping & ~MAPPING_FLAGS), host);
}

SEPARATE uint32_t bio_flags(uint32_t opf, uint32_t bytes)
{
	uint32_t op = opf & OP_MASK;
	uint32_t flags = op & OP_WRITE ? ETA_BIO_WRITE : 0;

	if (op == OP_DISCARD)
		flags = ETA_BIO_DISCARD;
	if (op == OP_FLUSH || (!bytes && REQ_HAS(opf, __REQ_PREFLUSH___k)))
		flags = ETA_BIO_FLUSH;
	if (REQ_HAS(opf, __REQ_SYNC___k))
		flags |= ETA_BIO_SYNC;
	if (REQ_HAS(opf, __REQ_META___k))
		flags |= ETA_BIO_META;
	if (REQ_HAS(opf, __REQ_RAHEAD___k))
		flags |= ETA_BIO_READAHEAD;
	return flags;
}

static __always_inline void helper_tell(struct task_struct *task)
{
	uint32_t tid = task->pid;
	uint64_t start_ns = task->start_time;
	uint64_t *seen_ns = bpf_map_lookup_elem(&helpers_seen, &tid);

	if (seen_ns && *seen_ns == start_ns)
		return;
	task_leave(task, 0);
	bpf_map_update_elem(&helpers_seen, &tid, &start_ns, BPF_ANY);
}

/*
 * A write by a kernel thread, to a device with traced files, that is not file data: journal or
 * metadata. It competes with the requests of the files.
 */
static __always_inline bool is_journal(struct task_struct *task, uint32_t dev)
{
	return task->flags & TASK_IS_KERNEL_THREAD && bpf_map_lookup_elem(&devices_seen, &dev);
}

/* The flag of bios of the program's own memory, as in direct I/O; 0: the kernel has none. */
const volatile uint32_t pinned_bios;

/* The upper bio that a stacked device made the bio KEY with this VECTOR from; NULL: unknown. */
static __always_inline struct bio_state *upper_bio(uint64_t key, uint64_t vector, uint64_t *upper)
{
	uint64_t *found;

	if (!stacked_used || !vector)
		return NULL;
	found = bpf_map_lookup_elem(&stacked, &vector);
	if (!found || *found == key)
		return NULL;
	*upper = *found;
	return bpf_map_lookup_elem(&bios, upper);
}

/* A bio that is being queued, and whose it is. */
struct queued_bio {
	struct task_struct *task;
	struct task_state *st;	 /* NULL: the task is not traced */
	struct bio_state *above; /* the upper bio it was made from */
	struct owner *owner;	 /* who dirtied its pages; NULL for metadata */
	uint64_t upper;		 /* key of above */
	uint64_t index;		 /* of its first folio in the file */
	uint64_t vector;	 /* of its pages, 0: none */
	uint64_t gendisk;	 /* address of its disk */
	struct file_key file;
	uint32_t dev;
	uint32_t bytes, flags;
	uint32_t track;
	uint32_t pid, tid;    /* of the owner */
	uint32_t foreign_tid; /* the task it is for, if that is untraced; 0: unknown */
	bool data;
	bool journal;
	bool owned; /* a traced thread dirtied it */
};

/*
 * A kernel thread writes a file that was dirty before the recording: until somebody dirties more of
 * it, it is taken to be for who was throttled last for writing to this disk.
 */
static __always_inline void queued_dirtied_before(struct queued_bio *q)
{
	struct gendisk *disk = (void *)q->gendisk;
	uint32_t tid = foreign_slowed_since(&throttled, bpf_ktime_get_ns());

	dirtied_before = q->file;
	if (tid && bpf_core_field_exists(disk->bdi) &&
	    throttled.bdi == (uint64_t)BPF_CORE_READ(disk, bdi))
		q->foreign_tid = tid;
}

/* Who made the pages of a write to a regular file dirty, whoever writes them now. */
static __always_inline void queued_owner(struct queued_bio *q)
{
	uint32_t *tid;

	q->owner = bpf_map_lookup_elem(&owners, &q->file);
	barrier(); /* else clang selects between two types of pointer: rejected */
	if (q->owner) {
		q->owned = true;
		q->pid = q->owner->pid;
		q->tid = q->owner->tid;
	} else if (q->task->flags & TASK_IS_KERNEL_THREAD) {
		tid = bpf_map_lookup_elem(&dirtied_by, &q->file);
		if (tid)
			q->foreign_tid = *tid;
		else if (bpf_map_lookup_elem(&devices_seen, &q->file.dev))
			queued_dirtied_before(q);
	}
}

/* The same of metadata: what became dirty for nobody that is known stays the writer's. */
static __always_inline void queued_metadata_owner(struct queued_bio *q)
{
	uint64_t who = folio_owner(&q->file, q->index);

	if (!who)
		return;
	if (!(who >> 32)) {
		q->foreign_tid = (uint32_t)who;
		return;
	}
	q->owned = true;
	q->pid = who >> 32;
	q->tid = (uint32_t)who;
}

/*
 * The file of INODE; 0 if that is a block device's: journal, metadata, or a program writing to the
 * device. The inode of btrfs's trees may have any type or none.
 */
static __always_inline void queued_file(struct queued_bio *q, struct inode *inode)
{
	bool regular = is_regular(BPF_CORE_READ(inode, i_mode));

	q->file.inode = BPF_CORE_READ(inode, i_ino);
	q->file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	if (q->flags & ETA_BIO_WRITE && !regular)
		queued_metadata_owner(q);
	else if (q->flags & ETA_BIO_WRITE && !(filter.light && q->st))
		queued_owner(q); /* in the light mode who syncs has more likely written them */
	if (q->flags & ETA_BIO_META || !regular)
		q->file.inode = q->file.dev = 0;
}

/*
 * What the journal's thread writes is for the task that asked for the commit. An untraced one: the
 * bio is foreign. If nobody called fsync, it is for those whose data was written before. Without
 * SYNC it is background writeback that nobody waits for.
 */
static __always_inline void queued_journal(struct queued_bio *q)
{
	struct syncer asked = {};

	q->journal = !q->above && !q->file.inode && !(q->flags & ETA_BIO_DISCARD) &&
		     q->foreign_tid == (uint32_t)q->task->pid && is_journal(q->task, q->dev);
	if (!q->journal || !(q->flags & (ETA_BIO_SYNC | ETA_BIO_FLUSH)))
		return;
	if (!syncs_used || !sync_asked(q->dev, &asked)) {
		q->foreign_tid = disk_wrote_by_chance(&q->gendisk);
		q->journal = !q->foreign_tid;
		return;
	}
	if (asked.foreign) {
		q->foreign_tid = asked.tid;
		q->journal = false;
	} else {
		q->pid = asked.pid;
		q->tid = asked.tid;
	}
}

/* The journal flushes the disk's cache, which delays only tasks that did not ask for it. */
static __always_inline void queued_flush(struct queued_bio *q)
{
	struct syncer asked = {};

	if (syncs_used && q->task->flags & TASK_IS_KERNEL_THREAD && sync_asked(q->dev, &asked))
		q->foreign_tid = asked.foreign ? asked.tid : 0;
}

/* A kernel thread tells the disk with BIO which blocks are free: for who gave them back. */
static __always_inline void queued_discard(struct queued_bio *q, struct bio *bio)
{
	uint64_t who = q->task->flags & TASK_IS_KERNEL_THREAD ? freed_find(q->dev, bio) : 0;

	if (!who)
		return;
	q->owned = who >> 32 != 0;
	if (q->owned) {
		q->pid = who >> 32;
		q->tid = (uint32_t)who;
	} else {
		q->foreign_tid = (uint32_t)who;
	}
}

/* Takes file and owner from the operation, where the pages do not say. */
static __always_inline void queued_operation(struct queued_bio *q, bool pages)
{
	struct task_state *st = q->st;

	if (q->above) {
		q->pid = q->above->record.owner_pid;
		q->tid = q->above->record.owner_tid;
		q->file.inode = q->above->record.inode;
		q->file.dev = q->above->record.file_dev;
		q->flags |= ETA_BIO_LOWER | (q->above->record.op_flags & ETA_BIO_DIRECT);
		q->track = q->above->record.track;
		return;
	}
	if (st && st->for_tid && st->active)
		q->track = st->serving.track;
	if (st && q->data && !pages && !(q->flags & ETA_BIO_META)) {
		/* not page cache memory: the program's own (direct I/O) or the file system's */
		if (st->active) {
			if (st->op.op_flags & ETA_KOP_DIRECT)
				q->flags |= ETA_BIO_DIRECT;
			q->file.inode = st->op.inode;
			q->file.dev = st->op.dev;
		} else if (st->direct.iocb) {
			q->flags |= ETA_BIO_DIRECT;
			q->file = st->direct.file;
			q->track = st->direct.track;
		}
	} else if (st && q->data && !st->active && !(q->flags & ETA_BIO_WRITE)) {
		q->track = async_track_of(st, &q->file);
	}
}

/* Finds owner and file of BIO; false: it is no traced thread's. */
static __always_inline bool queued_find(struct queued_bio *q, struct bio *bio)
{
	uint64_t key = (uint64_t)bio;
	bool pages = q->data && !(bio->bi_flags & pinned_bios);
	struct inode *inode = pages ? (void *)bio_inode(&key, &q->index) : NULL;

	q->above = upper_bio(key, q->vector, &q->upper);
	if (q->st) {
		q->tid = owner_tid(q->st);
	} else if (!q->above && (!(q->flags & ETA_BIO_WRITE) || !q->data)) {
		if (q->flags & ETA_BIO_FLUSH)
			queued_flush(q);
		else if (q->flags & ETA_BIO_DISCARD)
			queued_discard(q, bio);
		if (!q->owned)
			return false; /* other tasks act for a traced thread in writes only */
	}
	if (inode)
		queued_file(q, inode);
	if (!q->st) {
		queued_journal(q);
		if (!q->owned && !q->journal && !q->above)
			return false;
		helper_tell(q->task);
	}
	queued_operation(q, inode != NULL);
	return request_passes(q->st, &q->file, q->dev, q->flags & ETA_BIO_WRITE);
}

#endif

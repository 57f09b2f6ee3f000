/* Bios: one record each, from queueing to completion, with the thread and file it is for. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "evict.h"
#include "fault.h"
#include "queued.h"

/* Room for one, too large for the stack. A program does not preempt itself on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bio_state);
} queue_room SEC(".maps");

/* Is BIO's device a stacked one, which passes it on? */
static __always_inline bool is_stacked(const struct bio_state *value, struct bio *bio)
{
	if (value->counted.on_disk)
		return value->counted.stacked;
	return BPF_CORE_READ(bio, bi_bdev, bd_disk, fops, submit_bio) != NULL;
}

/* Fills the record, but for what issue and completion add. */
static __always_inline void queued_fill(struct bio_state *value, struct queued_bio *q,
					struct bio *bio)
{
	static const struct bio_state none;
	uint64_t key = (uint64_t)bio;

	*value = none;
	value->upper = q->upper;
	value->fragments = 1;
	value->record.track = q->track;
	value->record.head.time_ns = bpf_ktime_get_ns();
	value->record.head.type = ETA_RECORD_BIO;
	value->record.head.units = sizeof(value->record) / ETA_UNIT_BYTES;
	value->record.head.id = q->task->pid;
	value->record.sector = bio->bi_iter.bi_sector;
	value->record.inode = q->file.inode;
	value->record.file_dev = q->file.dev;
	value->record.pid = q->task->tgid;
	value->record.dev = q->dev;
	value->record.bytes = q->bytes;
	value->record.op_flags = q->flags;
	value->record.owner_pid = q->pid;
	value->record.owner_tid = q->tid;
	if (q->owner && q->owner->shared && q->file.inode)
		value->shared = shares_find(&key, &q->file, q->owner, &value->record);
}

/* Notes the bio in the operation that queued it, and for stacked devices below. */
static __always_inline void queued_follow(struct bio_state *value, const struct queued_bio *q,
					  struct bio *bio)
{
	struct task_state *st = q->st;
	uint64_t key = (uint64_t)bio, vector = q->vector;

	if (st && value->counted.on_disk)
		st->disk = 1 + value->counted.disk;
	if (st && st->active && st->now.readahead_ns && !(q->flags & ETA_BIO_WRITE))
		st->now.readahead_end_ns = value->record.head.time_ns;
	if (filter.light && st && st->active && !(q->flags & ETA_BIO_WRITE) &&
	    q->file.inode == st->op.inode && q->file.dev == st->op.dev && q->data)
		pages_come(st, q->index, q->bytes / page_bytes);
	if (st && st->active && (q->flags & ETA_BIO_DIRECT || st->now.kind == ETA_OP_READ))
		st->now.waits_for_own = 1;
	if (vector && is_stacked(value, bio)) {
		value->vector = vector;
		if (!q->above)
			bpf_map_update_elem(&stacked, &vector, &key, BPF_ANY);
		stacked_used = 1;
	}
}

/*
 * The address ADDRESS is in use again: if there is a bio that has not completed, that was missed.
 * Whoever queues the next one, its completion is not that of the first.
 */
SEPARATE int completion_missed(const uint64_t *address)
{
	struct bio_state *before;
	uint64_t key;

	if (!address)
		return 0;
	key = *address;
	before = bpf_map_lookup_elem(&bios, &key);
	if (!before)
		return 0;
	TOTAL_ADD(completions_missed, 1);
	disk_uncount(&before->counted);
	before->record.queue_foreign_ns = before->record.device_foreign_ns = 0;
	bio_leave(&key, before);
	bpf_map_delete_elem(&bios, &key);
	return 0;
}

/* Keeps it until it completes. */
static __always_inline void queued_keep(struct bio_state *value, uint64_t key)
{
	if (bpf_map_update_elem(&bios, &key, value, BPF_NOEXIST) == 0)
		return;
	completion_missed(&key);
	if (bpf_map_update_elem(&bios, &key, value, BPF_ANY)) {
		TOTAL_ADD(bios_missed, 1);
		disk_uncount(&value->counted);
	}
}

static __always_inline void queued_count(const struct queued_bio *q)
{
	if (!q->data || q->above) /* the same bytes were counted at the upper device */
		return;
	if (q->journal) {
		TOTAL_ADD(bio_kernel_bytes, q->bytes);
	} else if (!q->st) {
		TOTAL_ADD(writeback_bytes, q->bytes);
	} else if (q->flags & ETA_BIO_WRITE) {
		TOTAL_ADD(bio_written_bytes, q->bytes);
		if (q->flags & ETA_BIO_DIRECT)
			TOTAL_ADD(bio_direct_bytes, q->bytes);
		else if (!q->file.inode)
			TOTAL_ADD(bio_journal_bytes, q->bytes);
	} else {
		TOTAL_ADD(bio_read_bytes, q->bytes);
	}
}

/*
 * Is what a kernel thread queues, for nobody who is known, for loop devices that traced threads
 * use? Who reads and writes the file of one is a kernel thread, and so is who writes it back.
 * Journal and metadata may be for that file, too; direct I/O may be on that of another one.
 */
static __always_inline bool serves_image(const struct queued_bio *q, const struct bio *bio)
{
	uint64_t key = (uint64_t)bio, index, inode;

	if (!images_used || !(q->task->flags & TASK_IS_KERNEL_THREAD) ||
	    q->foreign_tid != (uint32_t)q->task->pid)
		return false;
	inode = q->data ? bio_inode(&key, &index) : 0;
	if (!inode && works_for_untraced(q->foreign_tid) != q->foreign_tid)
		return false;
	return !inode || !is_regular(BPF_CORE_READ((struct inode *)inode, i_mode)) ||
	       bpf_map_lookup_elem(&images, &inode);
}

/*
 * ST: the thread it is for; NULL: untraced. Not inlined: with the functions that end a wait the
 * stack would be too large.
 */
static __noinline int bio_queued(struct bio *bio, struct task_state *st)
{
	struct queued_bio q = { .task = bpf_get_current_task_btf(), .st = st };
	struct block_device *device = bio->bi_bdev; /* once: see doc/howto-probe.md, Pitfalls */
	bool flush = REQ_HAS(bio->bi_opf, __REQ_PREFLUSH___k);
	uint64_t key = (uint64_t)bio;
	struct bio_state *value;
	uint32_t zero = 0;
	bool recorded;

	q.dev = device->bd_dev;
	q.gendisk = (uint64_t)device->bd_disk;
	q.bytes = bio->bi_iter.bi_size;
	q.flags = bio_flags(bio->bi_opf, q.bytes);
	q.pid = q.task->tgid;
	q.tid = q.foreign_tid = q.task->pid;
	q.data = q.bytes && !(q.flags & (ETA_BIO_FLUSH | ETA_BIO_DISCARD));
	q.vector = q.data ? (uint64_t)bio->bi_io_vec : 0;
	value = bpf_map_lookup_elem(&queue_room, &zero);
	if (!value)
		return 0;
	recorded = queued_find(&q, bio);
	if (!q.above)
		works_for_others(q.owned ? q.tid : q.foreign_tid);
	if (!recorded) {
		completion_missed(&key);
		if (q.dev >> DEV_MAJOR_SHIFT == LOOP_MAJOR && q.foreign_tid)
			loop_user_note(q.gendisk, q.foreign_tid);
		if (q.foreign_tid)
			foreign_begin(&key, &q.gendisk, serves_image(&q, bio) ? 0 : q.foreign_tid,
				      q.bytes,
				      (flush || bio->bi_opf & OP_WRITE ? FOREIGN_WRITES : 0) |
					      (flush ? FOREIGN_FLUSHES : 0));
		return 0;
	}
	queued_fill(value, &q, bio);
	if (aio_used || uring_used)
		async_raw_begin(st, &key, value);
	value->counted.served = images_used && q.journal && q.tid == (uint32_t)q.task->pid;
	queue_ahead_begin(&q.gendisk, &value->record, &value->counted, flush);
	queued_follow(value, &q, bio);
	queued_keep(value, key);
	queued_count(&q);
	return 0;
}

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = sure_state(task) ?: worker_state(task);

	if (st && !(filter.light && call_see(st, 0)) && !(bio->bi_opf & OP_WRITE))
		fault_swaps_in(st);
	return bio_queued(bio, st);
}

/* SPLIT has been split off the bio PARENT. */
static __always_inline void bio_part(uint64_t split, uint64_t parent, struct bio_state *value)
{
	if (bpf_map_update_elem(&split_bios, &split, &parent, BPF_ANY) == 0)
		__sync_fetch_and_add(&value->fragments, 1);
}

SEC("tp_btf/block_split")
int BPF_PROG(on_split, struct bio *split)
{
	uint64_t key = (uint64_t)split;
	uint64_t parent = (uint64_t)split->bi_private;
	struct bio_state *value = bpf_map_lookup_elem(&bios, &parent);

	if (value)
		bio_part(key, parent, value);
	return 0;
}

/*
 * A stacked device remaps a bio to a lower one. Some kernels report parts split off before only
 * here. A bio on a partition is also remapped, but has not been queued yet.
 */
SEC("tp_btf/block_bio_remap")
int BPF_PROG(on_bio_remap, struct bio *bio)
{
	uint64_t key = (uint64_t)bio, below = LOWER_KEY(key), upper = key;
	struct bio_state *above, value;

	if (!stacked_used)
		return 0;
	above = bio_find(&upper);
	if (!above) {
		upper = (uint64_t)bio->bi_private;
		above = bpf_map_lookup_elem(&bios, &upper);
		if (!above || above->vector != (uint64_t)bio->bi_io_vec)
			return 0;
		bio_part(key, upper, above);
	}
	if (!above->vector)
		return 0;
	value = *above;
	value.fragments = 1;
	value.vector = 0;
	value.upper = above->upper ?: upper;
	value.record.head.time_ns = bpf_ktime_get_ns();
	value.record.issue_ns = 0;
	value.record.dev = bio->bi_bdev->bd_dev;
	value.record.sector = bio->bi_iter.bi_sector;
	value.record.bytes = bio->bi_iter.bi_size;
	value.record.op_flags |= ETA_BIO_LOWER;
	if (value.shared) /* owners of pages are reported for the upper bio only */
		TOTAL_ADD(shares_missed, value.record.bytes);
	value.shared = 0;
	/* the lower device's queue has not been examined */
	value.counted.place = value.counted.on_disk = 0;
	value.record.queue_foreign_ns = value.record.device_foreign_ns = 0;
	value.record.foreign_tid = 0;
	value.record.queue_ahead = value.record.issue_ahead = 0;
	value.record.queue_ahead_tid = value.record.issue_ahead_tid = 0;
	remapped_used = 1;
	if (bpf_map_update_elem(&bios, &below, &value, BPF_ANY))
		TOTAL_ADD(bios_missed, 1);
	return 0;
}

/* Drivers that take bios, not requests: device mapper, md. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *queue, struct bio *bio)
{
	bio_end((uint64_t)bio, status_errno(bio->bi_status), bpf_ktime_get_ns());
	return 0;
}

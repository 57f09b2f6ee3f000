/* Block requests: one record per bio, from queue to completion, with whose data it carries. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "async.h"
#include "bio.h"
#include "follow.h"

#define MAPPING_FLAGS 3UL
#define MAPPING_ANONYMOUS 1UL
#define MODE_TYPE 0170000
#define MODE_REGULAR 0100000
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

/* Threads that are not traced but wrote for one that is: tid -> start, so that each is told once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, uint64_t);
} helpers_seen SEC(".maps");

/* The inode whose page the bio begins with; NULL: none (anonymous memory of direct I/O). */
static __always_inline struct inode *bio_inode(struct bio *bio)
{
	struct bio_vec *vector = BPF_CORE_READ(bio, bi_io_vec);
	uint32_t at = BPF_CORE_READ(bio, bi_iter.bi_idx);
	unsigned long head, mapping;
	struct page *page;

	if (!vector)
		return NULL;
	vector = (void *)vector + at * bpf_core_type_size(struct bio_vec);
	page = BPF_CORE_READ(vector, bv_page);
	if (!page)
		return NULL;
	head = BPF_CORE_READ(page, compound_head);
	if (head & COMPOUND_TAIL)
		page = (void *)(head - COMPOUND_TAIL);
	mapping = (unsigned long)BPF_CORE_READ(page, mapping);
	if (!mapping || mapping & MAPPING_ANONYMOUS)
		return NULL;
	return BPF_CORE_READ((struct address_space *)(mapping & ~MAPPING_FLAGS), host);
}

static __always_inline uint32_t bio_flags(uint32_t opf, uint32_t bytes)
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
 * What the kernel's own threads write to a device with traced files that is no file's data: the
 * journal, metadata. It is in the way of the files' requests.
 */
static __always_inline bool is_journal(struct task_struct *task, uint32_t dev)
{
	return task->flags & TASK_IS_KERNEL_THREAD && bpf_map_lookup_elem(&devices_seen, &dev);
}

/* Does BIO's device pass it on to others? */
static __always_inline bool is_stacked(struct bio *bio)
{
	return BPF_CORE_READ(bio, bi_bdev, bd_disk, fops, submit_bio) != NULL;
}

/* What a stacked device made the bio KEY with this VECTOR of; NULL: nothing known. */
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

/* Room for one, which would be too much for the stack. A program does not enter itself on a CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct bio_state);
} queue_room SEC(".maps");

SEC("tp_btf/block_bio_queue")
int BPF_PROG(on_bio_queue, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_state *st = sure_state(task) ?: worker_state(task);
	uint32_t bytes = bio->bi_iter.bi_size;
	uint32_t flags = bio_flags(bio->bi_opf, bytes);
	bool data = bytes && !(flags & (ETA_BIO_FLUSH | ETA_BIO_DISCARD));
	struct inode *inode = data ? bio_inode(bio) : NULL;
	uint64_t key = (uint64_t)bio;
	struct {
		uint32_t pid, tid;
	} whose = { task->tgid, task->pid };
	struct owner *owner = NULL;
	static const struct bio_state none;
	struct bio_state *value, *before, *above;
	uint32_t zero = 0;
	uint64_t vector = data ? (uint64_t)bio->bi_io_vec : 0;
	uint64_t upper = 0;
	uint32_t lane = 0;
	bool journal = false;
	struct file_key file = {};
	long missed;

	value = bpf_map_lookup_elem(&queue_room, &zero);
	if (!value)
		return 0;
	above = upper_bio(key, vector, &upper);
	if (st)
		whose.tid = owner_tid(st);
	else if (!above && (!(flags & ETA_BIO_WRITE) || !data))
		goto foreign; /* only writes of others can be on behalf of a traced thread */
	if (inode) {
		file.inode = BPF_CORE_READ(inode, i_ino);
		file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
		if (flags & ETA_BIO_WRITE)
			owner = bpf_map_lookup_elem(&owners, &file);
		barrier(); /* or clang selects between two kinds of pointer, which no verifier takes
			    */
		if (owner) {
			whose.pid = owner->pid;
			whose.tid = owner->tid;
		}
		/*
		 * Of a block device: journal, metadata, a program writing to it. The inode of
		 * btrfs's trees is of no kind, or of any.
		 */
		if (flags & ETA_BIO_META ||
		    (BPF_CORE_READ(inode, i_mode) & MODE_TYPE) != MODE_REGULAR)
			file.inode = file.dev = 0;
	}
	if (!st) {
		journal = !above && !file.inode && is_journal(task, bio->bi_bdev->bd_dev);
		if (!owner && !journal && !above)
			goto foreign;
		helper_tell(task);
	}
	if (above) {
		whose.pid = above->record.owner_pid;
		whose.tid = above->record.owner_tid;
		file.inode = above->record.inode;
		file.dev = above->record.file_dev;
		flags |= ETA_BIO_LOWER | (above->record.op_flags & ETA_BIO_DIRECT);
		lane = above->record.lane;
	} else if (st && data && !inode && !(flags & ETA_BIO_META)) {
		/* memory of no page cache: the program's (direct I/O), or the file system's own */
		if (st->active) {
			if (st->op.op_flags & ETA_KOP_DIRECT)
				flags |= ETA_BIO_DIRECT;
			file.inode = st->op.inode;
			file.dev = st->op.dev;
		} else if (st->direct.iocb) {
			flags |= ETA_BIO_DIRECT;
			file = st->direct.file;
			lane = st->direct.lane;
		}
	} else if (st && data && !st->active && !(flags & ETA_BIO_WRITE)) {
		lane = async_lane_of(st, &file);
	}
	if (!request_passes(st, &file, bio->bi_bdev->bd_dev, flags & ETA_BIO_WRITE))
		goto foreign;

	*value = none;
	value->upper = upper;
	value->record.lane = lane;
	value->fragments = 1;
	value->record.head.time_ns = bpf_ktime_get_ns();
	value->record.head.type = ETA_RECORD_BIO;
	value->record.head.units = sizeof(value->record) / ETA_UNIT_BYTES;
	value->record.head.id = task->pid;
	value->record.sector = bio->bi_iter.bi_sector;
	value->record.inode = file.inode;
	value->record.file_dev = file.dev;
	value->record.pid = task->tgid;
	value->record.dev = bio->bi_bdev->bd_dev;
	value->record.bytes = bytes;
	value->record.op_flags = flags;
	value->record.owner_pid = whose.pid;
	value->record.owner_tid = whose.tid;
	if (owner && owner->shared && file.inode)
		value->shared = shares_find(bio, &file, owner, &value->record);
	ahead_begin(bio, &value->record, &value->counted);
	if (st && st->active && st->now.readahead_ns && !(flags & ETA_BIO_WRITE))
		st->now.readahead_end_ns = value->record.head.time_ns;
	if (st && st->active && (flags & ETA_BIO_DIRECT || st->now.kind == ETA_OP_READ))
		st->now.waits_for_own = 1;
	if (vector && is_stacked(bio)) {
		value->vector = vector;
		if (!above)
			bpf_map_update_elem(&stacked, &vector, &key, BPF_ANY);
		stacked_used = 1;
	}
	missed = bpf_map_update_elem(&bios, &key, value, BPF_NOEXIST);
	before = missed ? bpf_map_lookup_elem(&bios, &key) : NULL;
	if (before) {
		/* its completion was not seen, and now its memory serves again */
		TOTAL_ADD(completions_missed, 1);
		disk_uncount(&before->counted);
		bio_leave(key, before);
		missed = bpf_map_update_elem(&bios, &key, value, BPF_ANY);
	}
	if (missed) {
		TOTAL_ADD(bios_missed, 1);
		disk_uncount(&value->counted);
	}
	if (!data || above) /* what is below is the same bytes again */
		return 0;
	if (journal) {
		TOTAL_ADD(bio_kernel_bytes, bytes);
	} else if (!st) {
		TOTAL_ADD(writeback_bytes, bytes);
	} else if (flags & ETA_BIO_WRITE) {
		TOTAL_ADD(bio_written_bytes, bytes);
		if (flags & ETA_BIO_DIRECT)
			TOTAL_ADD(bio_direct_bytes, bytes);
		else if (!file.inode)
			TOTAL_ADD(bio_journal_bytes, bytes);
	} else {
		TOTAL_ADD(bio_read_bytes, bytes);
	}
	return 0;
foreign:
	foreign_begin(bio, task);
	return 0;
}

/* SPLIT is a part of the bio PARENT from here on. */
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
 * A stacked device hands a bio on as it is. Of the parts that it split off before, some kernels
 * tell nothing but this. A partition is a device, too, but not yet queued to.
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
	if (value.shared) /* who owns which page is told above only */
		TOTAL_ADD(shares_missed, value.record.bytes);
	value.shared = 0;
	/* who is ahead below has not been looked for */
	value.counted.place = 0;
	value.record.ahead = value.record.issue_ahead = 0;
	value.record.ahead_tid = value.record.issue_ahead_tid = 0;
	remapped_used = 1;
	if (bpf_map_update_elem(&bios, &below, &value, BPF_ANY))
		TOTAL_ADD(bios_missed, 1);
	return 0;
}

/* Drivers without requests: device mapper, md. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *queue, struct bio *bio)
{
	bio_end((uint64_t)bio, status_errno(bio->bi_status), bpf_ktime_get_ns());
	return 0;
}

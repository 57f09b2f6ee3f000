/* Block requests: one record per bio, from queue to completion, with whose data it carries. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "async.h"
#include "follow.h"
#include "owner.h"

#define MAX_MERGED 128 /* bios walked per request */
#define MAPPING_FLAGS 3UL
#define MAPPING_ANONYMOUS 1UL
#define COMPOUND_TAIL 1UL
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

/*
 * What blk_status_to_errno makes of a status. X(status, errno); those of zones have moved between
 * kernels and are EIO here.
 */
#define STATUSES(X)                                                                                \
	X(1, 95)  /* not supported: EOPNOTSUPP */                                                  \
	X(2, 110) /* timeout: ETIMEDOUT */                                                         \
	X(3, 28)  /* no space: ENOSPC */                                                           \
	X(4, 67)  /* transport: ENOLINK */                                                         \
	X(5, 121) /* target: EREMOTEIO */                                                          \
	X(6, 52)  /* reservation: EBADE */                                                         \
	X(7, 61)  /* medium: ENODATA */                                                            \
	X(8, 84)  /* protection: EILSEQ */                                                         \
	X(9, 12)  /* resource: ENOMEM */                                                           \
	X(12, 11) /* would block: EAGAIN */                                                        \
	X(13, 16) /* device resource: EBUSY */

static __always_inline int32_t status_errno(blk_status_t status)
{
	switch (status) {
	case 0:
		return 0;
#define X(status, error)                                                                           \
	case status:                                                                               \
		return -error;
		STATUSES(X)
#undef X
	default:
		return -5; /* EIO */
	}
}

struct bio_state {
	struct eta_bio_record record;
	int32_t fragments; /* the bio itself and what was split off it */
	uint32_t shared;   /* of several owners: see bio_shares */
};

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
} bio_shares SEC(".maps");

/* Bios in flight, by address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint64_t);
	__type(value, struct bio_state);
} bios SEC(".maps");

/* Threads that are not traced but wrote for one that is: tid -> start, so that each is told once.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, uint32_t);
	__type(value, uint64_t);
} helpers_seen SEC(".maps");

/* A part split off a bio -> that bio. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, uint64_t);
	__type(value, uint64_t);
} split_bios SEC(".maps");

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

/* A walk over the pages of a bio that a shared inode's pages are written by. */
struct share_walk {
	struct bio_shares *shares;
	struct page_key key;
	struct owner owner; /* of pages without a note */
	uint64_t vector;    /* address of the next one */
	uint64_t page;	    /* address of the next byte's page */
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

/* One step of it, for bpf_loop: 1 ends the walk. */
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

/* Whose the pages are that BIO writes to the shared inode FILE. RECORD's owner is the first one. */
static __noinline int shares_find(struct bio *bio, struct file_key *file, struct owner *owner,
				  struct eta_bio_record *record)
{
	static const struct bio_shares none;
	struct share_walk walk = {};
	uint64_t key = (uint64_t)bio;
	uint32_t n;

	if (!file || !owner || !record)
		return 0;
	if (bpf_map_update_elem(&bio_shares, &key, &none, BPF_ANY)) {
		TOTAL_ADD(shares_missed, record->bytes);
		return 0;
	}
	walk.shares = bpf_map_lookup_elem(&bio_shares, &key);
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
	bpf_map_delete_elem(&bio_shares, &key);
	return 0;
}

/* A walk over the owners of a bio, leaving a record for each. */
struct leave_walk {
	struct bio_shares *shares;
	struct eta_bio_record *record;
};

/* One step of it, for bpf_loop: 1 ends the walk. */
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

/* The record of the bio KEY: one for each owner of its pages. */
static __noinline int bio_leave(uint64_t key, struct bio_state *value)
{
	struct leave_walk walk = {};

	if (!value)
		return 0;
	if (value->shared)
		walk.shares = bpf_map_lookup_elem(&bio_shares, &key);
	if (!walk.shares) {
		record_leave(ETA_RECORD_BIO, &value->record, sizeof(value->record));
		return 0;
	}
	walk.record = &value->record;
	bpf_loop(MAX_SHARES, leave_step, &walk, 0);
	bpf_map_delete_elem(&bio_shares, &key);
	return 0;
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
	struct bio_state value = {}, *before;
	bool journal = false;
	struct file_key file = {};
	long missed;

	if (st)
		whose.tid = owner_tid(st);
	else if (!(flags & ETA_BIO_WRITE) || !data)
		return 0; /* only writes of others can be on behalf of a traced thread */
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
		journal = !file.inode && is_journal(task, bio->bi_bdev->bd_dev);
		if (!owner && !journal)
			return 0;
		helper_tell(task);
	}
	/* memory of no page cache: the program's (direct I/O), unless the file system's own */
	if (st && data && !inode && !(flags & ETA_BIO_META)) {
		if (st->active) {
			if (st->op.op_flags & ETA_KOP_DIRECT)
				flags |= ETA_BIO_DIRECT;
			file.inode = st->op.inode;
			file.dev = st->op.dev;
		} else if (st->direct.iocb) {
			flags |= ETA_BIO_DIRECT;
			file = st->direct.file;
			value.record.lane = st->direct.lane;
		}
	} else if (st && data && !st->active && !(flags & ETA_BIO_WRITE)) {
		value.record.lane = async_lane_of(st, &file);
	}
	if (!request_passes(st, &file, bio->bi_bdev->bd_dev, flags & ETA_BIO_WRITE))
		return 0;

	value.fragments = 1;
	value.record.head.time_ns = bpf_ktime_get_ns();
	value.record.head.type = ETA_RECORD_BIO;
	value.record.head.units = sizeof(value.record) / ETA_UNIT_BYTES;
	value.record.head.id = task->pid;
	value.record.sector = bio->bi_iter.bi_sector;
	value.record.inode = file.inode;
	value.record.file_dev = file.dev;
	value.record.pid = task->tgid;
	value.record.dev = bio->bi_bdev->bd_dev;
	value.record.bytes = bytes;
	value.record.op_flags = flags;
	value.record.owner_pid = whose.pid;
	value.record.owner_tid = whose.tid;
	if (owner && owner->shared && file.inode)
		value.shared = shares_find(bio, &file, owner, &value.record);
	if (st && st->active && st->now.readahead_ns && !(flags & ETA_BIO_WRITE))
		st->now.readahead_end_ns = value.record.head.time_ns;
	if (st && st->active && (flags & ETA_BIO_DIRECT || st->now.kind == ETA_OP_READ))
		st->now.waits_for_own = 1;
	missed = bpf_map_update_elem(&bios, &key, &value, BPF_NOEXIST);
	before = missed ? bpf_map_lookup_elem(&bios, &key) : NULL;
	if (before) {
		/* its completion was not seen, and now its memory serves again */
		TOTAL_ADD(completions_missed, 1);
		bio_leave(key, before);
		missed = bpf_map_update_elem(&bios, &key, &value, BPF_ANY);
	}
	if (missed)
		TOTAL_ADD(bios_missed, 1);
	if (!data)
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
}

SEC("tp_btf/block_split")
int BPF_PROG(on_split, struct bio *split)
{
	uint64_t key = (uint64_t)split;
	uint64_t parent = (uint64_t)split->bi_private;
	struct bio_state *value = bpf_map_lookup_elem(&bios, &parent);

	if (value && bpf_map_update_elem(&split_bios, &key, &parent, BPF_ANY) == 0)
		__sync_fetch_and_add(&value->fragments, 1);
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

static __always_inline void bio_end(uint64_t key, int32_t status, uint64_t now)
{
	uint64_t part = key;
	struct bio_state *value = bio_find(&key);

	if (part != key)
		bpf_map_delete_elem(&split_bios, &part);
	if (!value)
		return;
	if (status)
		value->record.status = status;
	if (__sync_fetch_and_add(&value->fragments, -1) > 1)
		return;
	value->record.head.end_ns = now;
	bio_leave(key, value);
	bpf_map_delete_elem(&bios, &key);
}

/* A walk over the bios merged into a request. */
struct bio_walk {
	struct bio *bio;
	uint64_t now;
	uint32_t bytes; /* completed and not yet given to a bio */
	int32_t status; /* -errno */
};

/* One step of it, for bpf_loop: 1 ends the walk. */
static long issue_step(uint32_t step, struct bio_walk *walk)
{
	struct bio *bio = walk->bio;
	uint64_t key = (uint64_t)bio;
	struct bio_state *value;

	if (!key)
		return 1;
	value = bio_find(&key);
	if (value && !value->record.issue_ns)
		value->record.issue_ns = walk->now;
	walk->bio = BPF_CORE_READ(bio, bi_next);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_rq_issue, struct request *rq)
{
	struct bio_walk walk = { .bio = rq->bio, .now = bpf_ktime_get_ns() };

	bpf_loop(MAX_MERGED, issue_step, &walk, 0);
	return 0;
}

static long complete_step(uint32_t step, struct bio_walk *walk)
{
	struct bio *bio = walk->bio;
	uint32_t bytes;

	if (!bio)
		return 1;
	bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	if (bytes > walk->bytes)
		return 1;
	walk->bio = BPF_CORE_READ(bio, bi_next);
	walk->bytes -= bytes;
	bio_end((uint64_t)bio, walk->status, walk->now);
	return walk->bytes == 0;
}

/* The piece of a request that the first of two programs has ended, by CPU. */
struct ended {
	uint64_t rq;
	uint64_t bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct ended);
} ended SEC(".maps");

/* Ends the bios that NR_BYTES cover, as the kernel does next. */
static __always_inline int request_end(struct request *rq, blk_status_t error,
				       unsigned int nr_bytes)
{
	struct bio_walk walk = {
		.bio = rq->bio,
		.now = bpf_ktime_get_ns(),
		.bytes = nr_bytes,
		.status = status_errno(error),
	};

	bpf_loop(MAX_MERGED, complete_step, &walk, 0);
	return 0;
}

/*
 * Runs in whatever context the interrupt found, also in the middle of itself (a hard interrupt over
 * the soft one): the kernel does not enter a program twice on one CPU and skips it then. Of two
 * programs the other one is free, and what the first has ended the second does not find any more.
 */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete, struct request *rq, blk_status_t error, unsigned int nr_bytes)
{
	uint32_t zero = 0;
	struct ended *last = bpf_map_lookup_elem(&ended, &zero);

	request_end(rq, error, nr_bytes);
	if (last) {
		last->bytes = nr_bytes;
		last->rq = (uint64_t)rq;
	}
	return 0;
}

SEC("tp_btf/block_rq_complete")
int BPF_PROG(on_rq_complete_nested, struct request *rq, blk_status_t error, unsigned int nr_bytes)
{
	uint32_t zero = 0;
	struct ended *last = bpf_map_lookup_elem(&ended, &zero);

	if (last && last->rq == (uint64_t)rq && last->bytes == nr_bytes) {
		last->rq = 0; /* once only: the kernel uses requests again */
		return 0;
	}
	return request_end(rq, error, nr_bytes);
}

/* Drivers without requests: device mapper, md. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(on_bio_complete, struct request_queue *queue, struct bio *bio)
{
	bio_end((uint64_t)bio, status_errno(bio->bi_status), bpf_ktime_get_ns());
	return 0;
}

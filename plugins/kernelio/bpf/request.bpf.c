/* Requests: issue and completion of the bios merged into one. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "bio.h"

#define MAX_MERGED 128 /* bios walked per request */

enum rqf_flags___k {
	__RQF_FLUSH_SEQ___k,
};
#define RQF_FLUSH_SEQ_FIXED (1U << 4) /* before Linux 6.11 it was no enumerator */

/* Loop over the bios merged into a request. */
struct bio_walk {
	struct bio *bio;
	uint64_t now;
	bool late;	/* who issues it was, and untraced tasks have requests */
	uint32_t bytes; /* completed bytes not yet assigned to a bio */
	int32_t status; /* -errno */
};

/* Called by bpf_loop for each bio; 1 ends the loop. */
static long issue_step(uint32_t step, struct bio_walk *walk)
{
	struct bio *bio = walk->bio;
	uint64_t key = (uint64_t)bio, below = LOWER_KEY(key);

	if (!key)
		return 1;
	if (remapped_used)
		bio_issued(bpf_map_lookup_elem(&bios, &below), walk->now);
	bio_issued(bio_find(&key), walk->now);
	if (walk->late)
		foreign_is_late(&key, late_now());
	walk->bio = BPF_CORE_READ(bio, bi_next);
	return 0;
}

/* A flush of the cache of RQ's disk is issued by a kernel thread that was LATE. */
static __always_inline void flush_is_late(struct request *rq, const struct late *late)
{
	uint64_t gendisk = (uint64_t)BPF_CORE_READ(rq, q, disk);
	uint32_t index;
	struct disk *disk = disk_of(&gendisk, &index);

	if (disk)
		disk->flush_late = *late;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(on_rq_issue, struct request *rq)
{
	struct bio_walk walk = { .bio = rq->bio, .now = bpf_ktime_get_ns() };
	struct late *late = late_now();

	if (late && !walk.bio)
		flush_is_late(rq, late);
	walk.late = late && foreign_seen;
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

/* By CPU: the part of a request that the first of the two programs below has ended. */
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

/*
 * Is RQ a step of a sequence with flushes of the disk's cache? Its bio ends with the last of them:
 * before that, the kernel reports that the data is written.
 */
static __always_inline bool is_step(const struct request *rq)
{
	uint32_t flag = RQF_FLUSH_SEQ_FIXED;

	if (bpf_core_enum_value_exists(enum rqf_flags___k, __RQF_FLUSH_SEQ___k))
		flag = 1U << bpf_core_enum_value(enum rqf_flags___k, __RQF_FLUSH_SEQ___k);
	return rq->rq_flags & flag;
}

/* Ends the bios that NR_BYTES cover, as the kernel does after this. */
static __always_inline int request_end(struct request *rq, blk_status_t error,
				       unsigned int nr_bytes)
{
	struct bio_walk walk = {
		.bio = rq->bio,
		.now = bpf_ktime_get_ns(),
		.bytes = nr_bytes,
		.status = status_errno(error),
	};

	if (!is_step(rq))
		bpf_loop(MAX_MERGED, complete_step, &walk, 0);
	return 0;
}

/*
 * A hard interrupt may call this while a soft interrupt runs it. The kernel does not enter a
 * program twice on a CPU, so there are two copies: the second runs also where the first is skipped,
 * and skips what the first has ended.
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
		last->rq = 0; /* once only: requests are reused */
		return 0;
	}
	return request_end(rq, error, nr_bytes);
}

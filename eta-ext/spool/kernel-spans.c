/* The spans of one kernel operation: clipped to it, outer ones first. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "kernel-expand.h"

/* The file system's own functions, as spans. */
#define FS_ITER (1u << ETA_SPAN_FS_READ | 1u << ETA_SPAN_FS_WRITE)

/* Which of two spans with the same bounds is the outer one: the order of the kernel's layers. */
static int depth_of(uint8_t kind)
{
	switch (kind) {
	case ETA_SPAN_VFS_READ:
	case ETA_SPAN_VFS_WRITE:
	case ETA_SPAN_VFS_SYNC:
		return -1;
	case ETA_N_SPANS:
	case ETA_SPAN_FS_READ:
	case ETA_SPAN_FS_WRITE:
	case ETA_SPAN_FS_SYNC:
		return 0;
	case ETA_SPAN_FS_DIRECT:
	case ETA_SPAN_FS_WRITEPAGES:
		return 1;
	case ETA_SPAN_PAGECACHE_READ:
	case ETA_SPAN_PAGECACHE_WRITE:
		return 2;
	case ETA_SPAN_READAHEAD:
	case ETA_SPAN_ALLOCATION:
		return 3;
	case ETA_SPAN_SLEEP:
		return 5;
	case ETA_SPAN_RUN_QUEUE:
	case ETA_SPAN_WAKE_UP:
	case ETA_SPAN_QUOTA:
	case ETA_SPAN_STOPPED:
		return 6;
	default:
		return 4;
	}
}

static bool outside(const struct expand_span *a, const struct expand_span *b)
{
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns;
	return depth_of(a->kind) < depth_of(b->kind);
}

/* Puts SPAN among the N of expand->spans, which has room. They come nearly sorted. */
static void insert_span(struct expand *expand, size_t n, struct expand_span span)
{
	while (n > 0 && outside(&span, &expand->spans[n - 1])) {
		expand->spans[n] = expand->spans[n - 1];
		n--;
	}
	expand->spans[n] = span;
}

ssize_t expand_take_spans(struct expand *expand, const struct eta_kernel_op *op, uint64_t end_ns,
			  uint8_t kind)
{
	const struct eta_span *spans = (const void *)(op + 1);
	size_t stored = op->head.units - 2u, n = 0;
	uint64_t work_begin_ns = UINT64_MAX, work_end_ns = 0;
	uint32_t kinds = 0;

	if (!EXPAND_FITS(expand, expand->spans, stored + 1, expand->span_room))
		return -ENOMEM;
	for (size_t i = 0; i < stored; i++) {
		struct expand_span span = {
			.begin_ns = spans[i].begin_ns,
			.end_ns = spans[i].end_ns ? spans[i].end_ns : end_ns,
			.object = spans[i].object,
			.who = spans[i].who,
			.kind = spans[i].kind,
			.flags = spans[i].flags,
		};

		if (span.kind == ETA_SPAN_OTHER_LOCK)
			span.place = spans[i].count;
		else if (span.kind == ETA_SPAN_SLEEP)
			span.changes = spans[i].count;

		if (span.kind == ETA_SPAN_NONE || span.kind >= ETA_N_SPANS) {
			expand->counts->bad++;
			continue;
		}
		if (span.begin_ns < op->head.time_ns)
			span.begin_ns = op->head.time_ns;
		if (span.end_ns > end_ns)
			span.end_ns = end_ns;
		if (span.begin_ns > span.end_ns)
			continue; /* outside of the operation */
		kinds |= 1u << span.kind;
		/* O_SYNC syncs inside of the write function */
		if ((FS_WORK | 1u << ETA_SPAN_FS_SYNC) & 1u << span.kind) {
			if (span.begin_ns < work_begin_ns)
				work_begin_ns = span.begin_ns;
			if (span.end_ns > work_end_ns)
				work_end_ns = span.end_ns;
		}
		insert_span(expand, n++, span);
	}
	/* the tracer saw what the file system did, but not where its function began and ended */
	if (kinds & FS_WORK && !(kinds & FS_ITER) && (kind == ETA_OP_READ || kind == ETA_OP_WRITE))
		insert_span(expand, n++,
			    (struct expand_span){ .begin_ns = work_begin_ns,
						  .end_ns = work_end_ns,
						  .kind = ETA_N_SPANS });
	return (ssize_t)n;
}

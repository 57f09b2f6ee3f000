/* The spool's kernel side: the records of one task or device, by time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel-reader.h"
#include "eta-ext/base/search.h"

enum {
	RELEASE_ENTRIES = 64 << 10, /* read entries leave memory in steps of 1 MiB */
	/* a task with most of a file's records reads ahead; of one of many the next is far away */
	WINDOW_DENSE_BYTES = 64 << 10,
	WINDOW_SPARSE_BYTES = 16 << 10,
	WINDOW_LEAST_BYTES = 512,
	/* a thread that leaves the CPU on the way out of a call does so this soon after its end, or
	 * after the wait before: it may have a file to truncate meanwhile */
	RETURNING_NS = 20000000,
};

int record_reader_init(struct record_reader *reader, const struct spool *spool,
		       struct index_slice slice)
{
	*reader = (struct record_reader){ .spool = spool, .left = slice, .released = slice.first };
	reader->window_bytes = slice.n > spool->index->n_entries / 16	? WINDOW_DENSE_BYTES
			       : slice.n > spool->index->n_entries / 64 ? WINDOW_SPARSE_BYTES
									: WINDOW_LEAST_BYTES;
	reader->views = calloc(spool->n_files + 1, sizeof(*reader->views));
	return reader->views ? 0 : -ENOMEM;
}

void record_reader_free(struct record_reader *reader)
{
	for (uint32_t i = 0; reader->views && i < reader->spool->n_files; i++)
		spool_view_unshare(&reader->views[i]);
	free(reader->views);
}

const struct index_entry *record_reader_peek(const struct record_reader *reader)
{
	return reader->left.n ? &reader->spool->index->entries[reader->left.first] : NULL;
}

int record_reader_next(struct record_reader *reader, const struct eta_record_head **record,
		       uint64_t *unit)
{
	const struct spool *spool = reader->spool;
	const struct index_entry *entry = &spool->index->entries[reader->left.first];
	/* the last file that begins at or before the unit */
	uint32_t file =
		PARTITION_POINT(1U, spool->n_files, i, spool->files[i].first_unit <= entry->unit) -
		1;
	struct spool_view *view;
	int rc;

	*unit = entry->unit;
	view = &reader->views[file];
	reader->cpu = spool->files[file].cpu;
	if (!view->window) {
		rc = spool_view_share(view, &spool->files[file].view, reader->window_bytes);
		if (rc)
			return rc;
	}
	rc = spool_view_record(view, (entry->unit - spool->files[file].first_unit) * ETA_UNIT_BYTES,
			       record);
	if (rc == 0) {
		eta_error("%s: changed while it was read", view->path);
		rc = -EIO;
	}
	reader->left.first++;
	reader->left.n--;
	if (reader->left.first - reader->released >= RELEASE_ENTRIES) {
		index_release(spool->index, reader->released, reader->left.first);
		reader->released = reader->left.first;
	}
	return rc < 0 ? rc : 0;
}

/* ---- operations, with what happens on their way out ---- */

uint64_t operation_reader_peek(const struct operation_reader *r)
{
	const struct index_entry *entry = record_reader_peek(&r->records);

	if (r->has_next)
		return r->next.op->head.time_ns;
	return entry ? entry->time_ns : UINT64_MAX;
}

/* Copies OP; HELD has room for another span behind it. */
static int hold(struct held_operation *held, const struct expand *expand,
		const struct eta_kernel_op *op)
{
	bool own = held->op == op;

	if (!EXPAND_FITS(expand, held->units, op->head.units + 1u, held->room))
		return -ENOMEM;
	if (!own)
		memcpy(held->units, op, (size_t)op->head.units * ETA_UNIT_BYTES);
	held->op = (void *)held->units;
	return 0;
}

/* Is RECORD a wait on the way out of OP? Then it becomes part of that. */
static bool take_return(struct held_operation *held, const struct eta_record_head *record)
{
	const struct eta_span *span = (const void *)((const struct eta_kernel_op *)record + 1);
	struct eta_kernel_op *op = held->op;

	if (record->type != ETA_RECORD_WAIT || record->units < 3 ||
	    !(INDEX_RETURNING_KINDS >> span->kind & 1) || !(span->flags & ETA_SPAN_RETURNING) ||
	    span->begin_ns < op->head.end_ns || op->head.units == UINT16_MAX)
		return false;
	held->units[op->head.units++] = *span;
	op->head.end_ns = span->end_ns;
	return true;
}

int operation_reader_next(struct operation_reader *r, const struct expand *expand,
			  const struct eta_kernel_op **out, uint32_t *cpu)
{
	const struct eta_record_head *record = NULL;
	struct held_operation held = r->ending;
	uint64_t unit, next_ns;
	int rc = 0;

	if (r->has_next) {
		r->ending = r->next;
		r->next = held;
		r->has_next = false;
		*out = r->ending.op;
		*cpu = r->ending.cpu;
	} else {
		rc = record_reader_next(&r->records, &record, &unit);
		*out = (const void *)record;
		*cpu = r->records.cpu;
	}
	while (!rc && (*out)->head.type == ETA_RECORD_KERNEL_OP && (*out)->head.end_ns) {
		next_ns = operation_reader_peek(r);
		if (next_ns == UINT64_MAX || next_ns < (*out)->head.end_ns ||
		    next_ns - (*out)->head.end_ns >= RETURNING_NS)
			break;
		rc = hold(&r->ending, expand, *out);
		if (!rc)
			rc = record_reader_next(&r->records, &record, &unit);
		if (rc)
			break;
		*out = r->ending.op;
		if (take_return(&r->ending, record)) {
			*cpu = r->records.cpu;
			continue;
		}
		rc = hold(&r->next, expand, (const void *)record);
		r->next.cpu = r->records.cpu;
		r->has_next = !rc;
		break;
	}
	return rc;
}

void operation_reader_free(struct operation_reader *r)
{
	record_reader_free(&r->records);
	free(r->ending.units);
	free(r->next.units);
}

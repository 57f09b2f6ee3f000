/* Records of the kernel's side, read in the order of the index. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_KERNEL_READER_H
#define ETA_KERNEL_READER_H

#include "kernel-expand.h"

struct record_reader {
	const struct spool *spool;
	struct spool_view *views; /* per file, opened when first used */
	struct index_slice left;
	uint64_t released; /* entries before it have left memory */
	size_t window_bytes;
	uint32_t cpu; /* 1 + that of the last record's file */
};

/* For the entries of SLICE; to be freed. 0 or -ENOMEM, which is not reported. */
int record_reader_init(struct record_reader *reader, const struct spool *spool,
		       struct index_slice slice);
void record_reader_free(struct record_reader *reader);
/* The next entry, NULL: there is none. */
const struct index_entry *record_reader_peek(const struct record_reader *reader);
/* The record of the next entry, valid until the next call; it is there, so 0 is never given. */
int record_reader_next(struct record_reader *reader, const struct eta_record_head **record,
		       uint64_t *unit);

/* The record of an operation or wait, copied. */
struct held_operation {
	struct eta_kernel_op *op; /* in these: */
	struct eta_span *units;
	size_t room;
	uint32_t cpu;
};

/* Those of operations and waits, looking ahead of one for what happens on its way out. */
struct operation_reader {
	struct record_reader records;
	struct held_operation ending, next;
	bool has_next; /* was read already */
};

/* When the next one begins; UINT64_MAX: there is none. */
uint64_t operation_reader_peek(const struct operation_reader *reader);
/*
 * The next one, valid until the next call: a system call that the thread left a CPU on the way out
 * of ends when it is back on one. *CPU: 1 + the one that it ended on. EXPAND is for messages.
 */
int operation_reader_next(struct operation_reader *reader, const struct expand *expand,
			  const struct eta_kernel_op **op, uint32_t *cpu);
void operation_reader_free(struct operation_reader *reader);

#endif

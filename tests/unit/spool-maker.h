/* Spools made by hand for the tests: a directory, its files, records with as little as they need.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SPOOL_MAKER_H
#define SCI_SPOOL_MAKER_H

#include <stdbool.h>

#include "eta-ext/format/spool.h"

/* A new empty directory DIR ("....XXXXXX" on entry), and it gone again with what is in it. */
void maker_begin(char *dir);
void maker_end(const char *dir);

/* A new file of DIR; header fields that matter are the caller's. Ends the test where it cannot. */
void maker_file(struct spool *spool, const char *dir, const char *name,
		const struct eta_spool_header *header);

/* Appends a record of HEAD's type, UNITS long, with BYTES of BODY behind its head. */
void maker_record(struct spool *spool, struct eta_record_head head, const void *body, size_t bytes);
void maker_name(struct spool *spool, enum eta_record_type type, uint32_t id, uint8_t kind,
		const char *text);
void maker_user_op(struct spool *spool, struct eta_user_op op);
void maker_file_record(struct spool *spool, struct eta_file_record file, const char *path);
void maker_kernel_op(struct spool *spool, struct eta_kernel_op op, const struct eta_span *spans,
		     size_t n_spans);
void maker_async_op(struct spool *spool, struct eta_kernel_op op);
void maker_bio(struct spool *spool, struct eta_bio_record bio);
void maker_task(struct spool *spool, struct eta_task_record task);
/* What follows is the calls of thread TID. */
void maker_thread(struct spool *spool, uint32_t tid, uint64_t start_ns, const char *comm);

#endif

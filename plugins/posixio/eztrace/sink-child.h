/* Under EZTrace, the child of a fork goes on with the spool sink, beside the archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_SINK_CHILD_H
#define POSIXIO_SINK_CHILD_H

#include <stdbool.h>

#include "plugins/posixio/spool/sink.h"

/* spool_sink_begin and spool_sink_end, not inlined: EZTrace's own process pays nothing for them. */
bool child_begin(struct thread *t, struct spool_sink_op *op, enum function fn,
		 const struct file *file, int fd, uint64_t size, int64_t offset, const void *caller,
		 bool transfer);
void child_end(struct thread *t, struct spool_sink_op *op, enum eta_op_kind kind,
	       const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset);

#endif

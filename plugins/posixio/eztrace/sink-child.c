/* Under EZTrace, the child of a fork continues with the spool sink, beside the archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugins/posixio/core.h"

bool child_begin(struct thread *t, struct spool_sink_op *op, enum function fn,
		 const struct file *file, int fd, uint64_t size, int64_t offset, const void *caller,
		 bool transfer)
{
	return spool_sink_begin(t, op, fn, file, fd, size, offset, caller, transfer);
}

void child_end(struct thread *t, struct spool_sink_op *op, enum eta_op_kind kind,
	       const struct file *file, uint64_t end_ns, int64_t ret, int64_t offset)
{
	spool_sink_end(t, op, kind, file, end_ns, ret, offset);
}

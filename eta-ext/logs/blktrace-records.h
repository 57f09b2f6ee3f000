/* Inside of the sources of blktrace's kind: an action on a request, in whatever form it was
 * reported.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_BLKTRACE_H
#define ETA_LOG_BLKTRACE_H

#include "log.h"

struct blk_action {
	uint64_t time_ns;
	uint64_t sector;
	uint32_t sectors;
	uint32_t pid; /* 0: unknown */
	uint32_t tid;
	uint32_t major, minor;
	char action; /* blkparse's letter: Q, D, C, ...; another: no request */
	uint8_t mode;
	bool failed;
	const char *comm; /* "" unknown */
};

/* ACTION is the record at hand: counted as passed where it says nothing new of a request. */
int log_blktrace(struct log *log, const struct blk_action *action);

#endif

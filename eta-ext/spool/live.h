/* Records of a file that its tracer is still writing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_EXT_SPOOL_LIVE_H
#define ETA_EXT_SPOOL_LIVE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * RECORDS: BYTES of the window, which were read from PLACE of FD. How many of them are whole
 * records, as they were written; behind them is the end. -errno: they cannot be read.
 */
ssize_t live_records(int fd, void *records, size_t bytes, uint64_t place);

#endif

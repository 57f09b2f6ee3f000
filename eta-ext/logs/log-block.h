/* Block requests of logs: queued, issued, complete. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_LOG_BLOCK_H
#define ETA_LOG_BLOCK_H

#include "log-defs.h"

struct log_block {
	uint64_t time_ns;
	uint64_t key;	 /* tells requests with the same sector apart; 0 where nothing does */
	uint64_t sector; /* 512 bytes each */
	uint32_t sectors;
	uint32_t location; /* who queued it */
	struct log_device device;
	uint64_t inode; /* 0: unknown */
	uint8_t mode;	/* enum eta_io_mode */
};

/*
 * BYTES (whole sectors of them) from SECTOR on; false: a number that no device has. To be reported
 * by whoever parses it.
 */
bool log_block_at(struct log_block *block, uint64_t sector, uint64_t bytes);
/* REQUEST is queued. It is kept until it completes. */
int log_block_queue(struct log *log, const struct log_block *request);
/*
 * Requests with the same device, key and mode and with sectors in common go to the device: how
 * many; 0 where none is known. Without sectors (a flush): the oldest that has none.
 */
int log_block_issue(struct log *log, const struct log_block *range);
/* The same: they are complete, in part or whole; TRANSFERRED: without an error. Or -errno. */
int log_block_complete(struct log *log, const struct log_block *range, bool transferred);
/* The request of this key on DEVICE is complete: 1, 0 where there is none, or -errno. */
int log_block_complete_key(struct log *log, const struct log_device *device, uint64_t key,
			   uint64_t time_ns, bool transferred);
/*
 * The last one queued that ends where END begins is complete: as bio_endio sees it, where a bio has
 * moved on to its end. 1, 0 where there is none, or -errno.
 */
int log_block_complete_end(struct log *log, const struct log_block *end, bool transferred);
/* REQUEST of a log that knows of no completions. */
int log_block_pass(struct log *log, const struct log_block *request);
/* Those in flight at the end: begun, never completed. */
int log_block_end(struct log *log);

#endif

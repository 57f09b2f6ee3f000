/* Logs of blktrace's kind: what each action means for the requests in flight. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log-block.h"
#include "log-defs.h"
#include "blktrace-records.h"

#include <errno.h>

int log_blktrace(struct log *log, const struct blk_action *a)
{
	struct log_block block = {
		.time_ns = a->time_ns,
		.mode = a->mode,
	};
	char name[32];
	int rc;

	/* G, I, P, U, M, ...: on the way from the queue to the device, or of no request */
	if (a->action != 'Q' && a->action != 'D' && a->action != 'C')
		return log_pass(log);
	if (!log_block_at(&block, a->sector, (uint64_t)a->sectors * 512))
		return log_bad(log, "sector %llu is beyond any device",
			       (unsigned long long)a->sector);
	snprintf(name, sizeof(name), "%u:%u", a->major, a->minor);
	rc = log_device(log, a->major << 20 | (a->minor & 0xfffff), name, &block.device);
	if (rc)
		return rc;
	if (a->action == 'C') {
		rc = log_block_complete(log, &block, !a->failed);
		/* behind a flush comes the completion of what asked for it, without sectors */
		if (rc == 0 && a->sectors == 0)
			return log_pass(log);
		if (rc == 0)
			log->trace->counts.orphan++;
		return rc < 0 ? rc : 0;
	}
	if (a->action == 'D' && log_block_issue(log, &block) > 0)
		return 0;
	block.location = log_thread(log, a->pid, a->tid, a->comm);
	if (block.location == ETA_NONE)
		return -ENOMEM;
	rc = log_block_queue(log, &block);
	/* the driver's own (a flush): never queued, it begins here */
	if (rc == 0 && a->action == 'D')
		log_block_issue(log, &block);
	return rc;
}

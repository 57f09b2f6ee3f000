/* Logs: block requests, reported in pieces (queued, issued, complete), as the records of OTF2. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "log-block.h"
#include "log-events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A device holds fewer; what was never said to complete must not stay for ever. A part goes at
 * once: of some logs no request is ever said to.
 */
enum { REQUESTS_MAX = 4096, REQUESTS_GO = REQUESTS_MAX / 4 };

#define NEVER UINT64_MAX /* many a log begins at 0 */

struct log_request {
	struct log_block block;
	uint64_t issue_ns; /* NEVER: not issued */
	uint32_t done;	   /* sectors that are complete */
};

bool log_block_at(struct log_block *block, uint64_t sector, uint64_t bytes)
{
	if (sector > INT64_MAX / 512 || bytes / 512 > UINT32_MAX)
		return false;
	block->sector = sector;
	block->sectors = (uint32_t)(bytes / 512);
	return true;
}

/* REQUEST is over: complete at END_NS, or NEVER seen to be. */
static int give(struct log *log, const struct log_request *request, uint64_t end_ns,
		bool transferred)
{
	const struct log_block *block = &request->block;
	uint64_t bytes = (uint64_t)block->sectors * 512;
	struct eta_event event = {
		.time_ns = block->time_ns,
		.kind = ETA_IO_BEGIN,
		.mode = block->mode,
		.has = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE,
		.handle = block->device.handle,
		.size = bytes,
		.offset = (int64_t)(block->sector * 512),
		.inode = block->inode,
		.end_ns = end_ns == NEVER ? 0 : end_ns,
		.match = log->next_match++,
	};
	int rc;

	if (block->sectors)
		event.has |= ETA_HAS_OFFSET;
	if (block->inode)
		event.has |= ETA_HAS_FILE;
	if (end_ns != NEVER)
		event.has |= ETA_HAS_END;
	rc = log_event(log, block->location, &event);
	event = (struct eta_event){
		.time_ns = request->issue_ns,
		.kind = ETA_IO_ISSUED,
		.mode = block->mode,
		.has = ETA_EVENT_BLOCK_IO,
		.handle = block->device.handle,
		.match = event.match,
	};
	if (rc == 0 && request->issue_ns != NEVER)
		rc = log_event(log, block->location, &event);
	event.time_ns = end_ns;
	event.kind = ETA_IO_COMPLETE;
	event.has |= ETA_HAS_SIZE;
	event.size = transferred ? bytes : 0;
	if (rc == 0 && end_ns != NEVER)
		rc = log_event(log, block->device.location, &event);
	return rc;
}

static void forget(struct log *log, uint32_t i)
{
	log->n_requests--;
	memmove(&log->requests[i], &log->requests[i + 1],
		(log->n_requests - i) * sizeof(*log->requests));
}

int log_block_queue(struct log *log, const struct log_block *block)
{
	int rc = 0;

	if (!log->requests)
		log->requests = calloc(REQUESTS_MAX, sizeof(*log->requests));
	if (!log->requests)
		return log_no_memory(log, "its requests");
	if (log->n_requests == REQUESTS_MAX) {
		for (uint32_t i = 0; rc == 0 && i < REQUESTS_GO; i++)
			rc = give(log, &log->requests[i], NEVER, false);
		log->n_requests -= REQUESTS_GO;
		memmove(log->requests, log->requests + REQUESTS_GO,
			log->n_requests * sizeof(*log->requests));
	}
	log->requests[log->n_requests++] =
		(struct log_request){ .block = *block, .issue_ns = NEVER };
	return rc;
}

/* Sectors that BLOCK and RANGE have in common; one that has none (a flush) has 1 of its own. */
static uint32_t overlap(const struct log_block *block, const struct log_block *range)
{
	uint64_t begin, end;

	if (block->device.handle != range->device.handle || block->key != range->key)
		return 0;
	if (block->sectors == 0 || range->sectors == 0)
		return block->sectors == range->sectors;
	if (block->mode != range->mode)
		return 0;
	begin = block->sector > range->sector ? block->sector : range->sector;
	end = block->sector + block->sectors;
	if (range->sector + range->sectors < end)
		end = range->sector + range->sectors;
	return end > begin ? (uint32_t)(end - begin) : 0;
}

int log_block_issue(struct log *log, const struct log_block *range)
{
	int n = 0;

	for (uint32_t i = 0; i < log->n_requests; i++) {
		struct log_request *request = &log->requests[i];

		if (request->issue_ns != NEVER || !overlap(&request->block, range))
			continue;
		request->issue_ns = range->time_ns;
		n++;
		if (range->sectors == 0)
			break;
	}
	return n;
}

int log_block_complete(struct log *log, const struct log_block *range, bool transferred)
{
	int n = 0;

	for (uint32_t i = 0; i < log->n_requests;) {
		struct log_request *request = &log->requests[i];
		uint32_t sectors = overlap(&request->block, range);
		int rc;

		if (sectors == 0) {
			i++;
			continue;
		}
		n++;
		/* a request may complete in parts */
		request->done += sectors;
		if (request->done < request->block.sectors) {
			i++;
			continue;
		}
		rc = give(log, request, range->time_ns, transferred);
		forget(log, i);
		if (rc)
			return rc;
		if (range->sectors == 0)
			break;
	}
	return n;
}

int log_block_complete_key(struct log *log, const struct log_device *device, uint64_t key,
			   uint64_t time_ns, bool transferred)
{
	for (uint32_t i = 0; i < log->n_requests; i++) {
		const struct log_block *block = &log->requests[i].block;
		int rc;

		if (block->key != key || block->device.handle != device->handle)
			continue;
		rc = give(log, &log->requests[i], time_ns, transferred);
		forget(log, i);
		return rc ? rc : 1;
	}
	return 0;
}

int log_block_complete_end(struct log *log, const struct log_block *end, bool transferred)
{
	for (uint32_t i = log->n_requests; i-- > 0;) {
		const struct log_block *block = &log->requests[i].block;
		int rc;

		if (block->device.handle != end->device.handle || block->mode != end->mode ||
		    block->sector + block->sectors != end->sector)
			continue;
		rc = give(log, &log->requests[i], end->time_ns, transferred);
		forget(log, i);
		return rc ? rc : 1;
	}
	return 0;
}

int log_block_pass(struct log *log, const struct log_block *block)
{
	const struct log_request request = { .block = *block, .issue_ns = NEVER };

	return give(log, &request, NEVER, false);
}

int log_block_end(struct log *log)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < log->n_requests; i++)
		rc = give(log, &log->requests[i], NEVER, false);
	log->n_requests = 0;
	return rc;
}

/* Records of a file that its tracer is still writing. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "live.h"

#include <errno.h>
#include <unistd.h>

#include "eta-ext/format/record.h"

static size_t whole_records(const unsigned char *records, size_t bytes)
{
	size_t whole = 0;

	while (bytes - whole >= ETA_UNIT_BYTES) {
		const struct eta_record_head *head = (const void *)(records + whole);
		size_t length = (size_t)head->units * ETA_UNIT_BYTES;

		if (head->type == ETA_RECORD_END || length == 0 || length > bytes - whole)
			break;
		whole += length;
	}
	return whole;
}

ssize_t live_records(int fd, void *records, size_t bytes, uint64_t place)
{
	const size_t whole = whole_records(records, bytes);
	size_t done = 0;

	/*
	 * A record exists once its type is there, which is stored last. One that was written just
	 * while it was read may have its new type behind its old times; now it is complete.
	 */
	while (done < whole) {
		ssize_t n = pread(fd, (char *)records + done, whole - done, (off_t)(place + done));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		done += n < 0 ? 0 : (size_t)n;
	}
	return (ssize_t)done;
}

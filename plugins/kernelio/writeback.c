/* At the end of a run: what traced threads left dirty is written out and accounted for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "internal.h"

#define CHUNK_BYTES ((off_t)1 << 20) /* between two looks at the clock */

static uint64_t clock_ms(void)
{
	return clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/*
 * Does FLAGS (sync_file_range(2)) with the file of RECORD, if it still has its name. No other than
 * a file that was met is touched: links are not followed, and its inode has to be the one that was
 * traced.
 */
static void file_sync(const struct eta_file_record *record, unsigned flags, uint64_t deadline_ms)
{
	char path[KERNELIO_PATH_BYTES + 1];
	struct stat status;
	int fd;

	if (record->head.flags != ETA_FILE_REGULAR || record->path_bytes >= sizeof(path))
		return;
	memcpy(path, record->path, record->path_bytes);
	path[record->path_bytes] = '\0';
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_ino == record->inode)
		for (off_t at = 0; at < status.st_size && clock_ms() < deadline_ms;
		     at += CHUNK_BYTES)
			if (sync_file_range(fd, at, CHUNK_BYTES, flags))
				break;
	close(fd);
}

/* Where the record at offset AT is in the file while STORED is what the header says. */
static uint64_t place_of(const struct spool *spool, uint64_t at, uint64_t stored)
{
	if (at < stored)
		return at + spool->window_bytes;
	return at - (stored ? stored : ETA_SPOOL_HEADER_BYTES) + ETA_SPOOL_HEADER_BYTES;
}

/* Reads the record at AT while the collector appends: it may move the window meanwhile. */
static bool file_read(const struct spool *spool, int fd, uint64_t at,
		      struct eta_file_record *record, size_t bytes)
{
	uint64_t stored = __atomic_load_n(&spool->header->stored, __ATOMIC_ACQUIRE), before;
	ssize_t n;

	do {
		before = stored;
		n = pread(fd, record, bytes, (off_t)place_of(spool, at, before));
		stored = __atomic_load_n(&spool->header->stored, __ATOMIC_ACQUIRE);
	} while (stored != before);
	return n >= (ssize_t)sizeof(*record) && record->head.type == ETA_RECORD_FILE &&
	       (size_t)n >= sizeof(*record) + record->path_bytes && record->prev < at;
}

/* The FILE records of one of the files, from the newest on. */
static void each_file(const struct spool *spool, unsigned flags, uint64_t deadline_ms)
{
	const size_t bytes = sizeof(struct eta_file_record) + KERNELIO_PATH_BYTES;
	struct eta_file_record *record = malloc(bytes);
	int fd = open(spool->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t at = spool->header ? spool->header->last_file : 0;

	while (record && fd >= 0 && at && clock_ms() < deadline_ms &&
	       file_read(spool, fd, at, record, bytes)) {
		file_sync(record, flags, deadline_ms);
		at = record->prev;
	}
	if (fd >= 0)
		close(fd);
	free(record);
}

static void all_files(const struct kernelio *k, unsigned flags, uint64_t deadline_ms)
{
	if (k->definitions)
		each_file(definitions_spool(k->definitions), flags, deadline_ms);
	for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
		each_file(&k->cpus[cpu].spool, flags, deadline_ms);
}

unsigned writeback_flush(struct kernelio *k)
{
	uint64_t deadline_ms = clock_ms() + k->options.wait_writeback_ms, now_ms;

	if (k->definitions)
		definitions_fix(k->definitions);
	/*
	 * All is started before any of it is waited for. To wait is more than to start: a page that
	 * the kernel's own writeback has in its hands just now is left to that, and its request may
	 * not be queued yet.
	 */
	all_files(k, SYNC_FILE_RANGE_WRITE, deadline_ms);
	all_files(k, SYNC_FILE_RANGE_WAIT_AFTER, deadline_ms);
	now_ms = clock_ms();
	return now_ms < deadline_ms ? (unsigned)(deadline_ms - now_ms) : 0;
}

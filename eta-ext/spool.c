/* Writing one spool file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_BYTES ((size_t)4096)
#define ZERO_PAGES 64	   /* written in one call */
#define RESERVE_SEGMENTS 8 /* reserved in one call */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * System calls directly: this code runs inside the functions that the user tracer intercepts.
 */
static int raw_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
}

static void *raw_map(int fd, size_t bytes, uint64_t offset)
{
	long at = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			  (off_t)offset);

	return at == -1 ? NULL : (void *)at;
}

static void raw_unmap(void *at, size_t bytes)
{
	if (at)
		syscall(SYS_munmap, at, bytes);
}

static uint64_t page_down(uint64_t offset)
{
	return offset & ~(uint64_t)(PAGE_BYTES - 1);
}

/* Writes zeros to [FROM, TO), both on pages. */
static int write_zeros(int fd, uint64_t from, uint64_t to)
{
	static const char zeros[PAGE_BYTES];
	struct iovec pages[ZERO_PAGES];

	for (size_t i = 0; i < ZERO_PAGES; i++)
		pages[i] = (struct iovec){ (void *)zeros, PAGE_BYTES };
	while (from < to) {
		size_t n = (size_t)((to - from) / PAGE_BYTES);
		long done = syscall(SYS_pwritev, fd, pages, n < ZERO_PAGES ? n : ZERO_PAGES,
				    (long)from, 0L);

		if (done <= 0)
			return done < 0 ? -errno : -ENOSPC;
		/* of a page that was written in part, the rest comes again */
		from += page_down((uint64_t)done);
		if (page_down((uint64_t)done) == 0)
			return -ENOSPC;
	}
	return 0;
}

/*
 * Fills [page of OFFSET, OFFSET + BYTES) with zeros and maps it.
 *
 * Filled first: a store into a hole of a full disk would be a SIGBUS in the traced program. And by
 * writing: that brings pages into the cache many at a time, and one madvise maps them all, where a
 * fault for each would cost more than everything else that is done for its 64 records.
 */
static int map_segment(struct spool *spool, int fd, uint64_t offset, size_t bytes)
{
	uint64_t base = page_down(offset), end = page_down(offset + bytes + PAGE_BYTES - 1);
	size_t length = (size_t)(end - base);
	unsigned char *at;
	int rc;

	/*
	 * The blocks of some segments ahead, where the file system can: writing is cheaper then.
	 * The size stays, and what was not used goes when the file is cut. A file's first segment
	 * has none: short threads have no other.
	 */
	if (base && end > spool->reserved) {
		if (syscall(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, (off_t)base,
			    (off_t)(length * RESERVE_SEGMENTS)) == 0)
			spool->reserved = base + length * RESERVE_SEGMENTS;
		else
			spool->reserved =
				end; /* writing tells whether there is room for this one */
	}
	rc = write_zeros(fd, page_down(offset + PAGE_BYTES - 1), end);
	if (rc)
		return rc;
	at = raw_map(fd, length, base);
	if (!at)
		return -errno;
	if (syscall(SYS_madvise, at, length, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
		rc = -errno; /* EINVAL: before Linux 5.14, then each page faults */
		raw_unmap(at, length);
		return rc;
	}
	raw_unmap(spool->base, (size_t)(spool->end - spool->base));
	spool->base = at;
	spool->base_offset = base;
	spool->next = at + (offset - base);
	spool->end = at + length;
	return 0;
}

int spool_create(struct spool *spool, const char *path, const struct eta_spool_header *header,
		 size_t first, size_t max)
{
	int rc, fd;

	memset(spool, 0, offsetof(struct spool, path));
	if (strlen(path) >= sizeof(spool->path))
		return -ENAMETOOLONG;
	strcpy(spool->path, path);
	spool->segment_bytes = first;
	spool->segment_max = max;
	fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return -errno;
	/* header and first segment are filled in one piece, mapped in two */
	rc = map_segment(spool, fd, 0, ETA_SPOOL_HEADER_BYTES + first);
	if (rc == 0) {
		spool->header = raw_map(fd, ETA_SPOOL_HEADER_BYTES, 0);
		if (!spool->header)
			rc = -errno;
	}
	syscall(SYS_close, fd);
	if (rc) {
		spool_abandon(spool);
		syscall(SYS_unlinkat, AT_FDCWD, path, 0);
		return rc;
	}
	*spool->header = *header;
	memcpy(spool->header->magic, ETA_SPOOL_MAGIC, sizeof(spool->header->magic));
	spool->header->version = ETA_SPOOL_VERSION;
	spool->next += ETA_SPOOL_HEADER_BYTES;
	return 0;
}

void *spool_grow(struct spool *spool, size_t bytes)
{
	size_t want = spool->segment_bytes * 2;
	uint64_t offset;
	void *at;
	int fd, rc;

	if (!spool->header)
		return NULL;
	if (spool->error)
		goto lost;
	if (want > spool->segment_max)
		want = spool->segment_max;
	if (want < bytes)
		want = bytes;
	offset = spool->base_offset + (uint64_t)(spool->next - spool->base);
	fd = raw_open(spool->path, O_RDWR);
	if (fd < 0) {
		spool->error = errno;
		goto lost;
	}
	rc = map_segment(spool, fd, offset, want);
	syscall(SYS_close, fd);
	if (rc) {
		spool->error = -rc;
		goto lost;
	}
	spool->segment_bytes = want;
	at = spool->next;
	spool->next += bytes;
	return at;
lost:
	spool->header->lost++;
	return NULL;
}

void spool_abandon(struct spool *spool)
{
	raw_unmap(spool->base, (size_t)(spool->end - spool->base));
	raw_unmap(spool->header, ETA_SPOOL_HEADER_BYTES);
	spool->base = spool->next = spool->end = NULL;
	spool->header = NULL;
}

void spool_close(struct spool *spool)
{
	if (spool->header)
		syscall(SYS_truncate, spool->path,
			(off_t)(spool->base_offset + (uint64_t)(spool->next - spool->base)));
	spool_abandon(spool);
}

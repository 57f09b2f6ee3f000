/* Writing one spool file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

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
	return offset & ~(uint64_t)4095;
}

/*
 * Reserves and maps [page of OFFSET, OFFSET + BYTES). Reserved first: a store into a hole of a full
 * disk would be a SIGBUS in the traced program.
 */
static int map_segment(struct spool *spool, int fd, uint64_t offset, size_t bytes)
{
	uint64_t base = page_down(offset);
	size_t length = (size_t)(page_down(offset + bytes + 4095) - base);
	unsigned char *at;

	if (syscall(SYS_fallocate, fd, 0, (off_t)base, (off_t)length) != 0) {
		/* a file system without fallocate (NFS, 9p): reserve by writing zeros */
		static const char zeros[4096];
		uint64_t to = base + length;

		if (errno != EOPNOTSUPP && errno != ENOSYS)
			return -errno;
		for (uint64_t o = page_down(offset + 4095); o < to; o += sizeof(zeros)) {
			long n = syscall(SYS_pwrite64, fd, zeros, sizeof(zeros), (off_t)o);

			if (n != (long)sizeof(zeros))
				return n < 0 ? -errno : -ENOSPC;
		}
	}
	at = raw_map(fd, length, base);
	if (!at)
		return -errno;
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
	/* header and first segment are reserved in one piece, mapped in two */
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

/* Writing one spool file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES ((size_t)4096)
#define ZERO_PAGES 64 /* written in one call */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * System calls directly: this code runs inside the functions that the user tracer intercepts.
 */
static int raw_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/*
 * The file of SPOOL again. Who may write to a folder on its way may have put another one there: what
 * is written to, and cut, is what was made. -errno.
 */
static int reopen(const struct spool *spool)
{
	int fd = raw_open(spool->path, O_RDWR);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (syscall(SYS_fstat, fd, &st) == 0 && st.st_dev == spool->dev && st.st_ino == spool->inode)
		return fd;
	syscall(SYS_close, fd);
	return -ESTALE;
}

/* Cuts the file to BYTES behind its header. */
static void cut(const struct spool *spool, size_t bytes)
{
	int fd = reopen(spool);

	if (fd < 0)
		return;
	syscall(SYS_ftruncate, fd, (off_t)(ETA_SPOOL_HEADER_BYTES + bytes));
	syscall(SYS_close, fd);
}

/* What PATH holds, as a text of at most ROOM - 1 bytes; "" where it cannot be read. */
static void read_text(const char *path, char *text, size_t room)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : syscall(SYS_read, fd, text, room - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
}

static uint64_t digits(const char *text)
{
	uint64_t number = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		number = number * 10 + (uint64_t)(*text - '0');
	return number;
}

/* From the ticks since boot that are field 22 of /proc/PID/stat; 0: not there. */
static uint64_t process_start(void)
{
	enum { STARTTIME = 22, TICK_NS = 10000000 };
	struct timespec boot, mono;
	char text[1024], *at;
	uint64_t start_ns;

	read_text("/proc/self/stat", text, sizeof(text));
	at = strrchr(text, ')'); /* ends field 2, a name that may hold anything */
	for (int field = 2; at && field < STARTTIME; field++)
		at = strchr(at + 1, ' ');
	if (!at)
		return 0;
	clock_gettime(CLOCK_BOOTTIME, &boot);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	start_ns = digits(at + 1) * TICK_NS + (uint64_t)mono.tv_sec * 1000000000 +
		   (uint64_t)mono.tv_nsec;
	return start_ns - (uint64_t)boot.tv_sec * 1000000000 - (uint64_t)boot.tv_nsec;
}

void spool_header_origin(struct eta_spool_header *header)
{
	char link[64];
	long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link, sizeof(link) - 1);

	link[n > 0 ? n : 0] = '\0';
	/* "pid:[4026531836]" */
	header->pid_ns = n > 5 ? (uint32_t)digits(link + 5) : 0;
	header->process_ns = process_start();
	read_text("/proc/sys/kernel/random/boot_id", header->boot, sizeof(header->boot));
	header->boot[strcspn(header->boot, "\n")] = '\0';
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
 * Makes the window BYTES large: fills what is new of it with zeros and maps all of it.
 *
 * Filled first: a store into a hole of a full disk would be a SIGBUS in the traced program. And by
 * writing: that brings pages into the cache many at a time, and one madvise maps them all.
 */
static int map_window(struct spool *spool, int fd, size_t bytes)
{
	/* a new file gets its header in the same piece */
	uint64_t from = spool->base ? ETA_SPOOL_HEADER_BYTES + spool->mapped : 0;
	unsigned char *at;
	int rc = write_zeros(fd, from, ETA_SPOOL_HEADER_BYTES + bytes);

	if (rc)
		return rc;
	at = raw_map(fd, bytes, ETA_SPOOL_HEADER_BYTES);
	if (!at)
		return -errno;
	if (syscall(SYS_madvise, at, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
		rc = -errno; /* EINVAL: before Linux 5.14, then each page faults */
		raw_unmap(at, bytes);
		return rc;
	}
	raw_unmap(spool->base, spool->mapped);
	spool->next = at + (spool->next - spool->base);
	spool->base = at;
	spool->shift = spool->base_offset - (uint64_t)(uintptr_t)at;
	spool->mapped = bytes;
	spool->end = at + bytes - ETA_UNIT_BYTES;
	return 0;
}

int spool_create(struct spool *spool, const char *path, const struct eta_spool_header *header,
		 size_t first, size_t max)
{
	struct stat st;
	int rc, fd;

	memset(spool, 0, offsetof(struct spool, path));
	if (strlen(path) >= sizeof(spool->path))
		return -ENAMETOOLONG;
	strcpy(spool->path, path);
	spool->window_bytes = max;
	spool->base_offset = ETA_SPOOL_HEADER_BYTES;
	fd = raw_open(path, O_RDWR | O_CREAT | O_EXCL);
	if (fd < 0)
		return -errno;
	rc = syscall(SYS_fstat, fd, &st) == 0 ? map_window(spool, fd, first) : -errno;
	spool->dev = st.st_dev;
	spool->inode = st.st_ino;
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
	spool->header->window_bytes = max;
	spool->header->window_at = spool->base_offset;
	return 0;
}

/*
 * Appends the window to the file, and begins it anew. Each step leaves a file that reads right: the
 * process may be killed between any two.
 */
static int append_window(struct spool *spool, int fd)
{
	const size_t bytes = (size_t)(spool->next - spool->base);
	size_t done = 0;

	while (done < bytes) {
		long n = syscall(SYS_pwrite64, fd, spool->base + done, bytes - done,
				 (long)(spool->base_offset + spool->window_bytes + done));

		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	spool->base_offset += bytes;
	spool->shift += bytes;
	__atomic_store_n(&spool->header->stored, spool->base_offset, __ATOMIC_RELEASE);
	spool_set_end(spool->base);
	__atomic_store_n(&spool->header->window_at, spool->base_offset, __ATOMIC_RELEASE);
	spool->next = spool->base;
	return 0;
}

void *spool_grow(struct spool *spool, size_t bytes)
{
	int fd, rc = 0;

	if (!spool->header)
		return NULL;
	if (spool->error || bytes > spool->window_bytes - ETA_UNIT_BYTES)
		goto lost;
	fd = reopen(spool);
	if (fd < 0) {
		spool->error = -fd;
		goto lost;
	}
	if (spool->mapped < spool->window_bytes)
		rc = map_window(spool, fd, spool->window_bytes);
	if (rc == 0 && (size_t)(spool->end - spool->next) < bytes)
		rc = append_window(spool, fd);
	syscall(SYS_close, fd);
	if (rc == 0)
		return spool_take(spool, bytes);
	spool->error = -rc;
lost:
	spool->header->lost++;
	return NULL;
}

void spool_trim(struct spool *spool)
{
	size_t used = (size_t)(spool->next - spool->base);
	size_t keep = (used / PAGE_BYTES + 2) * PAGE_BYTES;

	if (!spool->header || spool->header->stored || keep >= spool->mapped)
		return;
	raw_unmap(spool->base + keep, spool->mapped - keep);
	spool->mapped = keep;
	spool->end = spool->base + keep - ETA_UNIT_BYTES;
	cut(spool, keep);
}

void spool_abandon(struct spool *spool)
{
	raw_unmap(spool->base, spool->mapped);
	raw_unmap(spool->header, ETA_SPOOL_HEADER_BYTES);
	spool->base = spool->next = spool->end = NULL;
	spool->mapped = 0;
	spool->header = NULL;
}

void spool_close(struct spool *spool)
{
	/* the window of a file that has more behind it stays as it is */
	if (spool->header && !spool->header->stored)
		cut(spool, (size_t)(spool->next - spool->base));
	spool_abandon(spool);
}

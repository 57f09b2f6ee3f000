/* In a virtual machine: reads that its host sees, at the begin and the end, to compare clocks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "eta-ext/format/clock-reads.h"
#include "internal.h"

enum {
	DISKS = 8,
	TAKES = 2,  /* at the begin and at the end */
	BLOCKS = 8, /* each time, one behind the other, */
	/* and then across these blocks' bounds in the part of the disk that the other time reads */
	SHIFTS = 7,
	READS = BLOCKS + (BLOCKS - 1) * SHIFTS,
	UNIT_BYTES = 4096,
	SHIFT_BYTES = UNIT_BYTES / (SHIFTS + 1),
	TEXT_BYTES = 84, /* of a read, at most */
	WAIT_S = 1	 /* a disk that hangs is not waited for */
};

/* A slow disk is not read any more after so long, but for the blocks. */
#define ENOUGH_NS 40000000

struct clock_disk {
	int fd;
	uint32_t dev;
	struct clock_read reads[TAKES * READS];
	unsigned n;
	uint32_t offsets[TAKES * READS]; /* in the order in which they are read */
};

struct clock_reads {
	struct clock_disk disks[DISKS];
	unsigned n;
	unsigned taken; /* how often */
	bool hangs;	/* a thread is at it still: all of this is its own */
};

/* Does the processor say that a hypervisor is below? */
static bool is_guest(void)
{
	char text[8192];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, " hypervisor") != NULL;
}

/* A disk, not made of others, in memory or removable. */
static bool is_disk(const char *name)
{
	char path[320], removable = '1';
	int fd;

	snprintf(path, sizeof(path), "/sys/block/%s/device", name);
	if (name[0] == '.' || access(path, F_OK) != 0)
		return false;
	snprintf(path, sizeof(path), "/sys/block/%s/removable", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && read(fd, &removable, 1) != 1)
		removable = '1';
	if (fd >= 0)
		close(fd);
	return removable == '0';
}

static void shuffle(uint32_t *v, unsigned n, uint64_t *seed)
{
	for (unsigned i = 1; i < n; i++) {
		uint32_t one = v[i];
		unsigned other;

		/* Knuth's MMIX, whose higher bits are the better ones */
		*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
		other = (unsigned)((*seed >> 32) % (i + 1));
		v[i] = v[other];
		v[other] = one;
	}
}

/*
 * All within 64 KiB, which are in an image whatever its format, in random order and each once: no
 * read can be taken for another one, nor all of them for those of another guest that does the same
 * at the same time. A host with blocks of 4 KiB reads more than what is across their bounds: that
 * is far in time from what is read of the same blocks. Where a guest's disk has such blocks these
 * reads fail.
 */
static void choose_offsets(struct clock_disk *disk, uint64_t *seed)
{
	for (unsigned t = 0; t < TAKES; t++) {
		uint32_t *blocks = disk->offsets + t * READS, *shifted = blocks + BLOCKS;
		const uint32_t from = t * BLOCKS * UNIT_BYTES,
			       other = (TAKES - 1 - t) * BLOCKS * UNIT_BYTES;

		for (unsigned i = 0; i < BLOCKS; i++)
			blocks[i] = from + i * UNIT_BYTES;
		for (unsigned i = 0; i < READS - BLOCKS; i++)
			shifted[i] =
				other + i / SHIFTS * UNIT_BYTES + (1 + i % SHIFTS) * SHIFT_BYTES;
		shuffle(blocks, BLOCKS, seed);
		shuffle(shifted, READS - BLOCKS, seed);
	}
}

static void open_disk(struct clock_reads *r, const char *name, uint64_t *seed)
{
	struct clock_disk *disk = &r->disks[r->n];
	struct stat status;
	char path[320];

	snprintf(path, sizeof(path), "/dev/%s", name);
	disk->fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK);
	if (disk->fd < 0)
		return;
	if (fstat(disk->fd, &status) < 0 || !S_ISBLK(status.st_mode)) {
		close(disk->fd);
		return;
	}
	disk->dev = (uint32_t)major(status.st_rdev) << 20 | (uint32_t)minor(status.st_rdev);
	choose_offsets(disk, seed);
	r->n++;
}

void clock_reads_open(struct kernelio *k)
{
	struct clock_reads *r = is_guest() ? calloc(1, sizeof(*r)) : NULL;
	DIR *folder = r ? opendir("/sys/block") : NULL;
	const struct dirent *entry;
	uint64_t seed = clock_ns(CLOCK_MONOTONIC) ^ clock_ns(CLOCK_REALTIME);

	while (folder && r->n < DISKS && (entry = readdir(folder)))
		if (is_disk(entry->d_name))
			open_disk(r, entry->d_name, &seed);
	if (folder)
		closedir(folder);
	k->clock_reads = r;
}

static void read_disk(struct clock_disk *disk, const uint32_t *offsets, void *buffer)
{
	const uint64_t since_ns = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < READS; i++) {
		struct clock_read one = { .offset = offsets[i], .bytes = UNIT_BYTES };
		ssize_t n;

		one.begin_ns = clock_ns(CLOCK_MONOTONIC);
		if (i >= BLOCKS && one.begin_ns - since_ns > ENOUGH_NS)
			return;
		n = pread(disk->fd, buffer, UNIT_BYTES, (off_t)one.offset);
		one.end_ns = clock_ns(CLOCK_MONOTONIC);
		if (n == UNIT_BYTES)
			disk->reads[disk->n++] = one;
	}
}

static void *read_all(void *arg)
{
	struct clock_reads *r = arg;
	void *buffer = NULL;

	if (posix_memalign(&buffer, UNIT_BYTES, UNIT_BYTES))
		return NULL;
	for (unsigned i = 0; i < r->n; i++)
		read_disk(&r->disks[i], r->disks[i].offsets + r->taken * READS, buffer);
	r->taken++;
	free(buffer);
	return NULL;
}

void clock_reads_take(struct kernelio *k)
{
	struct clock_reads *r = k->clock_reads;
	struct timespec until;
	pthread_t thread;

	if (!r || !r->n || r->hangs || r->taken == TAKES ||
	    pthread_create(&thread, NULL, read_all, r))
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	if (pthread_timedjoin_np(thread, NULL, &until)) {
		r->hangs = true;
		pthread_detach(thread);
	}
}

void clock_reads_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text))
{
	const struct clock_reads *r = k->clock_reads;

	for (unsigned i = 0; r && !r->hangs && i < r->n; i++) {
		const struct clock_disk *disk = &r->disks[i];
		char text[TAKES * READS * TEXT_BYTES];
		size_t used = (size_t)snprintf(text, sizeof(text), CLOCK_READS_PREFIX "%u=%" PRIu32,
					       i, disk->dev);

		for (unsigned n = 0; n < disk->n; n++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 " %" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64,
						 disk->reads[n].offset, disk->reads[n].bytes,
						 disk->reads[n].begin_ns, disk->reads[n].end_ns);
		if (disk->n)
			put(k, text);
	}
}

void clock_reads_close(struct kernelio *k)
{
	struct clock_reads *r = k->clock_reads;

	k->clock_reads = NULL;
	if (!r || r->hangs)
		return;
	for (unsigned i = 0; i < r->n; i++)
		close(r->disks[i].fd);
	free(r);
}

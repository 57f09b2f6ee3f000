/* The pieces of a virtual disk: what the format of its image says, and where its file lies. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "eta-ext/base/search.h"
#include "extents.h"
#include "qcow2-map.h"

/* One disk that is looked at. */
struct search {
	int fd; /* of the image */
	struct extents extents;
	int (*take)(void *arg, const struct disk_piece *piece);
	void *arg;
	struct pieces_sums *sums;
};

/* The first of the extents that ends behind AT. */
static size_t find_extent(const struct extents *extents, uint64_t at)
{
	return PARTITION_POINT((size_t)0, extents->n, i,
			       extents->v[i].file + extents->v[i].bytes <= at);
}

static int take_piece(struct search *s, uint64_t guest, uint64_t at, const struct extent *in,
		      uint64_t bytes)
{
	const struct disk_piece piece = {
		.guest = guest, .image = at, .device = in->device + (at - in->file), .bytes = bytes
	};

	if (!in->placed) {
		s->sums->unplaced += bytes;
		return 0;
	}
	s->sums->pieces++;
	s->sums->bytes += bytes;
	return s->take(s->arg, &piece);
}

/* BYTES of the guest's disk that lie in the image from AT on. */
static int take_data(struct search *s, uint64_t guest, uint64_t at, uint64_t bytes)
{
	size_t i = find_extent(&s->extents, at);
	int rc = 0;

	while (rc == 0 && bytes) {
		const struct extent *e = i < s->extents.n ? &s->extents.v[i] : NULL;
		uint64_t n = bytes;

		if (e && at < e->file) {
			n = e->file - at < bytes ? e->file - at : bytes;
			s->sums->holes += n;
		} else if (e) {
			n = e->file + e->bytes - at < bytes ? e->file + e->bytes - at : bytes;
			rc = take_piece(s, guest, at, e, n);
			i++;
		} else {
			s->sums->holes += n;
		}
		guest += n;
		at += n;
		bytes -= n;
	}
	return rc;
}

static int take_run(void *arg, const struct qcow2_run *run)
{
	struct search *s = arg;

	if (run->kind == QCOW2_DATA)
		return take_data(s, run->guest, run->at, run->bytes);
	if (run->kind == QCOW2_ZERO)
		s->sums->zeros += run->bytes;
	else if (run->kind == QCOW2_COMPRESSED)
		s->sums->compressed += run->bytes;
	else
		s->sums->holes += run->bytes;
	return 0;
}

static ssize_t read_image(void *image, void *to, size_t bytes, uint64_t at)
{
	ssize_t n = pread(*(const int *)image, to, bytes, (off_t)at);

	return n < 0 ? -errno : n;
}

/* The same as below, when the extents are known. */
static int find(struct search *s, const struct vm_image *image, const char **why)
{
	off_t bytes = lseek(s->fd, 0, SEEK_END);
	struct statfs fs;
	int rc = 0;

	if (image->is_qcow2)
		rc = qcow2_map(&image->header, read_image, &s->fd, take_run, s);
	else if (bytes > 0)
		rc = take_data(s, 0, 0, (uint64_t)bytes);
	*why = rc == -EINVAL	? "its tables are damaged (qemu-img check IMAGE)"
	       : rc == -ENOTSUP ? "its data is in another file, or it has features that are not "
				  "known"
	       : rc == -EIO	? "it ends before its tables do"
				: strerror(-rc);
	s->sums->own_addresses = fstatfs(s->fd, &fs) == 0 && fs.f_type == BTRFS_SUPER_MAGIC;
	return rc;
}

int pieces_find(int fd, const struct vm_image *image,
		int (*take)(void *arg, const struct disk_piece *piece), void *arg,
		struct pieces_sums *sums, const char **why)
{
	struct search s = { .fd = fd, .take = take, .arg = arg, .sums = sums };
	int rc = extents_find(fd, &s.extents);

	*sums = (struct pieces_sums){ 0 };
	*why = rc == -EOPNOTSUPP ? "its file system does not say where files lie (FIEMAP)"
				 : strerror(-rc);
	if (rc == 0)
		rc = find(&s, image, why);
	extents_free(&s.extents);
	return rc;
}

int pieces_open(pid_t pid, const struct vm_image *image, const char **why)
{
	char path[64];
	int fd;

	*why = "QEMU does not have it open, or as another user";
	if (!image->open)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, image->descriptor);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		return fd;
	*why = strerror(errno);
	return -errno;
}

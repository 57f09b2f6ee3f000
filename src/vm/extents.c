/* Where the bytes of a file lie on the device of its file system: FIEMAP. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "extents.h"

#include <errno.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "eta-ext/base/array.h"

enum { AT_ONCE = 256 };

#define NOT_PLACED                                                                                 \
	(FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |                  \
	 FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL | FIEMAP_EXTENT_NOT_ALIGNED)

static int take(struct extents *extents, size_t *room, const struct fiemap_extent *one)
{
	bool placed = !(one->fe_flags & NOT_PLACED);
	struct extent *last = extents->n ? &extents->v[extents->n - 1] : NULL;

	/* file systems divide what is in one piece by their own units (128 MiB on ext4) */
	if (last && last->placed && placed && last->file + last->bytes == one->fe_logical &&
	    last->device + last->bytes == one->fe_physical) {
		last->bytes += one->fe_length;
		return 0;
	}
	if (!ARRAY_FITS(extents->v, extents->n + 1, *room))
		return -ENOMEM;
	extents->v[extents->n++] = (struct extent){
		.file = one->fe_logical,
		.device = placed ? one->fe_physical : 0,
		.bytes = one->fe_length,
		.placed = placed,
	};
	return 0;
}

static int whole_device(int fd, struct extents *extents)
{
	uint64_t bytes;

	if (ioctl(fd, BLKGETSIZE64, &bytes))
		return -errno;
	extents->v = malloc(sizeof(*extents->v));
	if (!extents->v)
		return -ENOMEM;
	extents->v[0] = (struct extent){ .bytes = bytes, .placed = true };
	extents->n = 1;
	return 0;
}

/* The next extents from *AT on, which moves behind them. 1: there may be more. */
static int find_more(int fd, struct fiemap *map, struct extents *extents, size_t *room,
		     uint64_t *at)
{
	bool last = false;
	int rc = 0;

	*map = (struct fiemap){
		.fm_start = *at,
		.fm_length = FIEMAP_MAX_OFFSET - *at,
		.fm_extent_count = AT_ONCE,
	};
	if (ioctl(fd, FS_IOC_FIEMAP, map))
		return -errno;
	for (uint32_t i = 0; rc == 0 && i < map->fm_mapped_extents; i++) {
		const struct fiemap_extent *one = &map->fm_extents[i];

		last = one->fe_flags & FIEMAP_EXTENT_LAST;
		if (one->fe_logical + one->fe_length <= *at)
			return -EIO; /* it does not go on */
		*at = one->fe_logical + one->fe_length;
		rc = take(extents, room, one);
	}
	return rc ? rc : map->fm_mapped_extents && !last;
}

int extents_find(int fd, struct extents *extents)
{
	struct fiemap *map;
	struct stat status;
	size_t room = 0;
	uint64_t at = 0;
	int rc;

	*extents = (struct extents){ 0 };
	if (fstat(fd, &status))
		return -errno;
	if (S_ISBLK(status.st_mode))
		return whole_device(fd, extents);
	map = malloc(sizeof(*map) + AT_ONCE * sizeof(*map->fm_extents));
	rc = map ? 1 : -ENOMEM;
	while (rc == 1)
		rc = find_more(fd, map, extents, &room, &at);
	free(map);
	if (rc)
		extents_free(extents);
	return rc;
}

void extents_free(struct extents *extents)
{
	free(extents->v);
	*extents = (struct extents){ 0 };
}

/* Which bytes of a qcow2 image hold which bytes of the guest's disk. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_QCOW2_MAP_H
#define SCI_QCOW2_MAP_H

#include <stdint.h>
#include <sys/types.h>

#include "qcow2.h"

enum qcow2_kind {
	QCOW2_DATA,	  /* in the image, from AT on */
	QCOW2_ZERO,	  /* reads as zeros, wherever it is */
	QCOW2_HOLE,	  /* not in the image: zeros, or a backing image's */
	QCOW2_COMPRESSED, /* in the image, not byte for byte */
};

struct qcow2_run {
	uint64_t guest, at, bytes;
	enum qcow2_kind kind;
};

/* How an image is read: BYTES from AT on into TO; how many, or -errno. */
typedef ssize_t qcow2_reader(void *image, void *to, size_t bytes, uint64_t at);

/*
 * Reads the tables of the active layer of an image whose header is HEADER, and gives its runs to
 * TAKE, in the order of the guest's disk, without gaps: neighbours of one kind, and one place, are
 * one run. A table is read while QEMU may write it: what it holds at the moment.
 *
 * 0; -EINVAL: the tables cannot be what the header says; -ENOTSUP: the data is in another file, or
 * the image has features that are not known; -EIO: the file ends before a table does; else what
 * READ or TAKE returned. The longest time is that of reading one table (a cluster) for each
 * cluster_bytes^2 / 8 of the disk.
 */
int qcow2_map(const struct qcow2_header *header, qcow2_reader *read, void *image,
	      int (*take)(void *arg, const struct qcow2_run *run), void *arg);

#endif

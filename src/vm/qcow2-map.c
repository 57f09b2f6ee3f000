/* The two levels of tables of a qcow2 image, as QEMU's docs/interop/qcow2.txt has them: big endian.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "qcow2-map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "qcow2-bytes.h"

#define ENTRY_OFFSET 0x00fffffffffffe00ULL
#define ENTRY_COMPRESSED (1ULL << 62)
#define ENTRY_ZERO 1ULL
#define TABLE_BYTES_MAX (32U << 20) /* QEMU's own limit for the first level */
#define FIRST_AT_ONCE 4096
#define SUBCLUSTERS 32

struct walk {
	const struct qcow2_header *header;
	qcow2_reader *read;
	void *image;
	int (*take)(void *arg, const struct qcow2_run *run);
	void *arg;
	struct qcow2_run run; /* the last one, which may grow; BYTES 0: none */
};

/* Fills TO with BYTES from AT on. */
static int read_table(const struct walk *w, void *to, size_t bytes, uint64_t at)
{
	ssize_t n = w->read(w->image, to, bytes, at);

	if (n < 0)
		return (int)n;
	return (size_t)n == bytes ? 0 : -EIO;
}

static int leave_run(struct walk *w)
{
	return w->run.bytes ? w->take(w->arg, &w->run) : 0;
}

/* BYTES more of the guest's disk, of KIND; data lies at AT. What is beyond the disk's end is none.
 */
static int add(struct walk *w, enum qcow2_kind kind, uint64_t at, uint64_t bytes)
{
	struct qcow2_run *run = &w->run;
	uint64_t guest = run->guest + run->bytes, left = w->header->bytes - guest;
	int rc;

	if (bytes > left)
		bytes = left;
	if (run->bytes && run->kind == kind && (kind != QCOW2_DATA || run->at + run->bytes == at)) {
		run->bytes += bytes;
		return 0;
	}
	rc = leave_run(w);
	*run = (struct qcow2_run){
		.guest = guest, .at = kind == QCOW2_DATA ? at : 0, .bytes = bytes, .kind = kind
	};
	return rc;
}

/* The parts of the cluster at AT, of which the bits of ALLOCATED are there, and those of ZERO
 * zeros. */
static int add_parts(struct walk *w, uint64_t at, uint32_t allocated, uint32_t zero)
{
	uint64_t bytes = w->header->cluster_bytes / SUBCLUSTERS;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < SUBCLUSTERS; i++) {
		enum qcow2_kind kind = zero >> i & 1	    ? QCOW2_ZERO
				       : allocated >> i & 1 ? QCOW2_DATA
							    : QCOW2_HOLE;

		rc = add(w, kind, at + i * bytes, bytes);
	}
	return rc;
}

/* The cluster that ENTRY of a second-level table is about. */
static int add_cluster(struct walk *w, const unsigned char *entry)
{
	uint64_t value = qcow2_u64(entry), at = value & ENTRY_OFFSET;
	uint64_t bytes = w->header->cluster_bytes;

	if (value & ENTRY_COMPRESSED)
		return add(w, QCOW2_COMPRESSED, 0, bytes);
	if (at & (bytes - 1))
		return -EINVAL;
	if (w->header->extended)
		return add_parts(w, at, qcow2_u32(entry + 12), qcow2_u32(entry + 8));
	if (value & ENTRY_ZERO && w->header->version >= 3)
		return add(w, QCOW2_ZERO, 0, bytes);
	return at ? add(w, QCOW2_DATA, at, bytes) : add(w, QCOW2_HOLE, 0, bytes);
}

/* What the second-level table at AT (0: there is none) is about: N clusters, into TABLE. */
static int add_second(struct walk *w, uint64_t at, uint64_t n, unsigned char *table)
{
	size_t step = w->header->extended ? 16 : 8;
	int rc = 0;

	if (!at)
		return add(w, QCOW2_HOLE, 0, n * w->header->cluster_bytes);
	if (at & (w->header->cluster_bytes - 1))
		return -EINVAL;
	rc = read_table(w, table, w->header->cluster_bytes, at);
	for (uint64_t i = 0; rc == 0 && i < n && w->run.guest + w->run.bytes < w->header->bytes;
	     i++)
		rc = add_cluster(w, table + i * step);
	return rc;
}

/* All of the first level, in pieces of FIRST. */
static int add_first(struct walk *w, unsigned char *first, unsigned char *second)
{
	const struct qcow2_header *h = w->header;
	uint64_t per_table = h->cluster_bytes / (h->extended ? 16 : 8);
	uint64_t n = h->bytes / h->cluster_bytes / per_table +
		     (h->bytes % (h->cluster_bytes * per_table) != 0);
	int rc = 0;

	if (h->l1_entries < n || h->l1_entries > TABLE_BYTES_MAX / 8)
		return -EINVAL;
	for (uint64_t i = 0; rc == 0 && i < n; i++) {
		size_t place = i % FIRST_AT_ONCE;
		uint64_t left = n - i < FIRST_AT_ONCE ? n - i : FIRST_AT_ONCE;

		if (place == 0)
			rc = read_table(w, first, left * 8, h->l1_at + i * 8);
		if (rc == 0)
			rc = add_second(w, qcow2_u64(first + place * 8) & ENTRY_OFFSET, per_table,
					second);
	}
	return rc ? rc : leave_run(w);
}

int qcow2_map(const struct qcow2_header *header, qcow2_reader *read, void *image,
	      int (*take)(void *arg, const struct qcow2_run *run), void *arg)
{
	struct walk w = {
		.header = header, .read = read, .image = image, .take = take, .arg = arg
	};
	unsigned char *first, *second;
	int rc;

	if (header->unknown)
		return -ENOTSUP;
	first = malloc(FIRST_AT_ONCE * 8);
	second = malloc(header->cluster_bytes);
	rc = first && second ? add_first(&w, first, second) : -ENOMEM;
	free(first);
	free(second);
	return rc;
}

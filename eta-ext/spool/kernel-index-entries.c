/* The entries of a kernel spool's index: memory that is a file, and sorting without any. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "eta-ext/base/folder.h"
#include "kernel-index.h"

/* Memory that is a file, so that the index of a long trace can leave memory. */
int index_map(const struct eta_trace *trace, struct spool_index *index)
{
	const char *dir;
	size_t bytes = index->n_entries * sizeof(*index->entries);
	void *at;
	int fd, rc = 0;

	if (bytes == 0)
		return 0;
	fd = folder_temporary("/var/tmp", &dir);
	if (fd < 0)
		rc = fd;
	/* reserved: a store into a hole on a full disk would be a SIGBUS */
	if (rc == 0)
		rc = -posix_fallocate(fd, 0, (off_t)bytes);
	if (rc == 0) {
		at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (at == MAP_FAILED)
			rc = -errno;
		else
			index->entries = at;
	}
	if (rc)
		eta_error("%s: no temporary file of %zu bytes for the index of %s: %s (set TMPDIR)",
			  dir, bytes, trace->path, strerror(-rc));
	if (fd >= 0)
		close(fd);
	return rc;
}

void index_unmap(struct spool_index *index)
{
	if (index->entries)
		munmap(index->entries, index->n_entries * sizeof(*index->entries));
	index->entries = NULL;
}

void index_release(const struct spool_index *index, uint64_t from, uint64_t to)
{
	const uintptr_t page = 4096;
	uintptr_t begin = (uintptr_t)(index->entries + from);
	uintptr_t end = (uintptr_t)(index->entries + to) & ~(page - 1);

	begin = (begin + page - 1) & ~(page - 1);
	if (begin < end)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static bool before(const struct index_entry *a, const struct index_entry *b)
{
	return a->time_ns != b->time_ns ? a->time_ns < b->time_ns : a->unit < b->unit;
}

static void sift(struct index_entry *entries, uint64_t at, uint64_t n)
{
	struct index_entry moved = entries[at];
	uint64_t child;

	while ((child = 2 * at + 1) < n) {
		child += child + 1 < n && before(&entries[child], &entries[child + 1]);
		if (!before(&moved, &entries[child]))
			break;
		entries[at] = entries[child];
		at = child;
	}
	entries[at] = moved;
}

static void heap_sort(struct index_entry *entries, uint64_t n)
{
	for (uint64_t i = n / 2; i-- > 0;)
		sift(entries, i, n);
	for (uint64_t i = n; i-- > 1;) {
		struct index_entry largest = entries[0];

		entries[0] = entries[i];
		entries[i] = largest;
		sift(entries, 0, i);
	}
}

/*
 * In place and without memory of its own (qsort takes half the array): insertion, which costs next
 * to nothing on what is nearly sorted, until it turns out not to be.
 */
void index_sort(const struct spool_index *index, struct index_slice slice)
{
	struct index_entry *entries = index->entries + slice.first;
	uint64_t moves = 0;

	for (uint64_t i = 1; i < slice.n; i++) {
		struct index_entry entry = entries[i];
		uint64_t at = i;

		while (at > 0 && before(&entry, &entries[at - 1])) {
			entries[at] = entries[at - 1];
			at--;
		}
		entries[at] = entry;
		moves += i - at;
		if (moves > 32 * slice.n) {
			heap_sort(entries, slice.n);
			break;
		}
	}
	index_release(index, slice.first, slice.first + slice.n);
}

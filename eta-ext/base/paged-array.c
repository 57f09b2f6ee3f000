/* Arrays that grow with what was recorded: once they are large they are mapped temporary files. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "paged-array.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "folder.h"

enum {
	HEAD_BYTES = 4096, /* before the array: struct head, so that this is aligned as by malloc */
	FILE_BYTES = 1 << 20 /* smaller ones are in memory */
};

struct head {
	size_t bytes; /* mapped, the head included */
	int fd;	      /* -1: memory */
};

static struct head *head_of(void *array)
{
	return array ? (struct head *)((char *)array - HEAD_BYTES) : NULL;
}

/* A new file with room for BYTES, -1: none. A store into a hole of a full disk would be a signal.
 */
static int make_file(size_t bytes)
{
	const char *dir;
	int fd = folder_temporary("/tmp", &dir);

	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)bytes) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static struct head *map(int fd, size_t bytes)
{
	struct head *head = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				 fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (head == MAP_FAILED)
		return NULL;
	head->bytes = bytes;
	head->fd = fd;
	return head;
}

static void unmap(struct head *head)
{
	int fd = head->fd;

	munmap(head, head->bytes);
	if (fd >= 0)
		close(fd);
}

/* OLD (NULL: none) with room for BYTES; NULL: no memory, and OLD is as before. */
static struct head *resize(struct head *old, size_t bytes)
{
	struct head *head = NULL;
	int fd = -1;

	if (old && old->fd >= 0 && fallocate(old->fd, 0, 0, (off_t)bytes) == 0) {
		head = mremap(old, old->bytes, bytes, MREMAP_MAYMOVE);
		if (head == MAP_FAILED)
			return NULL;
		head->bytes = bytes;
		return head;
	}
	if (bytes >= FILE_BYTES && !(old && old->fd >= 0))
		fd = make_file(bytes);
	head = map(fd, bytes);
	if (!head && fd >= 0)
		close(fd);
	if (head && old) {
		memcpy((char *)head + HEAD_BYTES, (char *)old + HEAD_BYTES,
		       old->bytes - HEAD_BYTES);
		unmap(old);
	}
	return head;
}

struct grown_array paged_grow(void *array, size_t room, size_t n, size_t bytes, size_t max)
{
	struct grown_array grown = { .elements = room ? room * 2 : HEAD_BYTES / bytes };
	struct head *head;
	size_t whole;

	if (grown.elements < n)
		grown.elements = n;
	if (grown.elements > max || __builtin_mul_overflow(grown.elements, bytes, &whole) ||
	    __builtin_add_overflow(whole, HEAD_BYTES, &whole) || whole > SIZE_MAX / 2)
		return grown;
	head = resize(head_of(array), whole);
	grown.at = head ? (char *)head + HEAD_BYTES : NULL;
	return grown;
}

void paged_free(void *array)
{
	if (array)
		unmap(head_of(array));
}

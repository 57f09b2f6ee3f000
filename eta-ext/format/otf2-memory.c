/* Memory of libotf2's buffers: some chunks for each, used again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "otf2-memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct buffer {
	struct chunk {
		void *at;
		size_t bytes;
	} chunks[OTF2_MEMORY_CHUNKS];
	unsigned n, used;
};

/*
 * NULL makes libotf2 write what the buffer holds, free all of it and ask again. Mapped, since under
 * EZTrace the allocator is the program's.
 */
static void *allocate(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **data,
		      uint64_t bytes)
{
	const unsigned *max = arg;
	struct buffer *buffer = *data;

	(void)type;
	(void)location;
	if (!buffer)
		buffer = *data = calloc(1, sizeof(*buffer));
	if (!buffer)
		return NULL;
	if (buffer->used == buffer->n) {
		void *chunk = buffer->n < *max ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
						      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
					       : MAP_FAILED;

		if (chunk == MAP_FAILED)
			return NULL;
		buffer->chunks[buffer->n++] = (struct chunk){ chunk, bytes };
	}
	return buffer->chunks[buffer->used++].at;
}

static void free_all(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **data,
		     bool final)
{
	struct buffer *buffer = *data;

	(void)arg;
	(void)type;
	(void)location;
	if (!buffer)
		return;
	buffer->used = 0;
	if (!final)
		return;
	while (buffer->n > 0) {
		buffer->n--;
		munmap(buffer->chunks[buffer->n].at, buffer->chunks[buffer->n].bytes);
	}
	free(buffer);
	*data = NULL;
}

OTF2_ErrorCode otf2_memory_bound(OTF2_Archive *archive, unsigned chunks)
{
	static const OTF2_MemoryCallbacks callbacks = { .otf2_allocate = allocate,
							.otf2_free_all = free_all };
	static const unsigned counts[] = { 0, 1, 2, 3, OTF2_MEMORY_CHUNKS };

	return OTF2_Archive_SetMemoryCallbacks(archive, &callbacks, (void *)&counts[chunks]);
}

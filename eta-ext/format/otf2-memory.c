/* Memory of libotf2's buffers: some chunks for each, used again. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "otf2-memory.h"

#include <stdint.h>
#include <stdlib.h>

struct buffer {
	void *chunks[OTF2_MEMORY_CHUNKS];
	unsigned n, used;
};

/* NULL makes libotf2 write what the buffer holds, free all of it and ask again. */
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
		void *chunk = buffer->n < *max ? malloc(bytes) : NULL;

		if (!chunk)
			return NULL;
		buffer->chunks[buffer->n++] = chunk;
	}
	return buffer->chunks[buffer->used++];
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
	while (buffer->n > 0)
		free(buffer->chunks[--buffer->n]);
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

/* Memory of libotf2's buffers in an EZTrace archive: one chunk for each, reused. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "defs.h"

/*
 * By default libotf2 frees a chunk when it was written and takes a new one from the system, whose
 * pages all fault. A buffer that gets no second chunk is written, and then continues with the
 * first.
 */
struct buffer {
	void *chunk;
	size_t bytes;
	bool used;
};

static void *chunk_allocate(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **data,
			    uint64_t bytes)
{
	struct buffer *buffer = *data;

	(void)arg;
	(void)type;
	(void)location;
	if (!buffer) {
		buffer = calloc(1, sizeof(*buffer));
		if (!buffer)
			return NULL;
		*data = buffer;
	}
	if (buffer->used)
		return NULL;
	if (!buffer->chunk) {
		void *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);

		if (chunk == MAP_FAILED)
			return NULL;
		buffer->chunk = chunk;
		buffer->bytes = bytes;
	}
	buffer->used = true;
	return buffer->chunk;
}

static void chunk_free_all(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **data,
			   bool final)
{
	struct buffer *buffer = *data;

	(void)arg;
	(void)type;
	(void)location;
	if (!buffer)
		return;
	buffer->used = false;
	if (!final)
		return;
	if (buffer->chunk)
		munmap(buffer->chunk, buffer->bytes);
	free(buffer);
	*data = NULL;
}

void eztrace_memory(OTF2_Archive *archive)
{
	static const OTF2_MemoryCallbacks callbacks = { chunk_allocate, chunk_free_all };

	OTF2_Archive_SetMemoryCallbacks(archive, &callbacks, NULL);
}

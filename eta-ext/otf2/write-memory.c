/* OTF2 writer: how much memory each location may take before its events go to the file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write.h"

#include <stdlib.h>

/*
 * Left to itself libotf2 keeps up to 128 MiB of each location. Few chunks are enough to write in
 * large pieces, and used again they cost no page faults.
 */
enum { CHUNKS = 4 };

struct chunks {
	void *chunk[CHUNKS];
	unsigned n, used;
};

/* NULL makes libotf2 write what the buffer holds, free all of it and ask again. */
static void *allocate(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
		      uint64_t bytes)
{
	struct chunks *chunks = *buffer;

	(void)arg;
	(void)type;
	(void)location;
	if (!chunks)
		chunks = *buffer = calloc(1, sizeof(*chunks));
	if (!chunks)
		return NULL;
	if (chunks->used == chunks->n) {
		void *chunk = chunks->n < CHUNKS ? malloc(bytes) : NULL;

		if (!chunk)
			return NULL;
		chunks->chunk[chunks->n++] = chunk;
	}
	return chunks->chunk[chunks->used++];
}

static void free_all(void *arg, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
		     bool final)
{
	struct chunks *chunks = *buffer;

	(void)arg;
	(void)type;
	(void)location;
	if (!chunks)
		return;
	chunks->used = 0;
	if (!final)
		return;
	while (chunks->n > 0)
		free(chunks->chunk[--chunks->n]);
	free(chunks);
	*buffer = NULL;
}

OTF2_ErrorCode write_otf2_bound_memory(OTF2_Archive *archive)
{
	static const OTF2_MemoryCallbacks memory = { .otf2_allocate = allocate,
						     .otf2_free_all = free_all };

	return OTF2_Archive_SetMemoryCallbacks(archive, &memory, NULL);
}

/* OTF2 source: files of events that are cut short. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read-cursor.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * libotf2 3.0.2 reads a chunk into the memory of the one before it and goes on behind the end of a
 * file that is cut short: what it then takes for an event may have some thousand million
 * attributes, which take it minutes. So the whole events are counted here. Of its form: a chunk
 * begins with its type, a byte order, the numbers of its first and last event; the last one ends
 * with the end of the chunk and that of the file. A record is its type, how long it is (a byte, or
 * 255 and eight) and that many bytes; but for a time, which is eight.
 */
enum { CHUNK_HEAD = 3, CHUNK_END = 2, FILE_END = 1, TIME = 5, ATTRIBUTES = 6, OWN_ORDER = 0x42 };
enum { HEAD_BYTES = 18, TIME_BYTES = 8, LONG_RECORD = 255 };

/* How many events are whole in the N bytes of a chunk's beginning. */
static uint64_t whole_events(const unsigned char *chunk, size_t n)
{
	uint64_t events = 0, bytes;
	size_t at = HEAD_BYTES;

	while (at + 2 <= n && chunk[at] != CHUNK_END) {
		unsigned char type = chunk[at++];

		if (type == TIME) {
			at += TIME_BYTES;
			continue;
		}
		bytes = chunk[at++];
		if (bytes == LONG_RECORD && n - at >= sizeof(bytes)) {
			memcpy(&bytes, chunk + at, sizeof(bytes));
			at += sizeof(bytes);
		}
		if (bytes > n - at)
			break;
		at += bytes;
		events += type > ATTRIBUTES;
	}
	return events;
}

/* Is the file of SIZE bytes as it was written? Full chunks may be, too. */
static bool ends(int fd, off_t size, uint64_t chunk_bytes)
{
	unsigned char tail[2];

	return size < HEAD_BYTES || (uint64_t)size % chunk_bytes == 0 ||
	       pread(fd, tail, sizeof(tail), size - 2) != sizeof(tail) ||
	       (tail[0] == CHUNK_END && tail[1] == FILE_END);
}

static uint64_t events_of(int fd, uint64_t chunk_bytes)
{
	uint64_t begin, first, good = UINT64_MAX;
	unsigned char *chunk;
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || ends(fd, st.st_size, chunk_bytes))
		return good;
	begin = (uint64_t)st.st_size / chunk_bytes * chunk_bytes;
	/* cut in the head of a chunk: it has none */
	if (begin && (uint64_t)st.st_size - begin < HEAD_BYTES)
		begin -= chunk_bytes;
	chunk = malloc(chunk_bytes);
	n = chunk ? pread(fd, chunk, chunk_bytes, (off_t)begin) : 0;
	if (n >= HEAD_BYTES && chunk[0] == CHUNK_HEAD && chunk[1] == OWN_ORDER) {
		memcpy(&first, chunk + 2, sizeof(first));
		/* an event takes more than a byte: a number beyond that is damage */
		good = first - 1 > (uint64_t)begin ? 0 : first - 1 + whole_events(chunk, (size_t)n);
	}
	free(chunk);
	return good;
}

uint64_t otf2_whole_events(const struct otf2_cursor *c)
{
	uint64_t chunk_bytes = 0, definitions, good;
	char path[PATH_MAX];
	int fd;

	if (OTF2_Reader_GetChunkSize(c->reader, &chunk_bytes, &definitions) != OTF2_SUCCESS ||
	    chunk_bytes < HEAD_BYTES || chunk_bytes > OTF2_CHUNK_SIZE_MAX)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "%s/%" PRIu64 ".evt", c->otf2->base, c->id);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return UINT64_MAX;
	good = events_of(fd, chunk_bytes);
	close(fd);
	return good;
}

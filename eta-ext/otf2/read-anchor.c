/* OTF2 source: is what an anchor file promises in it? libotf2 believes its numbers. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read.h"

/*
 * One chunk: its head and the order of its bytes, "OTF2", the versions of format and library, then
 * at 12 the sizes of chunks of events and of definitions, at 30 the numbers of locations and of
 * definitions, at 46 machine, creator and description, the number of properties, each a name and a
 * value, the id of the trace, the numbers of thumbnails and of snapshots.
 */
enum {
	AT_EVENT_CHUNK = 12,
	AT_DEF_CHUNK = 20,
	AT_STRINGS = 46,
	ANCHOR_MAX = 64 << 20,
	CHUNK_MAX = 16 << 20, /* as libotf2 has it */
	N_STRINGS = 3,
	TAIL_BYTES = 16,
	CHUNK_HEAD = 3,
};

struct anchor {
	const unsigned char *at, *end;
	bool little;
};

/* N bytes as a number, or 0 behind the end. */
static uint64_t take_number(struct anchor *a, size_t n)
{
	uint64_t number = 0;

	if ((size_t)(a->end - a->at) < n) {
		a->at = a->end;
		return 0;
	}
	for (size_t i = 0; i < n; i++)
		number |= (uint64_t)a->at[a->little ? i : n - 1 - i] << (8 * i);
	a->at += n;
	return number;
}

static bool skip_string(struct anchor *a)
{
	const unsigned char *zero = memchr(a->at, 0, (size_t)(a->end - a->at));

	if (zero)
		a->at = zero + 1;
	return zero;
}

/* What is wrong with the N bytes of an anchor file; NULL: nothing. WHAT: room for it. */
static const char *check(const unsigned char *bytes, size_t n, char *what, size_t room)
{
	struct anchor a = { bytes + AT_EVENT_CHUNK, bytes + n, bytes[1] == 'B' };
	uint64_t chunks[2], properties, i;

	if (bytes[0] != CHUNK_HEAD)
		return "it does not begin as one does";
	chunks[0] = take_number(&a, AT_DEF_CHUNK - AT_EVENT_CHUNK);
	chunks[1] = take_number(&a, 8);
	for (i = 0; i < 2; i++)
		if (chunks[i] > CHUNK_MAX) {
			snprintf(what, room, "chunks of %" PRIu64 " bytes", chunks[i]);
			return what;
		}
	a.at = bytes + AT_STRINGS;
	for (i = 0; i < N_STRINGS; i++)
		if (!skip_string(&a))
			return "it ends within its names";
	properties = take_number(&a, 4);
	for (i = 0; i < properties && skip_string(&a) && skip_string(&a); i++)
		;
	if (i < properties) {
		snprintf(what, room,
			 "it says that it has %" PRIu64 " properties, and ends after %" PRIu64,
			 properties, i);
		return what;
	}
	return a.end - a.at < TAIL_BYTES ? "it ends too early" : NULL;
}

int otf2_check_anchor(const char *path, const char *remedy)
{
	FILE *file = fopen(path, "re");
	unsigned char *bytes = NULL;
	const char *wrong = NULL;
	size_t n = 0, room = 4096;
	char what[128];
	int rc = 0;

	if (!file) {
		rc = -errno;
		eta_error("%s: cannot open: %s", path, strerror(-rc));
		return rc;
	}
	do {
		unsigned char *more = realloc(bytes, room *= 2);

		if (!more) {
			rc = -ENOMEM;
			eta_error("%s: not enough memory to read it", path);
			goto out;
		}
		bytes = more;
		n += fread(bytes + n, 1, room - n, file);
	} while (n == room && n < ANCHOR_MAX);
	if (ferror(file)) {
		rc = -EIO;
		eta_error("%s: cannot be read", path);
		goto out;
	}
	wrong = n < AT_STRINGS	  ? "it is too short"
		: n >= ANCHOR_MAX ? "it is longer than any"
				  : check(bytes, n, what, sizeof(what));
	if (wrong) {
		rc = -EBADMSG;
		eta_error("%s: damaged anchor file: %s %s", path, wrong, remedy);
	}
out:
	free(bytes);
	fclose(file);
	return rc;
}

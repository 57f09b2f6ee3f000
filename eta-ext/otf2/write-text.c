/* OTF2 writer: texts as an archive may have them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/printable.h"
#include "write.h"

/* A definition larger than a chunk, WRITE_CHUNK_BYTES, makes libotf2 give up the archive. */
enum {
	TEXT_MAX_BYTES = 64 << 10,
	MORE_BYTES = 64,
};

/* How many of the N bytes of TEXT are written: all, or the first up to the end of a character. */
static size_t kept(const char *text, size_t n)
{
	size_t keep = TEXT_MAX_BYTES;

	if (n <= TEXT_MAX_BYTES)
		return n;
	while (keep > TEXT_MAX_BYTES - 4 && ((unsigned char)text[keep] & 0xc0) == 0x80)
		keep--;
	return keep;
}

static bool is_utf8(const char *text, size_t n)
{
	size_t used;

	for (; n > 0; text += used, n -= used)
		if (printable_decode(text, n, &used) < 0)
			return false;
	return true;
}

const char *write_otf2_text(const char *text, char **own)
{
	const size_t n = strlen(text), keep = kept(text, n);
	char *to;

	*own = NULL;
	if (keep == n && is_utf8(text, n))
		return text;
	to = *own =
		malloc(keep * (PRINTABLE_STEP - 1) / PRINTABLE_BYTES + PRINTABLE_STEP + MORE_BYTES);
	if (!to)
		return NULL;
	for (size_t at = 0, used; at < keep; at += used) {
		if (printable_decode(text + at, keep - at, &used) < 0) {
			/* no character: as it is shown, its one byte */
			printable_step(text + at, keep - at, to);
			to += strlen(to);
		} else {
			memcpy(to, text + at, used);
			to += used;
		}
	}
	*to = '\0';
	if (keep < n)
		snprintf(to, MORE_BYTES, "... (%zu bytes more)", n - keep);
	return *own;
}

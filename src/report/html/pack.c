/* A stream whose bytes become gzip, then base64: data inside of a page. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "pack.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define WINDOW_OF_GZIP (15 + 16) /* the largest window, and gzip's header (zlib.h) */
#define PACKED_BYTES 49152	 /* a multiple of 3: only the last part is padded */

struct pack {
	FILE *out;
	z_stream z;
	unsigned char packed[PACKED_BYTES];
};

/* Writes N bytes as base64; padded unless N is a multiple of 3. */
static int put_base64(FILE *out, const unsigned char *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	char text[4];

	for (size_t i = 0; i < n; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16 |
				 (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (i + 2 < n ? bytes[i + 2] : 0);

		for (int d = 0; d < 4; d++)
			text[d] = digits[three >> (18 - 6 * d) & 63];
		if (i + 2 >= n)
			text[3] = '=';
		if (i + 1 >= n)
			text[2] = '=';
		if (fwrite(text, 1, sizeof(text), out) != sizeof(text))
			return -EIO;
	}
	return 0;
}

/* Whatever zlib has ready, as far as it fills the buffer; all of it with Z_FINISH. */
static int deflate_all(struct pack *p, int flush)
{
	int rc;

	do {
		rc = deflate(&p->z, flush);
		if (rc == Z_STREAM_ERROR)
			return -EIO;
		if (p->z.avail_out == 0) {
			if (put_base64(p->out, p->packed, PACKED_BYTES))
				return -EIO;
			p->z.next_out = p->packed;
			p->z.avail_out = PACKED_BYTES;
		}
	} while (flush == Z_FINISH ? rc != Z_STREAM_END : p->z.avail_in > 0);
	return 0;
}

static ssize_t pack_write(void *cookie, const char *bytes, size_t n)
{
	struct pack *p = cookie;

	p->z.next_in = (unsigned char *)(uintptr_t)bytes;
	p->z.avail_in = (unsigned)n;
	return deflate_all(p, Z_NO_FLUSH) ? 0 : (ssize_t)n;
}

static int pack_close(void *cookie)
{
	struct pack *p = cookie;
	int rc = deflate_all(p, Z_FINISH);

	if (!rc)
		rc = put_base64(p->out, p->packed, PACKED_BYTES - p->z.avail_out);
	deflateEnd(&p->z);
	free(p);
	return rc ? EOF : 0;
}

FILE *pack_open(FILE *out)
{
	struct pack *p = calloc(1, sizeof(*p));
	FILE *f;

	if (!p)
		return NULL;
	p->out = out;
	p->z.next_out = p->packed;
	p->z.avail_out = PACKED_BYTES;
	if (deflateInit2(&p->z, 3, Z_DEFLATED, WINDOW_OF_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(p);
		return NULL;
	}
	f = fopencookie(p, "w",
			(cookie_io_functions_t){ .write = pack_write, .close = pack_close });
	if (!f) {
		deflateEnd(&p->z);
		free(p);
	}
	return f;
}

/* A stream whose bytes become gzip, then base64: data inside of a page. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "pack.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define WINDOW_OF_GZIP (15 + 16) /* the largest window, and gzip's header (zlib.h) */
#define PACKED_BYTES 49152	 /* a multiple of 3: only the last part is padded */
#define BLOCK_BYTES 65536	 /* what is handed over to be packed at once */
#define LEVEL 2			 /* 3 takes half as long again for a page that is 3 % smaller */

/*
 * Packing takes a quarter of the time of writing a page: a thread does it, while the next block is
 * written.
 */
struct pack {
	FILE *out;
	z_stream z;
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock: the block that is being packed, its bytes (0: none) and what came of it
	 */
	unsigned char block[BLOCK_BYTES];
	size_t n;
	bool last, failed;
	unsigned char packed[PACKED_BYTES];
	char text[PACKED_BYTES / 3 * 4]; /* the same as base64 */
};

/* Writes the first N packed bytes as base64; padded unless N is a multiple of 3. */
static int put_base64(struct pack *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";
	const unsigned char *bytes = p->packed;
	char *text = p->text;

	for (size_t i = 0; i < n; i += 3, text += 4) {
		uint32_t three = (uint32_t)bytes[i] << 16 |
				 (i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (i + 2 < n ? bytes[i + 2] : 0);

		for (int d = 0; d < 4; d++)
			text[d] = digits[three >> (18 - 6 * d) & 63];
		if (i + 2 >= n)
			text[3] = '=';
		if (i + 1 >= n)
			text[2] = '=';
	}
	n = (size_t)(text - p->text);
	return fwrite(p->text, 1, n, p->out) == n ? 0 : -EIO;
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
			if (put_base64(p, PACKED_BYTES))
				return -EIO;
			p->z.next_out = p->packed;
			p->z.avail_out = PACKED_BYTES;
		}
	} while (flush == Z_FINISH ? rc != Z_STREAM_END : p->z.avail_in > 0);
	return 0;
}

static int deflate_bytes(struct pack *p, const unsigned char *bytes, size_t n)
{
	p->z.next_in = (unsigned char *)(uintptr_t)bytes;
	p->z.avail_in = (unsigned)n;
	return deflate_all(p, Z_NO_FLUSH);
}

static void *pack_blocks(void *arg)
{
	struct pack *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		bool failed;

		while (p->n == 0 && !p->last)
			pthread_cond_wait(&p->changed, &p->lock);
		if (p->n == 0)
			break;
		failed = p->failed;
		pthread_mutex_unlock(&p->lock);
		/* nobody else touches the block while it has bytes */
		if (!failed)
			failed = deflate_bytes(p, p->block, p->n) != 0;
		pthread_mutex_lock(&p->lock);
		p->failed = failed;
		p->n = 0;
		pthread_cond_signal(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* Hands N bytes over, at most a block, once the block before is packed. */
static bool pack_hand_over(struct pack *p, const char *bytes, size_t n)
{
	bool good;

	pthread_mutex_lock(&p->lock);
	while (p->n)
		pthread_cond_wait(&p->changed, &p->lock);
	good = !p->failed;
	memcpy(p->block, bytes, n);
	p->n = n;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
	return good;
}

static ssize_t pack_write(void *cookie, const char *bytes, size_t n)
{
	struct pack *p = cookie;

	if (!p->has_thread)
		return deflate_bytes(p, (const unsigned char *)bytes, n) ? 0 : (ssize_t)n;
	if (n > BLOCK_BYTES)
		n = BLOCK_BYTES;
	return pack_hand_over(p, bytes, n) ? (ssize_t)n : 0;
}

static void pack_free(struct pack *p)
{
	deflateEnd(&p->z);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int pack_close(void *cookie)
{
	struct pack *p = cookie;
	int rc;

	if (p->has_thread) {
		pthread_mutex_lock(&p->lock);
		p->last = true;
		pthread_cond_signal(&p->changed);
		pthread_mutex_unlock(&p->lock);
		pthread_join(p->thread, NULL);
	}
	rc = p->failed ? -EIO : deflate_all(p, Z_FINISH);
	if (!rc)
		rc = put_base64(p, PACKED_BYTES - p->z.avail_out);
	pack_free(p);
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
	if (deflateInit2(&p->z, LEVEL, Z_DEFLATED, WINDOW_OF_GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(p);
		return NULL;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	f = fopencookie(p, "w",
			(cookie_io_functions_t){ .write = pack_write, .close = pack_close });
	if (!f) {
		pack_free(p);
		return NULL;
	}
	setvbuf(f, NULL, _IOFBF, BLOCK_BYTES);
	__fsetlocking(f, FSETLOCKING_BYCALLER); /* one thread writes, a character at a time */
	/* without one, where there may be no more, whoever writes packs */
	p->has_thread = pthread_create(&p->thread, NULL, pack_blocks, p) == 0;
	return f;
}

/* Numbers as bytes, from one process of an analysis to another. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"

#define MOST_BYTES 10 /* of a number: 7 bits in each */

static void put_bytes(struct packet *p, const void *bytes, size_t n)
{
	if (p->rc)
		return;
	if (!ARRAY_FITS(p->bytes, p->n + n, p->room)) {
		p->rc = -ENOMEM;
		return;
	}
	if (n)
		memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

void packet_put(struct packet *p, uint64_t number)
{
	unsigned char bytes[MOST_BYTES];
	size_t n = 0;

	do {
		bytes[n++] = (unsigned char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		number >>= 7;
	} while (number);
	put_bytes(p, bytes, n);
}

/* The sign is the lowest bit, so that small negative numbers are short, too. */
void packet_put_signed(struct packet *p, int64_t number)
{
	packet_put(p, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

void packet_put_wide(struct packet *p, unsigned __int128 number)
{
	packet_put(p, (uint64_t)number);
	packet_put(p, (uint64_t)(number >> 64));
}

void packet_put_list(struct packet *p, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		packet_put(p, numbers[i]);
}

void packet_put_text(struct packet *p, const char *text)
{
	size_t n = text ? strlen(text) + 1 : 0;

	packet_put(p, n);
	put_bytes(p, text, n);
}

uint64_t packet_take(struct packet *p)
{
	uint64_t number = 0;
	unsigned shift = 0;

	for (; !p->rc && p->at < p->n && shift < 64; shift += 7) {
		unsigned char byte = p->bytes[p->at++];

		number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return number;
	}
	p->rc = p->rc ? p->rc : -EBADMSG;
	return 0;
}

int64_t packet_take_signed(struct packet *p)
{
	uint64_t number = packet_take(p);

	return (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

unsigned __int128 packet_take_wide(struct packet *p)
{
	uint64_t low = packet_take(p);

	return (unsigned __int128)packet_take(p) << 64 | low;
}

void packet_take_list(struct packet *p, uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		numbers[i] = packet_take(p);
}

uint32_t packet_take_below(struct packet *p, uint64_t end)
{
	uint64_t number = packet_take(p);

	if (number < end)
		return (uint32_t)number;
	p->rc = p->rc ? p->rc : -EBADMSG;
	return 0;
}

char *packet_take_text(struct packet *p)
{
	uint64_t n = packet_take(p);
	char *text;

	if (n == 0)
		return NULL;
	if (n > p->n - p->at || p->bytes[p->at + n - 1]) {
		p->rc = -EBADMSG;
		return NULL;
	}
	text = strdup((const char *)p->bytes + p->at);
	p->at += n;
	if (!text)
		p->rc = -ENOMEM;
	return text;
}

void packet_free(struct packet *p)
{
	free(p->bytes);
	*p = (struct packet){ 0 };
}

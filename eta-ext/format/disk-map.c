/* Where the bytes of a virtual machine's disk lie: a short text of many pieces, and back. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "disk-map.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/search.h"

/*
 * A piece is three or four numbers, in units: the gap to the piece before, twice, plus one where it
 * does not go on in the image as it does in the guest; then, if so, how far it jumps there; how far
 * on the device; its length. A number is its lowest 5 bits first, a character for each 5, 32 added
 * where more follow. What goes on takes 3 characters, what lies anywhere on a disk of 1 TB 8.
 */
static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
enum { DIGIT_BITS = 5, MORE = 32, NUMBER_MAX = 13, PIECE_MAX = 4 * NUMBER_MAX };
#define UNIT_MAX (UINT64_C(1) << 20)
/* Places up to here can be added and compared. */
#define PLACE_MAX (UINT64_C(1) << 61)

int disk_map_add(struct disk_map *map, const struct disk_piece *piece)
{
	if (!ARRAY_FITS(map->v, map->n + 1, map->room))
		return -ENOMEM;
	map->v[map->n++] = *piece;
	return 0;
}

void disk_map_free(struct disk_map *map)
{
	free(map->v);
	*map = (struct disk_map){ 0 };
}

size_t disk_map_find(const struct disk_map *map, uint64_t at)
{
	return PARTITION_POINT((size_t)0, map->n, i, map->v[i].guest + map->v[i].bytes <= at);
}

static int by_image(const void *a, const void *b)
{
	const struct disk_piece *x = a, *y = b;

	return (x->image > y->image) - (x->image < y->image);
}

void disk_map_sort_by_image(struct disk_map *map)
{
	if (map->n)
		qsort(map->v, map->n, sizeof(*map->v), by_image);
}

bool disk_map_guest_of(const struct disk_map *map, uint64_t image, uint64_t *guest)
{
	size_t low; /* the first one that begins behind IMAGE */

	low = PARTITION_POINT((size_t)0, map->n, i, map->v[i].image <= image);
	if (!low || image - map->v[low - 1].image >= map->v[low - 1].bytes)
		return false;
	*guest = map->v[low - 1].guest + (image - map->v[low - 1].image);
	return true;
}

/* ---- to text ---- */

uint64_t disk_map_unit(const struct disk_map *map)
{
	uint64_t bits = UNIT_MAX;

	for (size_t i = 0; i < map->n; i++)
		bits |= map->v[i].guest | map->v[i].image | map->v[i].device | map->v[i].bytes;
	return bits & -bits;
}

static char *put_number(char *to, uint64_t number)
{
	do {
		unsigned low = number & (MORE - 1);

		number >>= DIGIT_BITS;
		*to++ = digits[low + (number ? MORE : 0)];
	} while (number);
	return to;
}

/* A number with a sign, small where it is near 0. */
static uint64_t folded(uint64_t to, uint64_t from)
{
	return to >= from ? (to - from) << 1 : ((from - to) << 1) - 1;
}

static size_t put_piece(char *to, const struct disk_piece *last, const struct disk_piece *piece,
			uint64_t unit)
{
	uint64_t gap = piece->guest - (last->guest + last->bytes);
	uint64_t expected = last->image + last->bytes + gap;
	char *at = put_number(to, gap / unit << 1 | (piece->image != expected));

	if (piece->image != expected)
		at = put_number(at, folded(piece->image / unit, expected / unit));
	at = put_number(at, folded(piece->device / unit, (last->device + last->bytes) / unit));
	at = put_number(at, piece->bytes / unit);
	return (size_t)(at - to);
}

size_t disk_map_write(const struct disk_map *map, uint64_t unit, uint64_t least, size_t chunk,
		      void (*put)(void *arg, unsigned number, const char *text), void *arg,
		      unsigned *chunks)
{
	struct disk_piece last = { 0 };
	char text[4096], piece[PIECE_MAX];
	size_t used = 0, all = 0;

	if (chunk > sizeof(text))
		chunk = sizeof(text);
	*chunks = 0;
	for (size_t i = 0; i < map->n; i++) {
		size_t n;

		if (map->v[i].bytes < least)
			continue;
		n = put_piece(piece, &last, &map->v[i], unit);
		last = map->v[i];
		if (used + n >= chunk) {
			text[used] = '\0';
			if (put)
				put(arg, *chunks, text);
			++*chunks;
			used = 0;
		}
		memcpy(text + used, piece, n);
		used += n;
		all += n;
	}
	if (!used)
		return all;
	text[used] = '\0';
	if (put)
		put(arg, *chunks, text);
	++*chunks;
	return all;
}

/* ---- from text ---- */

static bool get_number(const char **text, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; **text && shift < NUMBER_MAX * DIGIT_BITS; shift += DIGIT_BITS) {
		const char *digit = strchr(digits, *(*text)++);
		uint64_t value = digit ? (uint64_t)(digit - digits) : 0;

		if (!digit || (value & (MORE - 1)) << shift >> shift != (value & (MORE - 1)))
			return false;
		*number |= (value & (MORE - 1)) << shift;
		if (value < MORE)
			return *number <= PLACE_MAX;
	}
	return false;
}

/* FROM, moved by the folded number, is *TO; in units. */
static bool unfold(uint64_t from, uint64_t number, uint64_t *to)
{
	if (number & 1 && from < (number + 1) >> 1)
		return false;
	*to = number & 1 ? from - ((number + 1) >> 1) : from + (number >> 1);
	return true;
}

static bool get_piece(const char **text, const struct disk_piece *last, uint64_t unit,
		      struct disk_piece *piece)
{
	uint64_t gap, jump = 0, move, bytes, most = PLACE_MAX / unit;

	if (!get_number(text, &gap) || (gap & 1 && !get_number(text, &jump)) ||
	    !get_number(text, &move) || !get_number(text, &bytes) || !bytes || bytes > most)
		return false;
	piece->guest = (last->guest + last->bytes) / unit + (gap >> 1);
	if (!unfold((last->image + last->bytes) / unit + (gap >> 1), jump, &piece->image) ||
	    !unfold((last->device + last->bytes) / unit, move, &piece->device) ||
	    piece->guest > most - bytes || piece->image > most - bytes ||
	    piece->device > most - bytes)
		return false;
	piece->guest *= unit;
	piece->image *= unit;
	piece->device *= unit;
	piece->bytes = bytes * unit;
	return true;
}

static int read_chunk(struct disk_map *map, uint64_t unit, const char *text)
{
	while (*text) {
		struct disk_piece piece, none = { 0 };
		int rc;

		if (!get_piece(&text, map->n ? &map->v[map->n - 1] : &none, unit, &piece))
			return -EBADMSG;
		rc = disk_map_add(map, &piece);
		if (rc)
			return rc;
	}
	return 0;
}

static const char *find(const struct eta_defs *defs, const char *name)
{
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (defs->properties[p].process == ETA_NONE &&
		    strcmp(defs->properties[p].name, name) == 0)
			return defs->properties[p].value;
	return NULL;
}

int disk_map_read(const struct eta_defs *defs, uint32_t pid, uint32_t disk, struct disk_map *map)
{
	json_int_t chunks, unit;
	const char *text;
	char name[80];
	json_t *told;
	int rc = 0;

	*map = (struct disk_map){ 0 };
	snprintf(name, sizeof(name), DISK_MAP_PROPERTY "%" PRIu32 "_%" PRIu32, pid, disk);
	text = find(defs, name);
	if (!text)
		return -ENOENT;
	told = json_loads(text, 0, NULL);
	chunks = json_integer_value(json_object_get(told, "chunks"));
	unit = json_integer_value(json_object_get(told, "unit"));
	if (!told)
		rc = -EBADMSG;
	json_decref(told);
	if (chunks && (unit <= 0 || (uint64_t)unit > UNIT_MAX || unit & (unit - 1)))
		return -EBADMSG;
	for (json_int_t i = 0; rc == 0 && i < chunks; i++) {
		snprintf(name, sizeof(name), DISK_MAP_PROPERTY "%" PRIu32 "_%" PRIu32 "_%lld", pid,
			 disk, (long long)i);
		text = find(defs, name);
		rc = text ? read_chunk(map, (uint64_t)unit, text) : -EBADMSG;
	}
	return rc;
}

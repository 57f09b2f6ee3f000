/* One character of a text as it may be shown. Also inside traced programs: without stdio. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "printable.h"

/* RFC 3629: the lowest character of each length; shorter ones are not written so long. */
static const int32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };

int32_t printable_decode(const char *text, size_t size, size_t *used)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t n = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
	int32_t character = n == 1 ? bytes[0] : bytes[0] & (0x7f >> n);

	*used = 1;
	if ((n > 1 && bytes[0] < 0xc0) || bytes[0] > 0xf4)
		return -1;
	for (size_t i = 1; i < n; i++) {
		if (i == size || (bytes[i] & 0xc0) != 0x80)
			return -1;
		character = character << 6 | (bytes[i] & 0x3f);
	}
	if (character < lowest[n] || (character >= 0xd800 && character <= 0xdfff) ||
	    character > 0x10ffff)
		return -1;
	*used = n;
	return character;
}

bool printable_is(int32_t character)
{
	static const struct {
		int32_t first, last;
	} hidden[] = {
		{ INT32_MIN, 0x1f }, { 0x7f, 0x9f }, { 0x61c, 0x61c }, /* Arabic letter mark */
		{ 0x200e, 0x200f }, /* left-to-right and right-to-left mark */
		{ 0x2028, 0x202e }, /* ends of lines and paragraphs, embeddings, overrides */
		{ 0x2066, 0x2069 }, /* isolates */
		{ 0xfeff, 0xfeff }, /* byte order mark */
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return false;
	return true;
}

static void put_byte(char **to, unsigned char byte)
{
	static const char letters[] = "abtnvfr"; /* from 7 on */

	*(*to)++ = '\\';
	if (byte >= '\a' && byte <= '\r') {
		*(*to)++ = letters[byte - '\a'];
	} else {
		*(*to)++ = (char)('0' + (byte >> 6));
		*(*to)++ = (char)('0' + (byte >> 3 & 7));
		*(*to)++ = (char)('0' + (byte & 7));
	}
}

size_t printable_step(const char *text, size_t size, char step[PRINTABLE_STEP])
{
	size_t used;

	if (printable_is(printable_decode(text, size, &used))) {
		memcpy(step, text, used);
		step += used;
	} else {
		for (size_t i = 0; i < used; i++)
			put_byte(&step, (unsigned char)text[i]);
	}
	*step = '\0';
	return used;
}

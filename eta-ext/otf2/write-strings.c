/* OTF2 writer: strings, each defined once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "write-defs.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct string {
	UT_hash_handle hh;
	uint32_t id;
	char text[];
};

/* TEXT, which is fit for an archive, is new: its id. */
static uint32_t add_string(struct defs *defs, const char *text)
{
	size_t n = strlen(text);
	struct string *s = malloc(sizeof(*s) + n + 1);

	if (s) {
		memcpy(s->text, text, n + 1);
		s->id = defs->n_strings;
		HASH_ADD_KEYPTR(hh, defs->strings, s->text, n, s);
		if (!s->hh.tbl) {
			free(s);
			s = NULL;
		}
	}
	if (!s) {
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
		return OTF2_UNDEFINED_STRING;
	}
	WRITE(defs, String, defs->n_strings++, text);
	return s->id;
}

uint32_t defs_string(struct defs *defs, const char *text)
{
	struct string *s;
	const char *fit;
	uint32_t id;
	char *own;

	HASH_FIND(hh, defs->strings, text, strlen(text), s);
	if (s)
		return s->id;
	fit = write_otf2_text(text, &own);
	if (!fit) {
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
		return OTF2_UNDEFINED_STRING;
	}
	if (own)
		HASH_FIND(hh, defs->strings, own, strlen(own), s);
	id = s ? s->id : add_string(defs, fit);
	free(own);
	return id;
}

void defs_strings_free(struct defs *defs)
{
	struct string *s, *next;

	HASH_ITER (hh, defs->strings, s, next) {
		HASH_DEL(defs->strings, s);
		free(s);
	}
}

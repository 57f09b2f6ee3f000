/* References that were met in earlier pieces of a trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "met.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct met {
	uint64_t key; /* class_key.fine */
	unsigned piece;
	struct reference r[N_REFERENCES];
	UT_hash_handle hh;
};

struct met_references {
	unsigned ages, piece;
	struct met *list;
};

struct met_references *met_new(unsigned ages)
{
	struct met_references *met = calloc(1, sizeof(*met));

	if (met)
		met->ages = ages;
	return met;
}

static void forget(struct met_references *met, bool all)
{
	struct met *m, *next;

	HASH_ITER (hh, met->list, m, next) {
		if (!all && met->piece - m->piece <= met->ages)
			continue;
		HASH_DEL(met->list, m);
		free(m);
	}
}

void met_free(struct met_references *met)
{
	if (met)
		forget(met, true);
	free(met);
}

void met_next(struct met_references *met)
{
	met->piece++;
	forget(met, false);
}

static struct met *find(const struct met_references *met, const struct class_key *key)
{
	struct met *m;

	HASH_FIND(hh, met->list, &key->fine, sizeof(key->fine), m);
	return m;
}

const struct reference *met_find(const struct met_references *met, const struct class_key *key)
{
	const struct met *m = find(met, key);

	return m ? m->r : NULL;
}

int met_note(struct met_references *met, const struct class_key *key,
	     const struct reference *const r[N_REFERENCES])
{
	struct met *m = find(met, key);

	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->key = key->fine;
		HASH_ADD(hh, met->list, key, sizeof(m->key), m);
		if (!m->hh.tbl) {
			free(m);
			return -ENOMEM;
		}
	} else if (r[BY_HEADLINE]->ns >= m->r[BY_HEADLINE].ns) {
		return 0; /* it is that one, or longer */
	}
	m->piece = met->piece;
	for (int k = 0; k < N_REFERENCES; k++)
		m->r[k] = *r[k];
	return 0;
}

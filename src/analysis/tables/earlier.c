/* References found in earlier pieces of a trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "earlier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct earlier {
	uint64_t key; /* class_key.fine */
	unsigned piece;
	struct reference r[N_REFERENCES];
	UT_hash_handle hh;
};

struct earlier_references {
	unsigned ages, piece;
	struct earlier *list;
};

struct earlier_references *earlier_new(unsigned ages)
{
	struct earlier_references *earlier = calloc(1, sizeof(*earlier));

	if (earlier)
		earlier->ages = ages;
	return earlier;
}

static void forget(struct earlier_references *earlier, bool all)
{
	struct earlier *m, *next;

	HASH_ITER (hh, earlier->list, m, next) {
		if (!all && earlier->piece - m->piece <= earlier->ages)
			continue;
		HASH_DEL(earlier->list, m);
		free(m);
	}
}

void earlier_free(struct earlier_references *earlier)
{
	if (earlier)
		forget(earlier, true);
	free(earlier);
}

void earlier_next(struct earlier_references *earlier)
{
	earlier->piece++;
	forget(earlier, false);
}

static struct earlier *find(const struct earlier_references *earlier, const struct class_key *key)
{
	struct earlier *m;

	HASH_FIND(hh, earlier->list, &key->fine, sizeof(key->fine), m);
	return m;
}

const struct reference *earlier_find(const struct earlier_references *earlier,
				     const struct class_key *key)
{
	const struct earlier *m = find(earlier, key);

	return m ? m->r : NULL;
}

int earlier_note(struct earlier_references *earlier, const struct class_key *key,
		 const struct reference *const r[N_REFERENCES])
{
	struct earlier *m = find(earlier, key);

	if (!m) {
		m = calloc(1, sizeof(*m));
		if (!m)
			return -ENOMEM;
		m->key = key->fine;
		HASH_ADD(hh, earlier->list, key, sizeof(m->key), m);
		if (!m->hh.tbl) {
			free(m);
			return -ENOMEM;
		}
	} else if (r[BY_HEADLINE]->ns >= m->r[BY_HEADLINE].ns) {
		return 0; /* it is that one, or longer */
	}
	m->piece = earlier->piece;
	for (int k = 0; k < N_REFERENCES; k++)
		m->r[k] = *r[k];
	return 0;
}

/* For whom kernel threads made requests that are not recorded: a property of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define MOST_ENTRIES 64 /* the largest; as many as a property has room for */

/* as in the map: see map_entries */
struct entry {
	struct kernelio_worked_key key;
	uint64_t bytes;
};

static int by_bytes(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->key.worker != b->key.worker)
		return a->key.worker < b->key.worker ? -1 : 1;
	return (a->key.tid > b->key.tid) - (a->key.tid < b->key.tid);
}

/* "WORKER|BYTES|TID; ...": kernel thread WORKER has moved BYTES for TID. */
void worked_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text))
{
	void *all;
	size_t n = map_entries(k->bpf->maps.worked, &all);
	struct entry *entries = all;
	char text[3500] = "WORKED_FOR=";
	size_t used = strlen(text);

	if (n)
		qsort(entries, n, sizeof(*entries), by_bytes);
	for (size_t i = 0; i < n && i < MOST_ENTRIES; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%" PRIu32 "|%" PRIu64 "|%" PRIu32,
			i ? "; " : "", entries[i].key.worker, entries[i].bytes, entries[i].key.tid);
	if (n)
		put(k, text);
	free(entries);
}

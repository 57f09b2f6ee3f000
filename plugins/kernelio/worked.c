/* For whom kernel threads made requests that are not recorded: a property of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define MOST_ENTRIES 64 /* the largest; as many as a property has room for */

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
	int map = bpf_map__fd(k->bpf->maps.worked);
	const size_t room = bpf_map__max_entries(k->bpf->maps.worked);
	struct entry *entries = calloc(room, sizeof(*entries));
	struct kernelio_worked_key before, *from = NULL;
	char text[3500] = "WORKED_FOR=";
	size_t n = 0, used = strlen(text);

	/* where some are added meanwhile the walk may begin again */
	for (size_t i = 0; entries && i < 2 * room && n < room; i++) {
		if (bpf_map_get_next_key(map, from, &entries[n].key))
			break;
		before = entries[n].key;
		from = &before;
		if (bpf_map_lookup_elem(map, &before, &entries[n].bytes) == 0)
			n++;
	}
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

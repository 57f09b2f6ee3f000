/* All entries of a BPF map, at once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

size_t map_entries(const struct bpf_map *map, void **entries)
{
	const size_t room = bpf_map__max_entries(map), key = bpf_map__key_size(map);
	const size_t bytes = key + bpf_map__value_size(map);
	const void *from = NULL;
	size_t n = 0;
	char *list = calloc(room + 1, bytes); /* the last is that from which the walk goes on */

	*entries = list;
	/* where some are added meanwhile the walk may begin again */
	for (size_t i = 0; list && i < 2 * room && n < room; i++) {
		char *entry = list + n * bytes;

		if (bpf_map_get_next_key(bpf_map__fd(map), from, entry))
			break;
		from = memcpy(list + room * bytes, entry, key);
		if (bpf_map_lookup_elem(bpf_map__fd(map), from, entry + key) == 0)
			n++;
	}
	return n;
}

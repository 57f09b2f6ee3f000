/* The files met so far, and the name that each was recorded by. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_KNOWN_FILES_H
#define KERNELIO_KNOWN_FILES_H

#include "state.h"

enum seen {
	SEEN_NOT,      /* not yet */
	SEEN_LEFT,     /* its record has been written */
	SEEN_SKIPPED,  /* below the directory that is not traced */
	SEEN_FILTERED, /* excluded by the filters */
};

struct known_file {
	uint32_t name; /* hash of the name that it was opened by last, in its directory */
	uint32_t seen; /* enum seen */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct file_key);
	__type(value, struct known_file);
} files_seen __weak SEC(".maps");

/* What is known of the file KEY: enum seen. */
static __always_inline uint32_t file_seen(const struct file_key *key)
{
	const struct known_file *known = bpf_map_lookup_elem(&files_seen, key);

	return known ? known->seen : SEEN_NOT;
}

#endif

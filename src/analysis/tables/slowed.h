/* The operations that lost most: the first N of all, whatever the order they come in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SLOWED_H
#define SCI_SLOWED_H

#include <stdint.h>

/* An operation, and what others and limits took of it. */
struct slowed {
	uint64_t begin_ns, end_ns;
	int64_t ns;
	uint32_t location; /* index into the definitions */
};

/* A heap, the one that lost least on top. Zeroed it is empty; slowed_list_free. */
struct slowed_list {
	struct slowed *list;
	uint32_t n, room;
};

/* -ENOMEM. MOST: how many are kept. */
int slowed_add(struct slowed_list *to, const struct slowed *s, uint32_t most);
void slowed_list_free(struct slowed_list *list);
/* Those that lost most first. */
void slowed_sort(struct slowed_list *list);

#endif

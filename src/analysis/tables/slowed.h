/* The N operations that lost most, independent of the order they come in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SLOWED_H
#define SCI_SLOWED_H

#include <stdint.h>

/* An operation, and its time lost to others and limits. */
struct slowed {
	uint64_t begin_ns, end_ns;
	int64_t ns;
	uint32_t location; /* index into the definitions */
};

/* A heap with the one that lost least on top. Zeroed it is empty; slowed_list_free. */
struct slowed_list {
	struct slowed *list;
	uint32_t n, room;
};

/* Adds S; keeps MOST of them. 0 or -ENOMEM. */
int slowed_add(struct slowed_list *to, const struct slowed *s, uint32_t most);
void slowed_list_free(struct slowed_list *list);
/* Sorts by time lost, descending. */
void slowed_sort(struct slowed_list *list);

#endif

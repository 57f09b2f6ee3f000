/* Finds the entries of a list by their hash: open addressing over the caller's array. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SLOTS_H
#define SCI_SLOTS_H

#include <stdint.h>

struct slot {
	uint32_t hash;
	uint32_t number; /* index in the list + 1; 0: free */
};

/* Empty when it is zero. */
struct slots {
	struct slot *at;
	uint32_t n; /* a power of two */
	uint32_t used;
};

/* Makes room for twice as many. 0 or -ENOMEM. */
int slots_grow(struct slots *s);
void slots_free(struct slots *s);

/* Makes room for one more: 0 or -ENOMEM. */
static inline int slots_fit(struct slots *s)
{
	return 2 * s->used < s->n ? 0 : slots_grow(s);
}

/* Where an entry of HASH may be: from the first on up to a free slot. There is one, after
 * slots_fit. */
static inline struct slot *slots_first(const struct slots *s, uint64_t hash)
{
	return &s->at[(uint32_t)hash & (s->n - 1)];
}

static inline struct slot *slots_next(const struct slots *s, struct slot *slot)
{
	return ++slot < s->at + s->n ? slot : s->at;
}

/* The free SLOT gets the entry at INDEX. */
static inline void slots_take(struct slots *s, struct slot *slot, uint64_t hash, uint32_t index)
{
	*slot = (struct slot){ (uint32_t)hash, index + 1 };
	s->used++;
}

#endif

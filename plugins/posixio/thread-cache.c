/* State that ended threads leave for the next ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread-cache.h"

#include "eta-ext/format/own-map.h"

#define MAX_RESTING 64

/* Slots rather than a list: filled and emptied by one exchange, whatever other threads do. */
static struct thread *_Atomic resting[MAX_RESTING];

bool resting_put(struct thread *t)
{
	for (int i = 0; i < MAX_RESTING; i++) {
		struct thread *none = NULL;

		if (!atomic_load_explicit(&resting[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&resting[i], &none, t))
			return true;
	}
	return false;
}

struct thread *resting_take(void)
{
	for (int i = 0; i < MAX_RESTING; i++) {
		struct thread *t;

		if (!atomic_load_explicit(&resting[i], memory_order_relaxed))
			continue;
		t = atomic_exchange(&resting[i], NULL);
		if (t)
			return t;
	}
	return NULL;
}

void resting_forget(void)
{
	struct thread *t;

	while ((t = resting_take()))
		own_unmap(t, sizeof(*t));
}

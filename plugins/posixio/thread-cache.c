/* State that ended threads leave for the next ones. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "thread-cache.h"

#include "eta-ext/format/own-map.h"

#define MAX_CACHED 64

/* Slots rather than a list: filled and emptied by one exchange, whatever other threads do. */
static struct thread *_Atomic cached[MAX_CACHED];

bool thread_cache_put(struct thread *t)
{
	for (int i = 0; i < MAX_CACHED; i++) {
		struct thread *none = NULL;

		if (!atomic_load_explicit(&cached[i], memory_order_relaxed) &&
		    atomic_compare_exchange_strong(&cached[i], &none, t))
			return true;
	}
	return false;
}

struct thread *thread_cache_take(void)
{
	for (int i = 0; i < MAX_CACHED; i++) {
		struct thread *t;

		if (!atomic_load_explicit(&cached[i], memory_order_relaxed))
			continue;
		t = atomic_exchange(&cached[i], NULL);
		if (t)
			return t;
	}
	return NULL;
}

void thread_cache_forget(void)
{
	struct thread *t;

	while ((t = thread_cache_take()))
		own_unmap(t, thread_bytes());
}

/* The N operations that lost most, independent of the order they come in. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "slowed.h"

#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/array.h"

/*
 * Among equal ones the earlier comes first, so that the choice does not depend on the order of
 * adding.
 */
static int most_first(const void *a, const void *b)
{
	const struct slowed *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->location > y->location) - (x->location < y->location);
}

static void sink(struct slowed_list *l)
{
	for (uint32_t i = 0, last;; i = last) {
		uint32_t left = 2 * i + 1, right = left + 1;
		struct slowed swapped = l->list[i];

		last = i;
		if (left < l->n && most_first(&l->list[left], &l->list[last]) > 0)
			last = left;
		if (right < l->n && most_first(&l->list[right], &l->list[last]) > 0)
			last = right;
		if (last == i)
			return;
		l->list[i] = l->list[last];
		l->list[last] = swapped;
	}
}

int slowed_add(struct slowed_list *to, const struct slowed *s, uint32_t most)
{
	uint32_t i;

	if (to->n == most) {
		if (most && most_first(s, &to->list[0]) < 0) {
			to->list[0] = *s;
			sink(to);
		}
		return 0;
	}
	if (!ARRAY_FITS(to->list, to->n + 1, to->room))
		return -ENOMEM;
	for (i = to->n++; i && most_first(s, &to->list[(i - 1) / 2]) > 0; i = (i - 1) / 2)
		to->list[i] = to->list[(i - 1) / 2];
	to->list[i] = *s;
	return 0;
}

void slowed_list_free(struct slowed_list *list)
{
	free(list->list);
	*list = (struct slowed_list){ 0 };
}

void slowed_sort(struct slowed_list *l)
{
	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), most_first);
}

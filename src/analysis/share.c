/* The method of largest remainders. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

#include <stdbool.h>

static void part_of(uint64_t amount, uint64_t sum, struct claim *c)
{
	unsigned __int128 product;

	/* a division of 128 bits costs ten times one of 64 */
	if ((amount | c->weight) >> 32 == 0) {
		c->part = (int64_t)(amount * c->weight / sum);
		c->remainder = amount * c->weight % sum;
		return;
	}
	product = (unsigned __int128)amount * c->weight;
	c->part = (int64_t)(product / sum);
	c->remainder = (uint64_t)(product % sum);
}

static bool is_first(const struct claim *x, const struct claim *y)
{
	return x->remainder != y->remainder ? x->remainder > y->remainder : x->rank < y->rank;
}

static void swap(struct claim *x, struct claim *y)
{
	struct claim t = *x;

	*x = *y;
	*y = t;
}

/* The K first of N claims to the front, in no order (Hoare 1961, "Find"). */
static void select_first(struct claim *claims, size_t n, size_t k)
{
	while (n > 1 && k > 0 && k < n) {
		struct claim pivot = claims[n / 2];
		size_t i = 0, j = n - 1;

		for (;;) {
			while (is_first(&claims[i], &pivot))
				i++;
			while (is_first(&pivot, &claims[j]))
				j--;
			if (i >= j)
				break;
			swap(&claims[i++], &claims[j--]);
		}
		/* all before i are first to all from i on, and neither side is empty */
		if (k <= i) {
			n = i;
		} else {
			claims += i;
			n -= i;
			k -= i;
		}
	}
}

void share_out(int64_t amount, struct claim *claims, size_t n)
{
	uint64_t sum = 0;
	int64_t left = amount;

	for (size_t i = 0; i < n; i++)
		sum += claims[i].weight;
	for (size_t i = 0; i < n; i++) {
		claims[i].part = 0;
		claims[i].remainder = 0;
		if (claims[i].weight)
			part_of((uint64_t)amount, sum, &claims[i]);
		left -= claims[i].part;
	}
	if (sum == 0 || left == 0)
		return;
	select_first(claims, n, (size_t)left);
	for (int64_t i = 0; i < left; i++)
		claims[i].part++;
}

void share_exactly(int64_t amount, const uint64_t *weights, int64_t *parts, size_t n)
{
	struct claim claims[SHARE_FEW];

	if (n == 1) {
		parts[0] = weights[0] ? amount : 0;
		return;
	}
	for (size_t i = 0; i < n; i++)
		claims[i] = (struct claim){ .weight = weights[i], .rank = i };
	share_out(amount, claims, n);
	for (size_t i = 0; i < n; i++)
		parts[claims[i].rank] = claims[i].part;
}

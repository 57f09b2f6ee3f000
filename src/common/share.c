/* The method of largest remainders. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

#include <stdbool.h>

/* AMOUNT * weight / SUM of each, and the remainders. */
static void round_down(uint64_t amount, uint64_t sum, struct claim *claims, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct claim *c = &claims[i];
		unsigned __int128 product;

		/* a division of 128 bits costs ten times one of 64 */
		if ((amount | c->weight) >> 32 == 0) {
			c->part = (int64_t)(amount * c->weight / sum);
			c->remainder = amount * c->weight % sum;
			continue;
		}
		product = (unsigned __int128)amount * c->weight;
		c->part = (int64_t)(product / sum);
		c->remainder = (uint64_t)(product % sum);
	}
}

/* All keys above PIVOT, or with AND_EQUAL those not below it, to the front: how many. */
static size_t part_keys(struct claim *claims, size_t n, uint64_t pivot, bool and_equal)
{
	size_t above = 0;

	/* whether a key is moved cannot be foretold, so each is (Lomuto's way needs no jump) */
	for (size_t i = 0; i < n; i++) {
		uint64_t key = claims[i].key;

		claims[i].key = claims[above].key;
		claims[above].key = key;
		above += key > pivot || (and_equal & (key == pivot));
	}
	return above;
}

/* The K-th largest key, K from 1 to N; the keys change places (Hoare 1961, "Find"). */
static uint64_t select_key(struct claim *claims, size_t n, size_t k)
{
	for (;;) {
		uint64_t a = claims[0].key, b = claims[n / 2].key, c = claims[n - 1].key;
		uint64_t low = a < b ? a : b, high = a < b ? b : a;
		uint64_t pivot = c < low ? low : c > high ? high : c;
		size_t above = part_keys(claims, n, pivot, false), equal;

		if (k <= above) {
			n = above;
			continue;
		}
		equal = part_keys(claims + above, n - above, pivot, true);
		if (k <= above + equal)
			return pivot;
		claims += above + equal;
		n -= above + equal;
		k -= above + equal;
	}
}

/* One more for the LEFT claims with the largest remainders; of equal ones for the lowest ranks. */
static void round_up(struct claim *claims, size_t n, size_t left)
{
	size_t above = 0, equal = 0;
	uint64_t least, last = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		claims[i].key = claims[i].remainder;
	least = select_key(claims, n, left);
	for (size_t i = 0; i < n; i++) {
		above += claims[i].remainder > least;
		equal += claims[i].remainder == least;
	}
	left -= above;
	if (left < equal) {
		size_t ties = 0;

		for (size_t i = 0; i < n; i++)
			if (claims[i].remainder == least)
				claims[ties++].key = ~claims[i].rank;
		last = ~select_key(claims, ties, left);
	}
	for (size_t i = 0; i < n; i++)
		claims[i].part += claims[i].remainder > least ||
				  (claims[i].remainder == least && claims[i].rank <= last);
}

void share_out(int64_t amount, struct claim *claims, size_t n)
{
	int64_t left = amount;
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += claims[i].weight;
	if (sum == 0) {
		for (size_t i = 0; i < n; i++)
			claims[i].part = 0;
		return;
	}
	round_down((uint64_t)amount, sum, claims, n);
	for (size_t i = 0; i < n; i++)
		left -= claims[i].part;
	if (left)
		round_up(claims, n, (size_t)left);
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

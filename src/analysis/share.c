/* The method of largest remainders. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "share.h"

#include <stdbool.h>

/* Of so few the remainders are kept and gone through once for each nanosecond that is left. */
#define FEW 16

struct part {
	uint64_t whole, remainder;
};

static struct part part_of(uint64_t amount, uint64_t weight, uint64_t sum)
{
	unsigned __int128 product;

	/* a division of 128 bits costs ten times one of 64 */
	if ((amount | weight) >> 32 == 0)
		return (struct part){ amount * weight / sum, amount * weight % sum };
	product = (unsigned __int128)amount * weight;
	return (struct part){ (uint64_t)(product / sum), (uint64_t)(product % sum) };
}

static void give_few(int64_t left, uint64_t *remainders, int64_t *parts, size_t n)
{
	for (; left > 0; left--) {
		size_t best = 0;

		for (size_t i = 1; i < n; i++)
			if (remainders[i] > remainders[best])
				best = i;
		parts[best]++;
		remainders[best] = 0;
	}
}

/* How many remainders are REMAINDER or more. */
static size_t count_from(uint64_t amount, const uint64_t *weights, size_t n, uint64_t sum,
			 uint64_t remainder)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += part_of(amount, weights[i], sum).remainder >= remainder;
	return count;
}

/*
 * The smallest remainder that still gets a nanosecond is found by halving, in at most 64 rounds
 * over the weights. There is one: the remainders sum to LEFT * SUM, and each is less than SUM.
 */
static void give_many(int64_t left, uint64_t amount, const uint64_t *weights, int64_t *parts,
		      size_t n, uint64_t sum)
{
	uint64_t low = 1, high = sum;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (count_from(amount, weights, n, sum, middle) >= (size_t)left)
			low = middle;
		else
			high = middle;
	}
	left -= (int64_t)count_from(amount, weights, n, sum, low + 1);
	for (size_t i = 0; i < n; i++) {
		uint64_t remainder = part_of(amount, weights[i], sum).remainder;
		bool last = remainder == low && left > 0;

		parts[i] += remainder > low || last;
		left -= last;
	}
}

void share_exactly(int64_t amount, const uint64_t *weights, int64_t *parts, size_t n)
{
	uint64_t sum = 0, remainders[FEW];
	int64_t left = amount;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	for (size_t i = 0; i < n; i++) {
		struct part part = { 0 };

		if (weights[i])
			part = part_of((uint64_t)amount, weights[i], sum);
		parts[i] = (int64_t)part.whole;
		left -= parts[i];
		if (i < FEW)
			remainders[i] = part.remainder;
	}
	if (sum == 0 || left == 0)
		return;
	if (n <= FEW)
		give_few(left, remainders, parts, n);
	else
		give_many(left, (uint64_t)amount, weights, parts, n, sum);
}

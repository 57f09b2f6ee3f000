/* How many bytes the files of a recording may take together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool-budget.h"

struct spool_budget *spool_budget;

/* Takes BYTES if LEAST are left then. */
static bool take(uint64_t bytes, uint64_t least)
{
	uint64_t left = __atomic_load_n(&spool_budget->left, __ATOMIC_RELAXED);

	do
		if (left < bytes || left - bytes < least)
			return false;
	while (!__atomic_compare_exchange_n(&spool_budget->left, &left, left - bytes, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

bool spool_budget_take(uint64_t bytes)
{
	return take(bytes, 0);
}

void spool_budget_force(uint64_t bytes)
{
	uint64_t left = __atomic_load_n(&spool_budget->left, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(&spool_budget->left, &left,
					    left > bytes ? left - bytes : 0, true, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

void spool_budget_give(uint64_t bytes)
{
	__atomic_fetch_add(&spool_budget->left, bytes, __ATOMIC_RELAXED);
}

bool spool_budget_share(uint64_t has, uint64_t bytes)
{
	return take(bytes, has + bytes);
}

void spool_budget_refused(uint64_t n)
{
	__atomic_fetch_add(&spool_budget->refused, n, __ATOMIC_RELAXED);
}

void spool_budget_begin(struct spool_budget *budget, uint64_t bytes, bool keeps_last)
{
	*budget = (struct spool_budget){ .left = bytes, .keeps_last = keeps_last };
}

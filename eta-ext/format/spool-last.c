/* A spool file that keeps its last records only. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool-last.h"

#include "own-call.h"
#include "spool-budget.h"

/* Does the order of a file's records follow when they ended? That of library calls: their begin. */
static uint64_t order_ns(const struct spool *spool, const struct eta_record_head *head)
{
	return spool->header->kind != ETA_SPOOL_USER && head->end_ns > head->time_ns
		       ? head->end_ns
		       : head->time_ns;
}

/* Fills the window up with what is passed over; the last of it says what is in the window. */
static void seal(struct spool *spool)
{
	struct eta_window_record *account =
		(void *)(spool->base + spool->window_bytes - sizeof(*account));
	struct eta_record_head *rest = (void *)spool->next;
	const unsigned char *at = spool->base;

	memset(account, 0, sizeof(*account));
	while (at < spool->next) {
		const struct eta_record_head *head = (const void *)at;

		if (head->units == 0)
			break;
		if (head->type < ETA_RECORD_TYPES)
			account->n[head->type]++;
		if (order_ns(spool, head) > account->head.time_ns)
			account->head.time_ns = order_ns(spool, head);
		at += (size_t)head->units * ETA_UNIT_BYTES;
	}
	account->head.units = sizeof(*account) / ETA_UNIT_BYTES;
	account->head.type = ETA_RECORD_SKIP;
	rest->time_ns = rest->end_ns = 0;
	rest->units = (uint16_t)(((unsigned char *)account - spool->next) / ETA_UNIT_BYTES);
	__atomic_store_n(&rest->type, ETA_RECORD_SKIP, __ATOMIC_RELEASE);
}

/* The oldest window, at offset OLDEST, is to be written over. */
static void let_go(const struct spool *spool, int fd, uint64_t oldest)
{
	struct eta_spool_header *header = spool->header;
	struct eta_window_record account;
	const uint64_t place = spool_place(spool, oldest) + spool->window_bytes - sizeof(account);

	if (header->kept > oldest)
		return; /* as it was to be before, when the new one could not be written */
	if (own_call(PREAD, fd, &account, sizeof(account), place) == sizeof(account) &&
	    account.head.type == ETA_RECORD_SKIP) {
		for (unsigned type = 0; type < ETA_RECORD_TYPES; type++)
			header->overwritten[type] += account.n[type];
		if (account.head.time_ns > header->overwritten_ns)
			header->overwritten_ns = account.head.time_ns;
	}
	__atomic_store_n(&header->kept, oldest + spool->window_bytes, __ATOMIC_RELEASE);
}

void spool_last_turn(struct spool *spool, int fd)
{
	const uint64_t has = spool->base_offset - ETA_SPOOL_HEADER_BYTES;
	struct eta_spool_header *header = spool->header;

	/* one more at least, or nothing would be left of the window that is begun anew */
	if (!header->ring_bytes && !spool_budget_share(has, spool->window_bytes)) {
		if (!has)
			spool_budget_force(spool->window_bytes);
		header->ring_bytes = has ? has : spool->window_bytes;
	}
	seal(spool);
	if (header->ring_bytes && has >= header->ring_bytes)
		let_go(spool, fd, spool->base_offset - header->ring_bytes);
}

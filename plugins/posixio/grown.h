/* Tables that grow by mapped pieces, each twice the one before: what is in them never moves. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_GROWN_H
#define POSIXIO_GROWN_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define GROWN_PIECES 16

/* Static, without a lock. A program has few of most things: the first piece should be a page. */
struct grown {
	uint32_t entry_bytes;
	uint32_t first; /* entries of the first piece */
	void *_Atomic pieces[GROWN_PIECES];
};

/* Adds PIECE, zeroed. NULL: no memory. */
void *grown_add(struct grown *table, unsigned piece);

/* Entry INDEX; NULL: never made. */
static inline void *grown_at(struct grown *table, uint32_t index)
{
	const unsigned piece = 31 - (unsigned)__builtin_clz(index / table->first + 1);
	char *at = atomic_load_explicit(&table->pieces[piece], memory_order_acquire);

	return at ? at + (size_t)(index - table->first * ((1u << piece) - 1)) * table->entry_bytes
		  : NULL;
}

/* The same, made where it was not; NULL: no memory. */
static inline void *grown_make(struct grown *table, uint32_t index)
{
	void *at = grown_at(table, index);

	if (at)
		return at;
	if (!grown_add(table, 31 - (unsigned)__builtin_clz(index / table->first + 1)))
		return NULL;
	return grown_at(table, index);
}

#endif

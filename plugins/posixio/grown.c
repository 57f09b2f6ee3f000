/* Tables that grow by mapped pieces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "grown.h"

#include "eta-ext/format/own-map.h"

void *grown_add(struct grown *table, unsigned piece)
{
	const size_t bytes = ((size_t)table->first << piece) * table->entry_bytes;
	void *none = NULL, *at = own_memory(bytes);

	if (at && !atomic_compare_exchange_strong(&table->pieces[piece], &none, at)) {
		own_unmap(at, bytes);
		at = none;
	}
	return at;
}

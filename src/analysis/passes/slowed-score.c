/* The operations that lost most, of all locations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

int engine_slowed(const struct engine *e, struct analysis *a)
{
	int rc = 0;

	for (uint32_t l = 0; l < e->defs->n_locations && !rc; l++) {
		const struct slowed_list *of = &e->locations[l].slowed;

		for (uint32_t i = 0; i < of->n && !rc; i++)
			rc = slowed_add(&a->slowed, &of->list[i], e->options.n_slowed);
	}
	slowed_sort(&a->slowed);
	return rc;
}

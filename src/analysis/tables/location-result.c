/* What results of a location take. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "location-result.h"

#include <stdlib.h>
#include <string.h>

void location_tallies_free(struct location_result *r)
{
	for (uint32_t t = 0; t < r->n_tallies; t++)
		free(r->tallies[t].contended);
	free(r->tallies);
	r->tallies = NULL;
	r->n_tallies = r->room = 0;
}

void location_result_free(struct location_result *r)
{
	location_tallies_free(r);
	blame_row_free(&r->blame);
	sums_free(&r->worked_for);
	free(r->bins);
	slowed_list_free(&r->slowed);
	free(r->pieces);
	free(r->busy);
	spill_stream_free(&r->operations_stream);
	spill_stream_free(&r->bios_stream);
	spill_stream_free(&r->solo_stream);
	memset(r, 0, sizeof(*r));
}

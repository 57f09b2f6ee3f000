/* min, supported, quantile: found from a list of durations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "reference.h"

#include <math.h>
#include <string.h>

/* The smallest x with enough operations in [x, 1.1 x]: one outlier does not set the scale. */
static bool supported(const struct durations *d, uint64_t *ns)
{
	uint64_t need = (d->n + 99) / 100;

	if (need < 3)
		need = 3;
	if (need > 64)
		need = 64;
	for (uint32_t i = 0; i + need <= d->n_kept; i++) {
		/* y <= 1.1 x in whole numbers */
		if ((unsigned __int128)d->kept[i + need - 1] * 10 >
		    (unsigned __int128)d->kept[i] * 11)
			continue;
		*ns = d->kept[i];
		return true;
	}
	return false;
}

void reference_find(const struct durations *d, enum reference_kind kind, double q,
		    struct reference *r)
{
	uint64_t rank;

	memset(r, 0, sizeof(*r));
	if (d->n == 0)
		return;
	r->known = true;
	r->low_ns = r->high_ns = d->min_ns;
	r->low_confidence = d->n < REFERENCE_FEW;
	switch (kind) {
	case REFERENCE_MIN:
		break;
	case REFERENCE_BASELINE: /* for a class that the other trace does not have */
	case REFERENCE_SOLO:
	case REFERENCE_SUPPORTED:
		if (r->low_confidence)
			break;
		if (!supported(d, &r->low_ns))
			r->low_confidence = true;
		r->high_ns = r->low_ns;
		break;
	case REFERENCE_QUANTILE:
		rank = (uint64_t)ceil(q * (double)d->n);
		if (rank < 1)
			rank = 1;
		if (rank > d->n)
			rank = d->n;
		durations_rank(d, rank, &r->low_ns, &r->high_ns);
		break;
	}
}

void reference_leave_waits(struct reference *r)
{
	uint64_t waits = r->cells & cells_of_work_waits();

	r->cells &= ~waits;
	while (waits) {
		enum cell c = cell_next(&waits);

		r->ns -= r->cell_ns[c];
		r->cell_ns[c] = 0;
	}
}

bool reference_is_nearer(const struct reference *r, uint64_t ns, uint64_t begin_ns,
			 uint32_t location)
{
	if (ns < r->low_ns || ns > r->high_ns)
		return false;
	if (!r->found || ns != r->ns)
		return !r->found || ns < r->ns;
	if (begin_ns != r->begin_ns)
		return begin_ns < r->begin_ns;
	return location < r->location;
}

void reference_found(struct reference *r, uint64_t ns, uint64_t begin_ns, uint32_t location,
		     const uint64_t cell_ns[N_CELLS])
{
	r->found = true;
	r->ns = ns;
	r->begin_ns = begin_ns;
	r->location = location;
	reference_set_cells(r, cell_ns);
}

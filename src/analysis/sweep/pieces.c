/* When in its lifetime a thread lost time to others, and when it was active, in few pieces. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t piece_begin(const struct walk_counts *lifetime, unsigned piece)
{
	uint64_t ns = lifetime->last_ns - lifetime->first_ns;

	return lifetime->first_ns + (uint64_t)((unsigned __int128)ns * piece / N_PIECES);
}

static unsigned piece_at(const struct walk_counts *lifetime, uint64_t at_ns)
{
	uint64_t ns = lifetime->last_ns - lifetime->first_ns;
	unsigned piece = 0;

	if (ns && at_ns > lifetime->first_ns)
		piece = (unsigned)((unsigned __int128)(at_ns - lifetime->first_ns) * N_PIECES / ns);
	return piece < N_PIECES ? piece : N_PIECES - 1;
}

void pieces_add(struct sweep_thread *l, int64_t amount)
{
	const struct walk_counts *lifetime = &l->result->counts;
	uint64_t begin = l->op.begin_ns, ns = l->op.end_ns - begin;
	unsigned last = piece_at(lifetime, l->op.end_ns);
	int64_t left = amount;

	l->has_pieces = true;
	for (unsigned piece = piece_at(lifetime, begin); piece < last; piece++) {
		uint64_t until = piece_begin(lifetime, piece + 1);
		int64_t rest = until > begin && ns ? amount - (int64_t)((__int128)amount *
									(__int128)(until - begin) /
									(__int128)ns)
						   : amount;

		l->pieces[piece] += left - rest;
		left = rest;
	}
	l->pieces[last] += left;
}

int pieces_end(const struct sweep_thread *l)
{
	struct location_result *r = l->result;

	if (!l->has_pieces)
		return 0;
	if (!r->pieces)
		r->pieces = calloc(N_PIECES, sizeof(*r->pieces));
	if (!r->pieces)
		return -ENOMEM;
	for (unsigned i = 0; i < N_PIECES; i++)
		r->pieces[i] += l->pieces[i];
	return 0;
}

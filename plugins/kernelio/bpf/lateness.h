/* When, and for how long, kernel threads were ready without a CPU, for who waits for them. */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_LATENESS_H
#define KERNELIO_LATENESS_H

/* The includer defines the integer types: the unit test compiles this for user space. */

/* From when to when, how long of it, and the program that had the CPU for longest at a time. */
struct late_piece {
	uint64_t from_ns, to_ns;
	uint64_t ns;
	uint32_t who;
};

/*
 * A kernel thread without an idle moment has what it was late by for all that it did: who waits for
 * the last of it has waited for what lies in that wait. So the last few are kept apart.
 */
#define LATE_PIECES 4
struct late {
	uint32_t n;
	uint64_t to_ns; /* of the last one */
	struct late_piece pieces[LATE_PIECES];
};

/* Adds PIECE to INTO, which becomes as long as both. */
static inline __attribute__((always_inline)) void late_join(struct late_piece *into,
							    const struct late_piece *piece)
{
	if (piece->ns > into->ns)
		into->who = piece->who;
	into->ns += piece->ns;
	if (piece->from_ns < into->from_ns)
		into->from_ns = piece->from_ns;
	if (piece->to_ns > into->to_ns)
		into->to_ns = piece->to_ns;
	if (into->ns > into->to_ns - into->from_ns)
		into->ns = into->to_ns - into->from_ns; /* two at the same time */
}

/* Adds PIECE to LATE; if there is no room, the two oldest are one from now on. */
static inline __attribute__((always_inline)) void late_insert(struct late *late,
							      const struct late_piece *piece)
{
	if (piece->to_ns > late->to_ns)
		late->to_ns = piece->to_ns;
	for (uint32_t i = 0; i < LATE_PIECES && i < late->n; i++) {
		struct late_piece *have = &late->pieces[i];

		if (piece->from_ns >= have->from_ns && piece->to_ns <= have->to_ns)
			return; /* passed on in two ways */
		if (piece->from_ns < have->to_ns && piece->to_ns > have->from_ns) {
			late_join(have, piece);
			return;
		}
	}
	if (late->n >= LATE_PIECES) {
		late_join(&late->pieces[0], &late->pieces[1]);
		for (uint32_t i = 1; i < LATE_PIECES - 1; i++)
			late->pieces[i] = late->pieces[i + 1];
		late->n = LATE_PIECES - 1;
	}
	late->pieces[late->n % LATE_PIECES] = *piece;
	late->n++;
}

/*
 * How much of LATE lies between BEGIN_NS and END_NS, and in WHO who had the CPU for most of it. Of
 * a piece that lies there in part it is taken to be spread evenly.
 */
static inline __attribute__((always_inline)) uint64_t
late_between(const struct late *late, uint64_t begin_ns, uint64_t end_ns, uint32_t *who)
{
	uint64_t sum_ns = 0, longest_ns = 0;

	for (uint32_t i = 0; i < LATE_PIECES && i < late->n; i++) {
		const struct late_piece *piece = &late->pieces[i];
		uint64_t from_ns = piece->from_ns > begin_ns ? piece->from_ns : begin_ns;
		uint64_t to_ns = piece->to_ns < end_ns ? piece->to_ns : end_ns;
		uint64_t length_ns = piece->to_ns - piece->from_ns, ns = piece->ns;

		if (from_ns >= to_ns)
			continue;
		if (length_ns > to_ns - from_ns)
			ns = ns * ((to_ns - from_ns) >> 10) / ((length_ns >> 10) + 1);
		sum_ns += ns;
		if (ns > longest_ns) {
			longest_ns = ns;
			*who = piece->who;
		}
	}
	return sum_ns < end_ns - begin_ns ? sum_ns : end_ns - begin_ns;
}

#endif

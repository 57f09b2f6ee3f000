/* What a seccomp filter says of a system call of which not all is known: classic BPF, evaluated. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_FILTER_H
#define POSIXIO_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FILTER_WORDS 16 /* of struct seccomp_data */

/* A system call as the filter sees it: struct seccomp_data in words. */
struct filter_call {
	uint32_t words[FILTER_WORDS];
	uint16_t known; /* a bit for each word that is as the call will have it */
};

/* Argument N of the call is VALUE. */
void filter_argument(struct filter_call *call, unsigned n, uint64_t value);

/* What the evaluation works on, too large for a small stack. */
struct filter_room;
extern const size_t filter_room_bytes;

/*
 * Does the filter of N instructions allow CALL, whatever its unknown arguments are? False also if
 * that takes too long to find out.
 */
bool filter_allows(const struct sock_filter *code, unsigned n, const struct filter_call *call,
		   struct filter_room *room);

#endif

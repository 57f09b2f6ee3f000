/* How the words of a record in the spill are made up: for records.c, and to send them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORD_WORDS_H
#define SCI_RECORD_WORDS_H

/*
 * Operation: begin, duration, tally | file << 32, the fields below with the number of half words
 * that stretches take << 32, [bytes << 2 | mode,] [waits for others, where HELD,] then a half word
 * for each stretch: ns | cell << NS_BITS | LONG | WHAT. Where LONG is set the higher bits of ns
 * follow, where WHAT is what it is about: where others may be named (cell_names_others), with WHO
 * their tid follows. Request: begin, end, device | owner
 * << 32.
 */
#define NS_BITS 24 /* 16 ms: few stretches are longer */
#define NS_MASK ((1u << NS_BITS) - 1)
#define CELL_MASK 0x3f
#define LONG (1u << 30)
#define WHAT (1u << 31)
#define WHO (1u << 31) /* a device has DEV_BITS */

#define DEV_BITS 24
#define SYNCS_OTHERS (1ull << 27)
#define CHANGES (1ull << 28)
#define HELD (1ull << 29)
#define DIRTIES (1ull << 30)
#define TRUNCATED (1ull << 31)

#endif

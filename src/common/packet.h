/* Numbers as bytes, from one process of an analysis to another. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PACKET_H
#define SCI_PACKET_H

#include <stddef.h>
#include <stdint.h>

/*
 * Small numbers take few bytes (LEB128). Putting: `rc` is the first failure (-ENOMEM), after which
 * nothing is added. Taking: behind the end, or what is no number, all are 0 and `rc` is -EBADMSG.
 * Zeroed it is empty; packet_free.
 */
struct packet {
	unsigned char *bytes;
	size_t n, room;
	size_t at; /* taken so far */
	int rc;
};

void packet_put(struct packet *p, uint64_t number);
void packet_put_signed(struct packet *p, int64_t number);
void packet_put_wide(struct packet *p, unsigned __int128 number);
void packet_put_list(struct packet *p, const uint64_t *numbers, size_t n);
void packet_put_text(struct packet *p, const char *text); /* may be NULL */

uint64_t packet_take(struct packet *p);
int64_t packet_take_signed(struct packet *p);
unsigned __int128 packet_take_wide(struct packet *p);
void packet_take_list(struct packet *p, uint64_t *numbers, size_t n);
/* A number that is below END; else 0, and `rc` says so. */
uint32_t packet_take_below(struct packet *p, uint64_t end);
/* The caller's to free; NULL is NULL, or a failure. */
char *packet_take_text(struct packet *p);

void packet_free(struct packet *p);

#endif

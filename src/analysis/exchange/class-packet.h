/* Classes, tallies, sums and call sites as bytes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CLASS_PACKET_H
#define SCI_CLASS_PACKET_H

#include "src/analysis/tables/blame.h"
#include "src/analysis/tables/callsites.h"
#include "src/analysis/tables/classes.h"
#include "src/common/packet.h"

/* A time by cell: those that are not 0. */
void cells_put(struct packet *p, const uint64_t cell_ns[N_CELLS]);
void cells_take(struct packet *p, uint64_t cell_ns[N_CELLS]);

/* C, without its tally of the current location. */
void class_put(struct packet *p, const struct class *c);
/* Takes a class and adds it to that of its key in CLASSES. 0 or -errno. */
int class_take(struct packet *p, struct classes *classes, uint32_t n_regions);

/* Of C the operations that overlapped no other thread's; added to what C has. 0 or -errno. */
void class_put_solo(struct packet *p, const struct class *c);
int class_take_solo(struct packet *p, struct class *c);

/* What was contended of a tally, which is added to SUM. 0 or -errno. */
void contended_put(struct packet *p, const struct contended *c);
int contended_take(struct packet *p, struct contended **sum);

/* T without the number of its class and its site. */
void tally_put(struct packet *p, const struct tally *t);
/* T, where nothing but contended time is yet, gets it. 0 or -errno. */
int tally_take(struct packet *p, struct tally *t);

void sum_put(struct packet *p, const struct sum *sum);
void sums_put(struct packet *p, const struct sums *sums);
/* Added to what SUMS has. 0 or -errno. */
int sums_take(struct packet *p, struct sums *sums);

void site_put(struct packet *p, const struct site *s);
void site_take(struct packet *p, struct site *s);

#endif

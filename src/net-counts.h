/* What the clients of network file systems count for their servers, once a second. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_NET_COUNTS_H
#define SCI_NET_COUNTS_H

struct net_counts;

/*
 * Opens the counters of Lustre and BeeGFS below ROOT ("" or a folder with proc and sys), which stay
 * until net_counts_free, while the rights for it are there. *OUT is NULL where there are none. 0 or
 * -ENOMEM, reported; what cannot be read is a warning.
 */
int net_counts_new(const char *root, struct net_counts **out);
void net_counts_free(struct net_counts *counts);

/* Begins to look, in a thread of its own. A failure is a warning: the trace goes on without. */
void net_counts_begin(struct net_counts *counts);

/*
 * Looks a last time and gives PUT what is to be in the recording, as texts "NAME=value"
 * (eta-ext/format/samples.h). Nothing, if it has not begun.
 */
void net_counts_end(struct net_counts *counts, void (*put)(void *arg, const char *text), void *arg);

#endif

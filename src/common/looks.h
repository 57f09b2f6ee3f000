/* Counters of devices that are looked at once a second: what is kept, and how it is recorded. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_COMMON_LOOKS_H
#define SCI_COMMON_LOOKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "eta-ext/format/samples.h"

/* Of one device, since its counters began. */
struct counts {
	bool known;		   /* it was there to be looked at */
	uint64_t n[N_DISK_COUNTS]; /* DISK_COUNT_UNKNOWN: not counted there */
};

/* ---- looks ---- */

struct look {
	uint64_t time_ns;
	struct counts devices[];
};

/* At devices that are read together: LOOKS_MAX of them at even distances, and the first one. */
struct looks {
	struct look **v;
	unsigned n, step; /* of STEP times one is kept */
	unsigned times;
	size_t n_devices;
};

enum { LOOKS_MAX = 4096 };

/* 0 or -ENOMEM; looks_free in any case. */
int looks_init(struct looks *looks, size_t n_devices);
void looks_free(struct looks *looks);
/* A look that is to be filled in, if it is one's turn or ALWAYS; NULL: not, or no memory. */
struct look *looks_due(struct looks *looks, bool always);
/* Takes what looks_due gave. What was not filled in is given to free(). */
void looks_keep(struct looks *looks, struct look *look);

/* ---- what is recorded ---- */

struct looks_out {
	const char *kind; /* of the properties' names, a number behind it */
	void (*put)(void *arg, const char *text);
	void *arg;
	char host[64]; /* by looks_out_begin */
	unsigned number;
	size_t used;
	char text[4096]; /* of one property, its bytes */
};

/* PUT gets texts "NAME=value" (eta-ext/format/samples.h), of names that begin with KIND. */
void looks_out_begin(struct looks_out *out, const char *kind,
		     void (*put)(void *arg, const char *text), void *arg);
/* Puts what was counted between the looks of DEVICE, which the properties call NAME. */
void looks_put(struct looks_out *out, const struct looks *looks, size_t device, const char *name);

/* ---- once a second ---- */

struct each_second {
	pthread_t thread;
	int end; /* eventfd, -1: it has not begun */
	void (*work)(void *arg);
	void *arg;
};

/* Calls WORK(ARG) now and once a second, in a thread of its own. 0 or -errno; END is -1 then. */
int each_second_begin(struct each_second *e, void (*work)(void *arg), void *arg);
/* Inside of WORK: is somebody waiting for its end? */
bool each_second_ends(const struct each_second *e);
/* Waits for WORK, and calls it no more. E has begun. */
void each_second_end(struct each_second *e);

#endif

/* How a program does its I/O: numbers that show what takes its time, whoever else is there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_HABITS_H
#define SCI_HABITS_H

#include "operations.h"
#include "src/common/packet.h"

enum habit_kind { HABIT_READ, HABIT_WRITE, HABIT_SYNC, HABIT_OPEN, HABIT_OTHER, N_HABITS };

/* Calls with fewer bytes are small: a page. */
#define HABIT_SMALL_BYTES 4096

/* Calls of a kind, but not those that the C library answered from its buffer. */
struct habit_calls {
	uint64_t n, ns, bytes;
	uint64_t small, small_ns, small_bytes; /* of 1 to HABIT_SMALL_BYTES - 1 */
	uint64_t judged;		       /* whose offset is known: */
	struct habit_order {
		uint64_t n, bytes;
		uint64_t waited, waited_ns; /* for the device */
	} sequential, elsewhere;	    /* begins where the last one ended, or elsewhere */
	uint64_t direct, misaligned;	    /* O_DIRECT; not on borders of pages */
	uint64_t synchronous;		    /* O_SYNC, O_DSYNC */
	uint64_t mapped;		    /* faults on mapped pages */
};

/* What was done to a file. */
struct habit {
	struct habit_calls calls[N_HABITS];
	uint64_t syncs_after_write;
	uint64_t opens_by_one; /* by the location that opened it most often */
	uint64_t read_end;     /* end of what was read, as far as it is known */
	uint64_t read_tracks;  /* asynchronous tracks with reads: so many at a time, at most */
	/* of the location under way: */
	uint32_t location; /* + 1 */
	bool written;	   /* written since its last sync */
	bool read_on_track;
	uint64_t opens;
	uint64_t end[N_HABITS]; /* of the last read or write */
};

/* Calls of a function, of all files. */
struct habit_function {
	uint64_t n, ns, bytes;
	uint64_t on_tracks; /* of N: asynchronous ones */
};

struct habits {
	struct habit *files; /* per number of resources.h */
	uint32_t n_files;
	struct habit_function *functions; /* per region */
	uint32_t n_functions;
	uint64_t *positions;   /* per handle, of the location under way */
	uint32_t *position_of; /* location + 1 of `positions` */
	uint32_t n_handles;
	uint8_t *kinds;	    /* per region: 1 + enum habit_kind, by its name */
	bool *system_calls; /* per region: a transfer by such a call, by its name */
	bool *faults;	    /* the same: on mapped pages */
};

/* Notes OP on FILE by LOCATION. 0 or -ENOMEM. */
int habits_add(struct habits *habits, const struct eta_defs *defs, const struct operation *op,
	       uint32_t file, uint32_t location);
/* 0 or -ENOMEM. */
int habits_merge(struct habits *into, const struct habits *from);
/* H is of so many FILES: what it would be of one of them, were they alike. */
struct habit habit_mean(const struct habit *h, uint32_t files);
/*
 * To another process: functions; the file of a number, or nothing of it. There they are added, for
 * N functions of the trace, and to the file of its own number. 0 or -errno.
 */
int habits_put_functions(const struct habits *habits, struct packet *p);
int habits_take_functions(struct habits *habits, uint32_t n, struct packet *p);
int habits_put_file(const struct habits *habits, uint32_t file, struct packet *p);
int habits_take_file(struct habits *habits, uint32_t file, struct packet *p);
void habits_free(struct habits *habits);

#endif

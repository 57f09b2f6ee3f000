/* Call sites: the places in the program that called the operations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_CALLSITES_H
#define SCI_CALLSITES_H

#include "operations.h"

/* A map from 64-bit keys to numbers; a key is a hash, as in classes. */
struct site_map {
	struct site_slot {
		uint64_t key;
		uint32_t value; /* ETA_NONE: free */
	} * slots;
	uint32_t n, room;
};

struct site {
	uint64_t address; /* 0: unknown */
	uint32_t process;
	uint32_t module; /* ETA_NONE: in none */
	/* where the program called into the library that `module` is */
	uint64_t from; /* 0: it is the program, or it is not known */
	uint32_t from_module;
};

struct sites {
	struct site *list;
	uint32_t n, room;
	uint32_t last; /* that was asked for */
	struct site_map map;
};

/* Of the whole analysis. */
struct callsites {
	const struct eta_defs *defs;
	uint32_t *modules; /* indexes, those of a process together */
	uint32_t *first;   /* per process, and the end of the last: into modules */
	struct sites all;
};

/* Of one of its threads. */
struct callsite_worker {
	const struct callsites *callsites;
	struct sites sites;
	struct site_map tallies; /* of the location under way: (class, site) */
	uint32_t *stack_frame;	 /* per stack: 1 + the frame in the program; 0: not looked at */
	struct known_address {
		uint64_t address;
		uint32_t process;
		uint32_t module;
		uint64_t since_ns, until_ns; /* when this holds */
	} * known;			     /* direct mapped */
};

/* DEFS must outlive it. 0 or -ENOMEM; callsites_close, also on failure. */
int callsites_open(struct callsites *callsites, const struct eta_defs *defs);
void callsites_close(struct callsites *callsites);

/* For one thread of the analysis; takes no memory yet. */
void callsite_worker_init(struct callsite_worker *w, const struct callsites *callsites);
void callsite_worker_free(struct callsite_worker *w);

/* Begins another location, without tallies. */
void callsite_location(struct callsite_worker *w);

/*
 * The site of OP: its return address and, if that is in a library and the stack is known, the
 * innermost frame in the program itself. 0 or -ENOMEM.
 */
int callsite_of(struct callsite_worker *w, uint32_t location, const struct operation *op,
		uint32_t *site);

/* Where the number of the tally of (CLASS, SITE) is stored; ETA_NONE: new, to be stored there. */
int callsite_tally(struct callsite_worker *w, uint32_t class, uint32_t site, uint32_t **tally);

/* Adds the sites of W to those of all; *MAP: their numbers there, freed by the caller. */
int callsites_merge(struct callsites *callsites, const struct callsite_worker *w, uint32_t **map);
/* The same of those of another process: of N sites of its own, LIST. */
int callsites_add(struct callsites *callsites, const struct site *list, uint32_t n, uint32_t **map);

#endif

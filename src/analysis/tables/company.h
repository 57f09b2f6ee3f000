/* What other machines did meanwhile on files and servers that several use. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_COMPANY_H
#define SCI_COMPANY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/common/shares.h"

/*
 * Operations of a thread that follow each other with gaps no longer than the clocks of machines may
 * differ: shorter ones are not seen from another machine. At most the gap between two of them is
 * GAP_NS, and BUSY_NS is the sum of their times.
 */
struct company_run {
	uint64_t begin_ns, end_ns;
	uint64_t gap_ns, busy_ns;
};

/* What several machines use: a file of a share, or, with SERVER, the server itself. */
struct company_key {
	uint32_t number; /* of the share, of the server */
	bool server;
	uint64_t inode;
};

/* That MACHINE uses it. */
struct company_use {
	struct company_key key;
	uint32_t machine;
};

struct company_entry {
	struct company_run run;
	uint32_t key, location;
};

struct company {
	struct shares shares;
	uint64_t error_ns;	  /* by how much clocks may differ; UINT64_MAX: unknown */
	struct company_key *keys; /* in their order; what follows is by their index */
	uint32_t n_keys;
	struct company_use *uses; /* while keys are not known yet */
	size_t n_uses, uses_room;
	struct company_entry *entries; /* by key, location and time, once sealed */
	size_t n_entries, entries_room;
	struct company_member {
		size_t first, n; /* of `runs` */
		uint32_t machine;
		uint32_t location; /* ETA_NONE: all the others of the machine */
	} * members;		   /* by key */
	size_t *first_member;	   /* per key, and one more */
	size_t n_members;
	struct company_run *runs;
	uint32_t *of_file; /* per file of resources.h: 1 + its key; 0: none */
	uint32_t *of_dev;  /* per device of a file system: 1 + the key of its server */
	uint32_t n_files, n_devs;
};

void company_free(struct company *c);

/* Notes a use, maybe for the second time; 0 or -ENOMEM. */
int company_uses(struct company *c, const struct company_use *use);
/* Sorts the uses, each once. */
void company_sort_uses(struct company *c);
/* From sorted uses: keys are what more than one machine uses. 0 or -ENOMEM. */
int company_find_keys(struct company *c);
/* The index of KEY, or ETA_NONE. */
uint32_t company_key_index(const struct company *c, const struct company_key *key);

/*
 * An operation of LOCATION from BEGIN to END, its next one on KEY; RUN is what has come before,
 * with `end_ns` 0 none. What is apart from that goes to ENTRIES. 0 or -ENOMEM.
 */
struct company_list {
	struct company_entry *list;
	size_t n, room;
};
int company_operation(const struct company *c, struct company_list *entries,
		      struct company_entry *run, uint64_t begin_ns, uint64_t end_ns);

/*
 * All entries are there: sorts them, and puts together per machine those of locations that have
 * little of a file that many use. MACHINES: per location. 0 or -ENOMEM.
 */
int company_seal(struct company *c, const uint32_t *machines);

/* How sure it is that others were there. */
enum company_found { COMPANY_NONE, COMPANY_MAYBE, COMPANY_SURE };

/*
 * Who of other machines than MACHINE was on KEY between BEGIN and END: calls EACH with each one's
 * location (ETA_NONE: the others of a machine), the part of that time by the clocks, and for how
 * much of it, where that is sure: where operations overlap however the clocks differ.
 * COMPANY_MAYBE: no such, but some that may.
 */
enum company_found company_each(const struct company *c, uint32_t key, uint32_t machine,
				uint64_t begin_ns, uint64_t end_ns,
				void (*each)(void *arg, uint32_t location, uint64_t from_ns,
					     uint64_t to_ns, uint64_t ns),
				void *arg);

#endif

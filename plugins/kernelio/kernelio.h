/* The kernel tracer: BPF probes around the I/O of chosen processes, collected into a spool. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_H
#define KERNELIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "filters.h"
#include "shared.h"

/*
 * Functions return 0 or -errno; a failure has been reported through eta_error (eta_warn where
 * options.optional is set: the caller goes on without the kernel), with what is missing and why.
 * kernelio_new loads, kernelio_start attaches and collects, kernelio_attach takes processes in.
 * Descendants of a process taken in are traced too; the tracer itself never is.
 */
struct kernelio;
struct spool_budget;

/* The filters of a run. All zeros: everything passes. */
struct kernelio_filters {
	struct kernelio_filter constant;
	struct kernelio_filter_key *keys;
	size_t n_keys;
};

/*
 * Adds the value TEXT of filter ID. 0, or -errno with WHY (of SIZE bytes) saying what is wrong with
 * it in a few words. kernelio_filters_free frees what was added.
 */
int kernelio_filter_add(struct kernelio_filters *filters, enum kernelio_filter_id id,
			const char *text, char *why, size_t size);
void kernelio_filters_free(struct kernelio_filters *filters);
/* X(ID, NAME): what a probe can sit on, the best first; backend.c has the rest. */
#define KERNELIO_BACKENDS(X)                                                                       \
	X(FENTRY, "fentry")                                                                        \
	X(KPROBE, "kprobe")                                                                        \
	X(TP_BTF, "tp_btf")                                                                        \
	X(RAW_TP, "raw_tp")                                                                        \
	X(TRACEPOINT, "tracepoint")

enum kernelio_backend {
	KERNELIO_BACKEND_NONE,
#define X(id, name) KERNELIO_BACKEND_##id,
	KERNELIO_BACKENDS(X)
#undef X
		KERNELIO_N_BACKENDS,
};

/* Backends in the order they are tried. */
struct kernelio_order {
	unsigned n;			       /* 0: all of the list, in its order */
	uint8_t backends[KERNELIO_N_BACKENDS]; /* enum kernelio_backend */
};

/* "fentry,tp_btf" -> ORDER. -EINVAL: a name that is none, or one twice. */
int kernelio_order_parse(const char *names, struct kernelio_order *order);
/* "fentry, kprobe, ..." for messages. */
const char *kernelio_backend_names(void);
const char *kernelio_backend_name(unsigned backend);

struct kernelio_options {
	const char *name; /* of the spool, for messages */
	int skip; /* a folder whose own files are left out (another tracer's spool); -1: none */
	const char *command;	    /* noted in the trace, may be NULL */
	size_t ring_bytes;	    /* of each CPU's ring, a power of two; 0: 16 MiB */
	unsigned threads;	    /* traced at the same time at most; 0: 4096 */
	unsigned poll_ms;	    /* how often the rings are emptied; 0: 5 */
	unsigned drain_ms;	    /* how long kernelio_stop waits for bios in flight; 0: 500 */
	unsigned wait_writeback_ms; /* how long it writes out what traced threads left dirty */
	const struct kernelio_filters *filters; /* NULL: none; of use until kernelio_new returns */
	bool everyone;	 /* all tasks of the machine but this process, from kernelio_start on */
	bool owner_only; /* no process of another real user, or with more than owner_rights */
	uint64_t owner_rights; /* bit CAP_* */
	bool clock_reads;      /* in a virtual machine: a few reads of its disks, for its clock */
	bool light;	       /* waits and their causes only, no probe on system calls */
	/* of the records' files, until kernelio_free; shared with other writers, or not; NULL: none
	 */
	struct spool_budget *budget;
	bool optional;		     /* failures are warnings */
	struct kernelio_order order; /* backends to use and no others, required probes excepted */
};

struct kernelio_counts {
	uint64_t produced[KERNELIO_N_TYPES];	/* per record type, by the probes */
	uint64_t recorded[KERNELIO_N_TYPES];	/* in the spool */
	uint64_t lost[KERNELIO_N_TYPES];	/* rings full, no room on disk or in the budget */
	uint64_t overwritten[KERNELIO_N_TYPES]; /* stored, and made room for later ones */
	uint64_t lost_all;
	uint64_t refused; /* of those that were lost: by options.budget */
	uint64_t overwritten_all;
	uint64_t open_ops;	/* operations that had not ended (recorded, without an end) */
	uint64_t open_bios;	/* bios that had not completed (recorded, without an end) */
	uint64_t probes_missed; /* probes skipped in the middle of themselves */
	uint64_t dirty_bytes;	/* dirtied by traced threads and not written back yet */
	uint64_t paused_ns;
	uint32_t taken_threads, taken_processes; /* that ran already when they were attached to */
	struct kernelio_totals totals;
	char lost_where[1024]; /* per level and CPU, "" nothing */
	bool exact;	       /* produced = recorded + overwritten + lost for each type */
};

/*
 * These give 0 or -errno, and but for -ENOMEM the failure has been reported (as a warning, where
 * OPTIONS say that the tracer is optional). One thread calls them, in this order.
 *
 * Finds what the kernel has and loads the probes. *OUT is to be freed by kernelio_free, NULL after
 * a failure. OPTIONS are copied; of what they point to `name` is used until kernelio_free, the rest
 * until this returns. -ENOTSUP: built without the tracer.
 */
int kernelio_new(const struct kernelio_options *options, struct kernelio **out);
/*
 * Begins to record. FOLDER: a descriptor of the spool, which must not hold a trace yet, and where
 * nobody else may write; open until kernelio_free.
 */
int kernelio_start(struct kernelio *k, int folder);
/*
 * All threads of process PID, and what they start from now on; CHILDREN: those that it has already,
 * and theirs, too. Leaves FILE records of the files they have open.
 */
int kernelio_attach(struct kernelio *k, pid_t pid, bool children);

/* Puts the property TEXT, "NAME=value", into the trace, between its start and its stop. */
void kernelio_property(struct kernelio *k, const char *text);

/* While paused nothing new is recorded; processes are followed all the same. */
void kernelio_pause(struct kernelio *k, bool paused);
/*
 * Some lines on how it goes into TEXT of SIZE bytes, cut where they do not suffice: state, events
 * so far, lost ones per level and CPU.
 */
int kernelio_status(struct kernelio *k, char *text, size_t size);

/*
 * Empties the rings into the spool, and writes there what meta would have if the recording ended
 * now, but for the totals: KERNELIO_SNAPSHOT. 0 or -errno, not reported.
 */
#define KERNELIO_SNAPSHOT "meta.snapshot"
#define KERNELIO_DEFINITIONS_NEW "definitions.new"
int kernelio_snapshot(struct kernelio *k);

/* Detaches, drains, closes the spool. COUNTS may be NULL. */
int kernelio_stop(struct kernelio *k, struct kernelio_counts *counts);
/* K may be NULL, or still record: then the trace ends without totals. */
void kernelio_free(struct kernelio *k);

/* What is missing and why, "level: ..." separated by "; "; "": nothing. Until kernelio_free. */
const char *kernelio_missing(const struct kernelio *k);

/* A note (eta_note) for each level: what serves it, what is missing and why. */
void kernelio_levels_print(const struct kernelio *k);

/* A line for each probe: its level, tracepoint or function, what serves it or why nothing does. */
void kernelio_probes_print(const struct kernelio *k, FILE *out);

/*
 * Prints losses and gaps of COUNTS as warnings; ALL, or where something was lost: the totals before
 * them, as notes (eta_note).
 */
void kernelio_counts_print(const struct kernelio_counts *counts, bool all);

#endif

/* Inside of the kernel tracer: its object, and what its files do for each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_INTERNAL_H
#define KERNELIO_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "eta-ext/levels.h"
#include "eta-ext/spool.h"
#include "plugins/kernelio/kernelio.h"
#include "plugins/kernelio/probes.h"

struct kernelio_bpf;
struct ring_buffer;

/* One CPU's side of the collector. */
struct cpu_spool {
	struct kernelio *k;
	struct spool spool;
	uint64_t recorded[KERNELIO_N_TYPES];
	uint64_t lost[KERNELIO_N_TYPES];       /* by the disk: spool_reserve failed */
	uint64_t lost_noted[KERNELIO_N_TYPES]; /* by the ring, in LOSS records so far */
};

struct kernelio {
	struct kernelio_options options;
	char directory[PATH_MAX];
	char command[1024];
	struct kernelio_bpf *bpf;
	struct bpf_link *links[KERNELIO_N_PROBES];
	bool in_use[KERNELIO_N_PROBES];
	char why[KERNELIO_N_PROBES][96]; /* a probe that is not in use: the reason */
	char backends[2048], missing[2048];

	unsigned n_cpus;
	struct cpu_spool *cpus;
	struct ring_buffer *rings;
	struct kernelio_cpu *counters; /* n_cpus of them, as read last */
	struct spool meta;
	pthread_t collector;
	atomic_bool stopping;
	bool collecting;
};

/* probes.c: opens and loads what this kernel takes; fills in_use, why, backends, missing. */
int probes_load(struct kernelio *k);
int probes_attach(struct kernelio *k);
void probes_detach(struct kernelio *k);
/* Runs the task iterator: takes in process TGID, or (0) ends the operations still open. */
int probes_each_task(struct kernelio *k, pid_t tgid);

/* How often the kernel skipped a probe because it was running on that CPU already. */
uint64_t probes_missed(const struct kernelio *k);

/* collect.c */
int collect_start(struct kernelio *k);
/* Ends the collector's thread after emptying the rings. */
void collect_end(struct kernelio *k);
/* Records of bios in flight; their number. */
uint64_t collect_open_bios(struct kernelio *k);
int collect_counts(struct kernelio *k, struct kernelio_counts *counts);
void collect_close(struct kernelio *k);

/* meta.c */
int meta_create(struct kernelio *k);
void meta_close(struct kernelio *k, const struct kernelio_counts *counts);
void meta_header(struct eta_spool_header *header, enum eta_spool_kind kind);

#endif

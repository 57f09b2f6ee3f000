/* Inside of the kernel tracer: its object, and what its files do for each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef KERNELIO_INTERNAL_H
#define KERNELIO_INTERNAL_H

#include <stdio.h>
#include <pthread.h>
#include <stdatomic.h>

#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/base/levels.h"
#include "eta-ext/format/spool.h"
#include "kernelio.h"
#include "probes.h"
#include "ring-layout.h"
#include "syscall-list.h"

struct bpf_map;
struct btf;
struct kernelio_bpf;
struct ring_buffer;

/* One CPU's side of the collector. */
struct cpu_spool {
	struct kernelio *k;
	struct spool spool;
	struct kernelio_ring *ring; /* of calls */
	size_t round_bytes;	    /* taken out of its rings this time */
	uint64_t recorded[KERNELIO_N_TYPES];
	uint64_t lost[KERNELIO_N_TYPES];       /* by the disk: spool_reserve failed */
	uint64_t refused;		       /* of those by the budget */
	uint64_t lost_noted[KERNELIO_N_TYPES]; /* by the ring, in LOSS records so far */
};

/* How much of the page cache was dirty when. */
#define DIRTY_SAMPLES 1024
struct dirty {
	int fd;		  /* -1: cannot be known */
	uint64_t step_ns; /* 0: not open */
	uint64_t looked_ns;
	bool busy;	      /* something was recorded since */
	pthread_mutex_t lock; /* of what follows */
	unsigned n;
	struct dirty_sample {
		uint64_t time_ns, kib;
	} samples[DIRTY_SAMPLES];
};

struct kernelio {
	FILE *kallsyms;	     /* NULL: cannot be opened */
	bool asked_listener; /* threads waited for who answers fanotify */
	struct kernelio_options options;
	char directory[FOLDER_PATH_BYTES]; /* the spool, whose name is options.name */
	char command[1024];
	struct kernelio_filter filter;
	const struct kernelio_filter_key *filter_keys; /* the caller's, until loaded */
	size_t n_filter_keys;
	struct kernelio_bpf *bpf;
	struct bpf_link *links[KERNELIO_N_PROBES][2];
	struct bpf_link **fault_links; /* n_cpus of them: the end of major faults */
	uint32_t loop_file_offset, pinned_bios;
	uint32_t file_systems; /* of KERNELIO_FS_MODULES: those whose types were found */
	bool takes[KERNELIO_N_PROBES][KERNELIO_N_BACKENDS];
	uint8_t backend[KERNELIO_N_PROBES];    /* in use: enum kernelio_backend */
	char why[KERNELIO_N_PROBES][96];       /* a probe that is not in use: the reason */
	char why_not[KERNELIO_N_BACKENDS][96]; /* a backend that is not in use: the reason */
	char levels[ETA_N_LEVELS][1024];       /* a line each: what is in use, what is missing */
	char backends[4096], missing[2048];

	unsigned n_cpus;
	unsigned char *op_rings; /* n_cpus struct kernelio_ring, mapped; NULL: not */
	int *ring_fds;		 /* n_cpus of them, -1: none */
	uint64_t pause_ns,
		paused_ns; /* since when it is paused, 0: it is not; for how long in all */
	struct cpu_spool *cpus;
	/* what must outlive the records of the CPUs, where those are written over; NULL: they are
	 * not */
	struct definitions *definitions;
	struct ring_buffer *rings;
	struct kernelio_cpu *counters; /* n_cpus of them, as read last */
	struct spool meta;
	uint64_t suspended_ns; /* when meta was made */
	struct dirty dirty;
	struct clock_reads *clock_reads; /* NULL: none */
	pthread_t collector;
	atomic_bool stopping;
	atomic_uint rounds; /* how often the rings were emptied */
	bool collecting;
};

/* probes.c: opens and loads what this kernel takes; fills backend, why, levels and so on. */
int probes_load(struct kernelio *k);
int probes_attach(struct kernelio *k);
void probes_detach(struct kernelio *k);
/* Who is to be named, and ends before probes_each_task() comes to it, is named by the last one. */
void probes_detach_but_exits(struct kernelio *k);
/* Does a level that is asked for need the probes of LEVEL? */
bool probes_wants(const struct kernelio *k, enum eta_level level);

/* light.c: does it go with the other options? 0, or -EINVAL, which has been reported. */
int light_check(const struct kernelio *k);
/* Is row I one of the light mode's? Its spans, as kernelio_filter has them. */
bool light_has(size_t i);
uint64_t light_spans(void);

#define KERNEL_BTF_DIRECTORY "/sys/kernel/btf"

/* probes-present.c: PRESENT of each row: 0 absent, the BTF id of a function of vmlinux, else -1. */
void probes_find_present(struct btf *vmlinux, int *present);

/* layouts.c: where struct loop_device has its file, in bytes; 0: not known (no module, no types).
 */
uint32_t loop_file_offset(struct btf *vmlinux);
/* The flag of a bio whose pages are the program's own, pinned; 0: the kernel has none (before 6.3).
 */
uint32_t pinned_bios(const struct btf *vmlinux);

/*
 * modules.c: which file systems are in PRESENT; those whose module is loaded and has no types; a
 * warning of each that came after; a line each.
 */
void modules_note(struct kernelio *k, const int *present);
void modules_say_without_types(const struct kernelio *k, char *text, size_t size);
void modules_warn_late(struct kernelio *k);
void modules_print(const struct kernelio *k, FILE *out);

/*
 * iterators.c: runs the task iterator: takes in process TGID, with those that came of it if
 * CHILDREN, or (0) ends the operations still open.
 */
int probes_each_task(struct kernelio *k, pid_t tgid, bool children);
/* The same over nothing: the probes learn which process the tracer is. */
int probes_find_tracer(struct kernelio *k);
/* Finds who listens to fanotify: listener_tgid, listeners. */
int probes_each_listener(struct kernelio *k);
/* FILE records of what process TGID, or (0) every one that was taken in, has open. */
int probes_each_file(struct kernelio *k, pid_t tgid);

#define PROBES_ABSENT "is not in this kernel"
#define PROBES_REPLACED "replaced by the bounds of "
#define PROBES_LIGHT "left out by the light mode"

/* probes-say.c: the rows, and the lines of the levels, out of backend, why and why_not. */
const struct probe *probes_row(size_t i);
void probes_describe(struct kernelio *k);

/*
 * faults.c: the end of major page faults, which no tracepoint reports, but the kernel's own count
 * of them does. 0, or -errno with WHY (of SIZE bytes) saying what is refused.
 */
int faults_attach(struct kernelio *k, char *why, size_t size);
void faults_detach(struct kernelio *k);

/* How often the kernel skipped a probe because it was running on that CPU already. */
uint64_t probes_missed(const struct kernelio *k);

/* sleeps.c */
/* The kernel shows addresses to whom may see them when the file is opened: before rights go. */
void sleeps_open(struct kernelio *k);
void sleeps_close(struct kernelio *k);
/*
 * Gives PUT each place where operations slept: the id in their spans, and "REGION\nFUNCTION\n...".
 * -errno where the kernel's symbols cannot be read: sleeps are without their places then.
 */
int sleeps_list(struct kernelio *k, void (*put)(struct kernelio *k, uint32_t id, const char *text));

/* listener.c: the process that answers fanotify, 0 if not known; its name is read with others'. */
uint32_t listener_find(struct kernelio *k);

/* limits.c: the limits that threads waited for, as a property. */
void limits_put(struct kernelio *k);
/*
 * waking.c: gives PUT the calls that threads waited for between their own, "NAME=VALUE"; before
 * loading, by which calls threads do so.
 */
void wakings_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text));
void waking_prepare(struct kernelio_bpf *bpf);
/* asleep.c: gives PUT in which calls threads slept outside of their operations, "NAME=VALUE". */
void asleep_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text));
/* worked.c: the same, for whom kernel threads wrote. */
void worked_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text));
/*
 * map-entries.c: *ENTRIES are all of MAP, a key and its value each, one behind the other, and the
 * caller's to free; NULL: no memory. Returns how many.
 */
size_t map_entries(const struct bpf_map *map, void **entries);
/* How long the machine has been suspended since it was started; and since meta_create(). */
uint64_t suspended_ns(void);
void suspension_tell(struct kernelio *k);

/*
 * dirty.c: how much of the page cache is dirty, looked at by the collector, BUSY if there were
 * records since the last time; once more at its end; gives PUT "NAME=VALUE" as properties.
 */
void dirty_open(struct kernelio *k, uint64_t now_ns);
void dirty_sample(struct kernelio *k, uint64_t now_ns, bool busy);
void dirty_end(struct kernelio *k, uint64_t now_ns);
void dirty_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text));
void dirty_close(struct kernelio *k);

/*
 * clock-reads.c: in a virtual machine, reads that its host sees; opens the disks while there are
 * rights for it, reads before the begin and after the end of the recording, gives PUT "NAME=VALUE".
 * Nothing where there are none.
 */
void clock_reads_open(struct kernelio *k);
void clock_reads_take(struct kernelio *k);
void clock_reads_put(struct kernelio *k, void (*put)(struct kernelio *k, const char *text));
void clock_reads_close(struct kernelio *k);

/* rings.c: a CPU's two rings share what options.ring_bytes gives. */
size_t ring_bytes_of_calls(const struct kernelio *k);
/* Says their sizes to an object that is not loaded yet; makes and maps them; lets go of them. */
int rings_prepare(struct kernelio *k, struct kernelio_bpf *bpf);
int rings_make(struct kernelio *k);
void rings_close(struct kernelio *k);
struct kernelio_ring *ring_of(const struct kernelio *k, unsigned cpu);
/* Moves the finished calls of a CPU into its spool. */
void ring_take(struct cpu_spool *cpu);
/* N records of TYPE could not be stored, which the spool has counted as one. */
void ring_lost(struct cpu_spool *cpu, unsigned type, uint64_t n);

/* collect.c */
int collect_start(struct kernelio *k);
/* Returns once all that was in the rings is in the spool. */
void collect_now(struct kernelio *k);
/* The same of asynchronous operations that have not completed. */
uint64_t collect_open_asyncs(struct kernelio *k);
/* How many records of the CPUs' files were written over, of each type. */
void collect_overwritten(const struct kernelio *k, uint64_t n[KERNELIO_N_TYPES]);
/* Ends the collector's thread after emptying the rings. */
void collect_end(struct kernelio *k);
/* Records of bios in flight; their number. */
uint64_t collect_open_bios(struct kernelio *k);
int collect_counts(struct kernelio *k, struct kernelio_counts *counts);
void collect_close(struct kernelio *k);

/*
 * definitions.c: FILE, TASK and LOSS records of all CPUs in a file of their own, each once. *OUT:
 * NULL where the CPUs' files keep all of their records. 0 or -errno.
 */
int definitions_new(struct kernelio *k, struct definitions **out);
void definitions_free(struct definitions *definitions);
struct spool *definitions_spool(struct definitions *definitions);
/* Is it one of those, and there already? */
bool definitions_take(const struct eta_record_head *head);
bool definitions_known(struct definitions *definitions, const struct eta_record_head *head,
		       const void *rest, size_t rest_bytes);
/* A record that is of a file, or a task. */
void definitions_used(struct definitions *definitions, const struct eta_record_head *head);
/*
 * If the file is large: leaves out of it what is of files and tasks of which nothing was recorded
 * lately. Another thread that reads it calls definitions_fix first.
 */
void definitions_trim(struct definitions *definitions);
void definitions_fix(struct definitions *definitions);

/* loss.c: what was lost where, in words and as properties; once the counters have been read. */
void loss_describe(const struct kernelio *k, char *text, size_t size);
void loss_properties(struct kernelio *k);

/* writeback.c: starts writing out the files met, for options.wait_writeback_ms; what is left. */
unsigned writeback_flush(struct kernelio *k);

/* meta.c */
/* Appends to TEXT, which has room for SIZE bytes, cut where they do not suffice. */
__attribute__((format(printf, 3, 4))) void text_append(char *text, size_t size, const char *format,
						       ...);

__attribute__((format(printf, 2, 3))) void meta_property(struct kernelio *k, const char *format,
							 ...);
int meta_create(struct kernelio *k);
/* What meta would have now, but for the totals, in a file of its own: KERNELIO_SNAPSHOT. */
int meta_snapshot(struct kernelio *k);
/* The places where threads slept, when the probes are off, and before tasks get their names. */
void meta_places(struct kernelio *k);
void meta_close(struct kernelio *k, const struct kernelio_counts *counts);
void meta_header(struct eta_spool_header *header, enum eta_spool_kind kind);

#endif

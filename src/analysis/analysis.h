/* The analysis of a trace: options in, scores of threads, classes and the application out. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYSIS_H
#define SCI_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/eta.h"
#include "cells.h"
#include "operations.h"
#include "reference.h"
#include "verdict.h"

enum sci_kind {
	SCI_DEFAULT, /* slowdown that others caused / life */
	SCI_PAPER,   /* all slowdown / life, as published */
};

struct analysis_options {
	enum sci_kind sci;
	enum similar similar;
	enum reference_kind reference;
	double quantile;  /* of REFERENCE_QUANTILE */
	unsigned threads; /* 0: as many as CPUs */
	bool callsites;	  /* tell the places in the program apart */
};

/* Slowdown of a thread in all its parts; each line of sums is exact. */
struct slowdown {
	int64_t lost_ns; /* against its likes; = sum of cell_ns */
	int64_t cell_ns[N_CELLS];
	int64_t contended_ns; /* = sum of contended_cell_ns; lost - contended is its own */
	int64_t contended_cell_ns[N_CELLS];
	/* Beside it, not in it: what the operations would have saved on the shortest path. */
	int64_t path_ns;
};

struct thread_score {
	uint32_t location; /* index into the definitions */
	bool scored;	   /* false: a kernel thread, its life means nothing */
	uint64_t events;
	uint64_t life_ns;
	uint64_t io_ns; /* sum of the durations of operations */
	uint64_t operations;
	uint64_t truncated;	   /* operations among them that the trace's end cut */
	uint64_t low_confidence;   /* operations whose class has no sure reference */
	uint64_t time_ns[N_CELLS]; /* = io_ns in sum */
	struct slowdown slowdown;
	double sci, sci_low, sci_high, sci_io; /* paper: low and high equal sci */
	struct verdict verdict;
};

struct class_score {
	const char *function;
	const char *path;    /* "direct", "cached", "submitted", "waited"; "" unknown */
	uint64_t size_bytes; /* lower bound of the size class; 0: none */
	uint64_t key;	     /* for a stable order */
	uint64_t n;	     /* finished operations */
	uint64_t truncated;
	uint64_t reference_ns, min_ns, p50_ns, p99_ns, max_ns, sum_ns;
	int64_t lost_ns;
	int64_t level_ns[ETA_N_LEVELS]; /* = lost_ns in sum */
	bool low_confidence;
	uint8_t mode; /* enum operation_mode */
};

/* A place in a file of code. */
struct code_place {
	uint64_t address;     /* return address in one of the processes; 0: not known */
	uint32_t module;      /* index into the definitions, ETA_NONE */
	uint64_t offset;      /* return address as in the module's file */
	const char *function; /* "" unknown, as is the file */
	const char *file;
	unsigned line;
};

/* A place where calls were made; all of them together make the application. */
struct callsite_score {
	struct code_place place;
	struct code_place from; /* of a library's call: what in the program led to it */
	uint32_t region;	/* the function called; ETA_NONE: several */
	uint64_t n;
	uint64_t sum_ns;
	struct slowdown slowdown;
	struct verdict verdict;
};

struct analysis {
	const struct eta_defs *defs;
	struct analysis_options options;
	struct eta_counts counts; /* of the trace, the walk's own included */
	uint64_t duration_ns;
	uint64_t events;
	uint64_t operations;
	uint64_t truncated;	      /* operations */
	uint64_t low_confidence;      /* operations */
	uint64_t open_bios;	      /* block requests whose completion was not seen */
	bool has_levels;	      /* below user */
	struct thread_score *threads; /* no devices; descending score, then location */
	uint32_t n_threads;
	struct class_score *classes; /* descending loss */
	uint32_t n_classes;
	struct callsite_score *callsites; /* descending time taken by others, or lost */
	uint32_t n_callsites;
	double sci_max, sci_total;
	uint32_t max_thread;	   /* index into threads; ETA_NONE without any scored */
	uint64_t io_ns, life_ns;   /* of scored threads */
	uint64_t time_ns[N_CELLS]; /* = io_ns in sum */
	struct slowdown slowdown;
	struct verdict verdict;
};

int analysis_run(struct eta_trace *trace, const struct analysis_options *options,
		 struct analysis **out);
void analysis_free(struct analysis *analysis);

#endif

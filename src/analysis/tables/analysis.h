/* The analysis of a trace: options in, scores of threads, classes and the application out. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYSIS_H
#define SCI_ANALYSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/base/eta.h"
#include "cells.h"
#include "habits.h"
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
	double quantile;	    /* of REFERENCE_QUANTILE */
	struct eta_trace *baseline; /* of REFERENCE_BASELINE */
	unsigned threads;	    /* 0: as many as CPUs */
	bool callsites;		    /* tell the places in the program apart */
	bool files;		    /* and the files */
	uint32_t n_bins;     /* and when it was: divide the trace's time into so many; 0: not */
	uint32_t n_culprits; /* of a thread, the rest of them are one entry; 0: all */
	bool habits;	     /* how the I/O is done, whatever was lost; with SCI_DEFAULT */
	bool squares;	     /* sum squares of times, for the spread of means */
	/*
	 * As version 1 of json has it: culprits share all that was lost, not the interference; the
	 * largest score comes first, not who lost most.
	 */
	bool version_1;
	/*
	 * Only operations that begin in this part of the trace, from its first event on; to_ns 0:
	 * to its end. Lives are cut to it, and so are the overlaps that decide what is contended.
	 */
	uint64_t from_ns, to_ns;
	/* told now and then, by any thread but one at a time; not 0: stop (-ECANCELED). Or NULL */
	int (*progress)(void *arg, uint64_t events_done);
	void *progress_arg;
};

/* Slowdown of a thread in all its parts; each line of sums is exact. */
struct slowdown {
	int64_t lost_ns; /* against its likes; = sum of cell_ns */
	int64_t cell_ns[N_CELLS];
	int64_t contended_ns; /* = sum of contended_cell_ns */
	int64_t contended_cell_ns[N_CELLS];
	int64_t limit_ns; /* lost to limits set on it; lost - contended - limit is its own */
	/* Beside it, not in it: what the operations would have saved on the shortest path. */
	int64_t path_ns;
};

/* Interference that somebody caused to a thread, or to all. */
struct blame {
	uint32_t location; /* index into the definitions; ETA_NONE: not in the trace */
	uint32_t tid;	   /* 0, without a location: nobody was seen to be there, or the rest */
	uint32_t machine;  /* with a tid alone: whose (eta_machine) */
	uint32_t culprits; /* 1; 0: nobody; with options.n_culprits, how many the rest are */
	int64_t ns;
	int64_t named_ns; /* of it, because the kernel named them; the rest by overlap */
};

/* What begins in, or spreads over, a part of the trace's time. */
struct bin {
	uint64_t operations; /* begun */
	uint64_t io_ns;
	int64_t lost_ns;
	int64_t contended_ns;
	int64_t limit_ns;
	int64_t level_ns[ETA_N_LEVELS]; /* = contended_ns in sum; = lost_ns with SCI_PAPER */
};

struct thread_score {
	uint32_t location; /* index into the definitions */
	bool scored;	   /* false: a kernel thread, its life means nothing */
	uint64_t events;
	uint64_t first_ns, last_ns; /* events */
	uint64_t life_ns;
	uint64_t io_ns;	   /* sum of the durations of operations */
	uint64_t ready_ns; /* between operations, while others had the CPU */
	uint64_t operations;
	uint64_t truncated;	   /* operations among them that the trace's end cut */
	uint64_t low_confidence;   /* operations whose class has no sure reference */
	uint64_t time_ns[N_CELLS]; /* = io_ns in sum */
	struct slowdown slowdown;
	/* in waits that the reference has as well, while others were there: not in the score */
	int64_t alike_ns;
	double sci, sci_low, sci_high, sci_io; /* paper: low and high equal sci */
	double sure; /* what of sci is no chance: decides whether there is a verdict */
	struct verdict verdict;
	/* descending time, then the rest, then nobody; = slowed_ns in sum */
	const struct blame *blame;
	uint32_t n_blame;
	uint64_t slowed_ns;	/* sum over operations and levels of interference, where any was */
	const struct bin *bins; /* options.n_bins; NULL without operations */
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
	unsigned __int128 square;	/* of all durations, truncated ones too; options.squares */
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

/* What was done to a file, and lost; a file that is not known has no inode and no path. */
struct file_score {
	const char *path; /* "" unknown */
	uint32_t machine; /* eta_machine */
	uint32_t dev;
	uint64_t inode;
	uint64_t operations;
	uint64_t bytes_read, bytes_written;
	uint64_t io_ns;
	unsigned __int128 square; /* of the durations */
	struct slowdown slowdown;
	struct verdict verdict;
};

/* A limit that threads waited for, as the kernel tracer left it in the trace. */
struct limit {
	enum eta_level level;
	enum eta_reason reason;
	uint64_t ns;	  /* all traced threads together, also outside of operations */
	const char *what; /* "20 % of a CPU (...) for control group /a" */
};

/* Calls of a function. */
struct function_habit {
	const char *name; /* as programs call it */
	uint64_t n, ns, bytes;
};

/* What was done to a file, and how. */
struct file_habit {
	const char *path; /* "" unknown */
	uint32_t dev;
	uint64_t inode;
	struct habit habit;
};

/*
 * A process with operations, and how much shorter it would be: along its critical path, the threads
 * and processes it waited for the end of.
 */
struct process_score {
	uint32_t process;	  /* index into the definitions */
	uint64_t wall_ns;	  /* from its first event to its last */
	int64_t saved_ns;	  /* of it, without the cause that its verdict names */
	int64_t saved_all_ns;	  /* without anything that others took */
	struct slowdown slowdown; /* of all its threads */
	struct verdict verdict;	  /* of what was lost along the path */
};

struct analysis {
	const struct eta_defs *defs;
	struct analysis_options options;
	struct eta_counts counts; /* of the trace, the walk's own included */
	uint64_t begin_ns;	  /* the first event */
	uint64_t before_ns;	  /* from_ns: what of the trace lies before that */
	uint64_t duration_ns;
	uint64_t events;
	uint64_t operations;
	uint64_t truncated;	 /* operations */
	uint64_t low_confidence; /* operations */
	uint64_t open_bios;	 /* block requests whose completion was not seen */
	bool has_levels;	 /* below user */
	/* no devices; descending interference, or score (SCI_PAPER, version_1), then location */
	struct thread_score *threads;
	uint32_t n_threads;
	struct class_score *classes; /* descending loss */
	uint32_t n_classes;
	struct callsite_score *callsites; /* descending time taken by others, or lost */
	uint32_t n_callsites;
	struct file_score *files; /* descending time taken by others, then lost */
	uint32_t n_files;
	struct process_score *processes; /* descending saved_ns, then the shortest; SCI_DEFAULT */
	uint32_t n_processes;
	/* options.habits, of scored threads; descending time */
	struct function_habit *function_habits;
	uint32_t n_function_habits;
	struct file_habit *file_habits;
	uint32_t n_file_habits;
	/*
	 * Per process, where others have its name, too: what it was called with, from where these
	 * differ; else NULL.
	 */
	const char **command_lines;
	bool any_command_line;
	const struct blame *blame; /* of scored threads, as theirs */
	uint32_t n_blame;
	const struct bin *bins;	 /* options.n_bins, of scored threads */
	struct blame *all_blame; /* what the pointers above and of the threads point into */
	struct bin *all_bins;
	struct limit *limits; /* descending time */
	uint32_t n_limits;
	char *limits_text;     /* that their texts are in */
	char *limit_advice;    /* the verdict's; NULL: not of a limit */
	uint64_t suspended_ns; /* the machine was, which no clock of the trace counts */
	double sci_max, sci_total;
	uint32_t max_thread;	   /* with sci_max: index into threads; ETA_NONE: none is scored */
	uint32_t headline;	   /* who lost most; the same */
	uint64_t io_ns, life_ns;   /* of scored threads */
	uint64_t time_ns[N_CELLS]; /* = io_ns in sum */
	/* with options.squares: of the durations of operations, and of their times at a level */
	unsigned __int128 square, level_square[ETA_N_LEVELS];
	struct slowdown slowdown;
	int64_t alike_ns;  /* of scored threads */
	bool slowed_alike; /* that is most of the time in operations: only a run alone tells more */
	struct verdict verdict;
};

/* Where the bin NUMBER of N begins in a trace so long. */
static inline uint64_t analysis_bin_begin(uint64_t duration_ns, uint32_t number, uint32_t n)
{
	return (uint64_t)((unsigned __int128)duration_ns * number / n);
}

/* VERDICT_* for its verdicts. */
static inline unsigned analysis_verdict_options(const struct analysis *a)
{
	bool adds_cpu = a->options.sci == SCI_DEFAULT && !a->options.version_1;

	return (a->has_levels ? VERDICT_KNOWS_LEVELS : 0) | (adds_cpu ? VERDICT_ADDS_CPU : 0);
}

int analysis_run(struct eta_trace *trace, const struct analysis_options *options,
		 struct analysis **out);
void analysis_free(struct analysis *analysis);

/* For sums over threads and files. */
void slowdown_add(struct slowdown *sum, const struct slowdown *more);

/* What the score counts of it: what others and limits took; with SCI_PAPER all that was lost. */
int64_t slowdown_counted(const struct slowdown *s, enum sci_kind sci);
void slowdown_counted_cells(const struct slowdown *s, enum sci_kind sci, int64_t ns[N_CELLS]);

/* The rest of what was lost: its own variation. */
static inline int64_t slowdown_self(const struct slowdown *s)
{
	return s->lost_ns - s->contended_ns - s->limit_ns;
}

#endif

/* Rows of the tables of an analysis: threads, classes, callsites, files, processes, ... */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SCORES_H
#define SCI_SCORES_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/base/eta.h"
#include "habits.h"
#include "operations.h"
#include "slowdown.h"
#include "verdict.h"

#define BLAME_OUTSIDE UINT32_MAX /* somebody, but no thread of the trace */

/* Interference that somebody caused to a thread, or to all. */
struct blame {
	uint32_t location; /* index into the definitions; ETA_NONE: not in the trace */
	uint32_t tid;	   /* 0 without a location: nobody was seen, or the rest */
	uint32_t machine;  /* with a tid alone: its machine (eta_machine); without: BLAME_OUTSIDE */
	uint32_t culprits; /* 1; 0: nobody; with options.n_culprits, how many the rest are */
	int64_t ns;
	int64_t named_ns; /* the part that the kernel named; the rest by overlap */
};

static inline bool blame_is_outside(const struct blame *b)
{
	return b->location == ETA_NONE && !b->tid && b->machine == BLAME_OUTSIDE;
}

/* An interval of the trace's time: what begins in it, and its part of what spreads over it. */
struct bin {
	uint64_t operations; /* begun */
	uint64_t io_ns;
	int64_t lost_ns;
	int64_t interference_ns;
	int64_t limit_ns;
	int64_t level_ns[ETA_N_LEVELS]; /* = interference_ns in sum; = lost_ns with SCI_PAPER */
};

struct thread_score {
	uint32_t location; /* index into the definitions */
	bool scored;	   /* false: a kernel thread, its lifetime means nothing */
	bool serves;	   /* a track, or a thread that waits for what others have submitted */
	uint64_t events;
	uint64_t first_ns, last_ns; /* events */
	uint64_t lifetime_ns;
	uint64_t io_ns;	   /* sum of the durations of operations */
	uint64_t ready_ns; /* between operations, while others had the CPU */
	uint64_t operations;
	uint64_t calls;		   /* of them, those that are no faults */
	uint64_t truncated;	   /* operations cut by the trace's end */
	uint64_t low_confidence;   /* operations whose class has too few for a sure reference */
	uint64_t time_ns[N_CELLS]; /* = io_ns in sum */
	uint64_t host_ns[ETA_N_LEVELS]; /* of it: a guest's, in its host */
	struct slowdown slowdown;
	/* waits that the reference has, too, while others were there: not in the score */
	int64_t alike_ns;
	/* of what was lost as its own: where others may have been that are not seen */
	int64_t undecided_ns;
	double sci, sci_low, sci_high, sci_io; /* paper: low and high equal sci */
	double sure; /* the part of sci that is not by chance: decides whether there is a verdict */
	struct verdict verdict;
	/* descending time, then the rest, then nobody; = slowed_ns in sum */
	const struct blame *blame;
	uint32_t n_blame;
	uint64_t slowed_ns; /* sum over operations and levels of interference, where any was */
	struct bin *bins;   /* its own: options.n_bins; NULL without operations */
};

/* Where the time went of the threads that did all but a little of the I/O. */
struct io_times {
	uint64_t lifetime_ns, in_calls_ns;
	uint64_t ready_ns; /* between operations, while others had the CPU */
	uint64_t operations;
	uint32_t threads;
};

/* What a thread of the baseline did between its operations. */
struct thread_times {
	char *name; /* of its program or itself */
	uint64_t calls;
	uint64_t outside_ns; /* between operations, at work or in futex */
	uint64_t ready_ns;   /* of it, while others had the CPU */
	uint64_t lifetime_ns;
	uint64_t first_ns;
	uint32_t index; /* into the threads that it is from */
};

struct baseline_times {
	struct thread_times *list; /* ascending name, calls, begin */
	uint32_t n;
};

struct class_score {
	const char *function;
	const char *path;    /* "direct", "cached", "submitted", "waited"; "" unknown */
	uint64_t size_bytes; /* lower bound of the size class; 0: none */
	uint64_t key;	     /* for a stable order */
	uint64_t n;	     /* finished operations */
	uint64_t truncated;
	uint64_t reference_ns, min_ns, p50_ns, p99_ns, max_ns, total_ns;
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
	uint64_t total_ns;
	unsigned __int128 square; /* of the durations; options.squares */
	struct slowdown slowdown;
	struct verdict verdict;
};

/* Operations on a file, and what they lost; an unknown file has no inode and no path. */
struct file_score {
	const char *path;  /* "" unknown */
	uint32_t machine;  /* eta_machine; of several the first */
	uint32_t machines; /* that used it: one on a network file system is one for all */
	uint32_t dev;	   /* on that machine */
	uint64_t inode;
	uint64_t operations;
	uint64_t bytes_read, bytes_written;
	uint64_t io_ns;
	unsigned __int128 square; /* of the durations */
	struct slowdown slowdown;
	struct verdict verdict;
};

/* A limit that threads waited for, as the kernel tracer recorded it. */
struct limit {
	enum eta_level level;
	enum eta_reason reason;
	uint64_t ns;	  /* all traced threads together, also outside of operations */
	const char *what; /* "20 % of a CPU (...) for control group /a" */
};

/*
 * Waits between operations: of all threads, until another one woke them that had been in FUNCTION
 * meanwhile, for so long; or sleeps of a thread in FUNCTION, and what that is of.
 */
struct between {
	const char *function; /* its name in programs, or a region's */
	uint64_t ns, n;
	/* who waited longest at once, or slept; ETA_NONE: not in the trace */
	uint32_t location;
};

/* An untraced task that has no location. */
struct task_name {
	uint32_t tid;
	char name[16];	 /* comm */
	char thread[32]; /* as a location would be called */
};

/* The calls of a function. */
struct function_habit {
	const char *name; /* its name in programs */
	uint64_t n, ns, bytes;
	bool asynchronous; /* all were on tracks: their time is no part of a lifetime */
};

/* How a file was accessed. */
struct file_habit {
	const char *path; /* "" unknown */
	uint32_t files;	  /* of this inode, one after the other; `habit` is of all of them */
	uint32_t machine; /* eta_machine */
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
	int64_t saved_ns;	  /* how much shorter without the cause that its verdict names */
	int64_t saved_all_ns;	  /* how much shorter without any interference */
	int64_t saved_most_ns;	  /* saved_ns, if waits beside others were all due to those */
	struct slowdown slowdown; /* of all its threads */
	struct verdict verdict;	  /* of what was lost along the path */
};

#endif

/* The analysis of a trace: options in, scores of threads, classes and the application out. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ANALYSIS_H
#define SCI_ANALYSIS_H

#include "analysis-options.h"
#include "eta-ext/trace/ranks.h"
#include "scores.h"
#include "slowed.h"

struct analysis {
	const struct eta_defs *defs;
	struct analysis_options options;
	struct eta_counts counts; /* of the trace, with what the walk found */
	uint64_t begin_ns;	  /* the first event */
	uint64_t before_ns;	  /* with from_ns: length of the trace before it */
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
	 * Per process, where others have the same name: the part of its command line that
	 * distinguishes it; else NULL.
	 */
	const char **command_lines;
	struct rank *ranks; /* per process */
	bool any_command_line;
	const struct blame *blame; /* of scored threads, as theirs */
	uint32_t n_blame;
	struct bin *bins;	   /* options.n_bins, of scored threads together */
	struct blame *all_blame;   /* where the lists above and those of threads are */
	struct slowed_list slowed; /* options.n_slowed: the operations that lost most, descending */
	struct limit *limits;	   /* descending time */
	uint32_t n_limits;
	char *limits_text;	 /* memory of their texts */
	struct between *between; /* descending time */
	uint32_t n_between;
	char *between_text;
	struct between *asleep; /* the same; a thread and a call each */
	uint32_t n_asleep;
	char *asleep_text;
	struct task_name *task_names; /* ascending tid */
	uint32_t n_task_names;
	char *limit_advice;    /* of a verdict that is a limit, or eviction; else NULL */
	bool light;	       /* of the kernel only waits were recorded: SCI::KERNEL_MODE */
	uint64_t overwritten;  /* records that made room for later ones: --last */
	uint64_t suspended_ns; /* time the machine was suspended, in no clock of the trace */
	double sci_max, sci_total;
	uint32_t max_thread; /* with sci_max: index into threads; ETA_NONE: none is scored */
	uint32_t headline;   /* the one that lost most, likewise */
	uint64_t io_ns, lifetime_ns;		    /* of scored threads */
	struct baseline_times baseline_times;	    /* none: not known */
	uint64_t baseline_io_ns, baseline_ready_ns; /* in its operations; of that without a CPU */
	uint64_t time_ns[N_CELLS];		    /* = io_ns in sum */
	/* with options.squares: of the durations of operations, and of their times at a level */
	unsigned __int128 square, level_square[ETA_N_LEVELS];
	struct slowdown slowdown;
	int64_t alike_ns;     /* of scored threads */
	int64_t undecided_ns; /* the same */
	bool slowed_alike;    /* alike_ns is most of the time in operations */
	struct verdict verdict;
};

/* Where bin NUMBER of N begins in a trace of that length. */
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

/* The verdict of what lost S in a time of OF_NS. */
static inline struct verdict analysis_verdict(const struct analysis *a, const struct slowdown *s,
					      uint64_t of_ns)
{
	int64_t counted = slowdown_counted(s, a->options.sci), cells[N_CELLS];
	double share = of_ns ? (double)counted / (double)of_ns : 0;

	slowdown_counted_cells(s, a->options.sci, cells);
	return verdict_of(cells, share, share, analysis_verdict_options(a));
}

/*
 * Scores TRACE, which stays open as long as *OUT is used. 0; -errno, reported, and *OUT NULL:
 * -ENOMEM, -EINVAL (nothing is left of the time), -ECANCELED by options->progress. The scores are
 * described in doc/score.md.
 */
int analysis_run(struct eta_trace *trace, const struct analysis_options *options,
		 struct analysis **out);
void analysis_free(struct analysis *analysis);
/* The name of the untraced task TID that has no location; NULL: not known. */
const struct task_name *analysis_task_name(const struct analysis *a, uint32_t tid);

/* Of A with scored threads: sorts them, makes the sums, the headline and the verdict of all. */
void analysis_rank(struct analysis *a);

#endif

/* The passes of an analysis: each fills a part of the engine, or of the result. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PASSES_H
#define SCI_PASSES_H

#include "src/analysis/tables/engine.h"

/* analysis.c: OPTIONS are copied; engine_close, also on failure. */
int engine_open(struct engine *e, struct eta_trace *trace, const struct analysis_options *options);
void engine_close(struct engine *e);
/* The pass over all locations, with the part of the time it covers. */
int engine_read(struct engine *e);

/* pass.c: all locations to tallies, classes and the spill. */
int engine_pass(struct engine *e);
void engine_locations_free(struct engine *e);
/* thread-of.c: fills `thread_of`; tracks live as long as their thread. */
int engine_thread_of(struct engine *e);
/* company.c: what other machines did meanwhile; RC as in engine-exchange.h. */
int engine_company(struct engine *e, int rc);
/* Which files and devices of this process several machines use: once it has met others. */
int engine_company_numbers(struct engine *e);
/* references.c: falls back, finds the bounds. The minimum's operation is known at once. */
int engine_references(struct engine *e);
/* Once all is known of them: for the pieces of the trace that come after this one. */
int engine_note_references(const struct engine *e);
/* find-references.c: the reference operations that are not known yet; then the lengths of paths. */
int engine_find_references(struct engine *e);
int engine_paths(struct engine *e);
/*
 * worked-for.c: for whom kernel threads worked, once all that was read is known; in the end what
 * they took goes to those. 0 or -ENOMEM.
 */
int engine_worked_for(struct engine *e);
int engine_pass_on(struct engine *e);
/* command-lines.c */
int analysis_command_lines(struct analysis *a);
/*
 * score.c: once the references are known. A location is scored when its row is complete, and its
 * tallies are freed then; engine_score does those that have not been, and all that follows.
 */
int engine_score_begin(struct engine *e, struct analysis *a);
/* Of T only whose it is and its times, which are known before the references are. */
void engine_score_times(const struct engine *e, uint32_t location, struct thread_score *t);
void engine_score_location(struct engine *e, struct analysis *a, uint32_t location);
int engine_score(struct engine *e, struct analysis *a);
/* NAME-score.c: further tables. */
int engine_files(const struct engine *e, struct analysis *a);
int engine_habits(const struct engine *e, struct analysis *a);
int engine_blame(const struct engine *e, struct analysis *a);
int engine_bins(const struct engine *e, struct analysis *a);
int engine_slowed(const struct engine *e, struct analysis *a);
int engine_callsites(const struct engine *e, struct analysis *a);
/* limits.c: once the verdict is known. */
int engine_limits(const struct engine *e, struct analysis *a);
/* The property NAME of the trace; "": it has none. */
const char *engine_property(const struct engine *e, const char *name);
/* between.c */
int engine_between(const struct engine *e, struct analysis *a);
/*
 * Adds to `reaped_ns` what A says of calls that the library did not see (`syscall`): the kernel's
 * side has seen threads asleep in them. 0 or -ENOMEM.
 */
int engine_reaped(struct engine *e, const struct analysis *a);
void between_free(struct analysis *a);
/* task-names.c */
int engine_task_names(const struct engine *e, struct analysis *a);
/* critical.c: processes, and how much shorter they would be. */
int engine_critical(const struct engine *e, struct analysis *a);

#endif

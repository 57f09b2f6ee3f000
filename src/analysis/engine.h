/* Inside of the analysis: what the passes hand on to each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_ENGINE_H
#define SCI_ENGINE_H

#include "analysis.h"
#include "callsites.h"
#include "classes.h"
#include "resources.h"
#include "spill.h"

/* What the pass over a location leaves. */
struct location_result {
	const void *worker; /* of the pass: whose class numbers the tallies have */
	struct walk_counts counts;
	uint64_t operations;
	uint64_t truncated;
	uint64_t io_ns;
	struct tally *tallies;
	uint32_t n_tallies, room;
	struct spill_stream operations_stream; /* see split.h */
	struct spill_stream bios_stream;
};

/* The references a class is measured against, after falling back. */
struct class_references {
	struct reference *headline;
	struct reference *low; /* quantile 0.05: the lower end of the interval */
	struct reference *min; /* the upper end */
};

struct engine {
	struct eta_trace *trace;
	const struct eta_defs *defs;
	struct analysis_options options;
	bool split; /* second sweep, interval */
	struct regions regions;
	struct location_result *locations; /* per definition */
	struct classes classes;		   /* of all threads */
	struct callsites callsites;
	struct class_references *references; /* per class */
	struct reference *pool;		     /* all references */
	uint32_t n_pool;
	struct resources resources;
	struct spill spill;
	bool has_cells[N_GROUPS]; /* any time in a cell of the group */
};

/* pass.c: all locations to tallies, classes and the spill. */
int engine_pass(struct engine *e);
void engine_locations_free(struct engine *e);
/* references.c: falls back, finds the bounds. Without the split the operations are known at once.
 */
int engine_references(struct engine *e);
/* split.c: the second sweep: meets the reference operations, tells contended from self. */
int engine_split(struct engine *e);
/* score.c */
int engine_score(struct engine *e, struct analysis *a);
void slowdown_add_tally(struct slowdown *s, const struct tally *t, const struct reference *r,
			uint64_t least_ns);
void slowdown_add(struct slowdown *sum, const struct slowdown *more);
/* callsites-score.c: the tallies of all locations by place. */
int engine_callsites(const struct engine *e, const uint64_t *least_ns, struct analysis *a);

#endif

/* What sci-top shows: the score of the last seconds, and the rows of its tables. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_TOP_FRAME_H
#define SCI_TOP_FRAME_H

#include "rates.h"
#include "src/report/views.h"
#include "sum.h"

/* /proc/pressure: percent of the last 10 s in which tasks waited. */
#define PRESSURES(X) X(cpu) X(io) X(memory)
struct pressure {
	bool known;
	double some, full;
};

enum {
#define X(name) PRESSURE_##name,
	PRESSURES(X)
#undef X
		N_PRESSURES
};
extern const char *const pressure_names[N_PRESSURES];

struct frame {
	struct analysis seen; /* first: getters take a frame for it */
	struct sum sum;	      /* what that is made of */
	struct rates rates;
	struct pressure pressures[N_PRESSURES];
	uint64_t real_ns;   /* when it was, of the wall clock */
	uint64_t window_ns; /* how long what it has took */
	uint64_t lost;	    /* records, in that time */
};

/* What the SLICES show together. 0 or -errno, reported; frame_free in either case. */
int frame_new(const struct slices *slices, struct frame *frame);
void frame_free(struct frame *frame);

/* "cc1 tid 4242": also of a task that the tracer has no name for, while it is there. */
const char *frame_culprit_name(const struct frame *f, const struct blame *b,
			       struct report_text *room);

/*
 * Who took most of a thread's time, or of all threads' of a process: at most so many, the first
 * most. How many they are.
 */
enum { CULPRITS_SHOWN = 4 };
uint32_t frame_culprits_of_thread(const struct thread_score *t, struct blame by[CULPRITS_SHOWN]);
uint32_t frame_culprits_of_process(const struct frame *f, uint32_t process,
				   struct blame by[CULPRITS_SHOWN]);

#define TOP_VIEWS(X) X(process) X(thread) X(device) X(container)
#define X(name) extern const struct view top_##name;
TOP_VIEWS(X)
#undef X
extern const struct view *const top_views[];
enum { N_TOP_VIEWS = 4 };
/* NULL: no such one. */
const struct view *top_view_find(const char *name);

#endif

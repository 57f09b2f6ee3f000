/* Inside of the sweep across threads: what its parts know of each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SWEEP_H
#define SCI_SWEEP_H

#include "src/analysis/tables/engine.h"
#include "src/analysis/tables/records.h"
#include "presence.h"
#include "src/common/share.h"
#include "waits.h"
#include "weights.h"

enum thread_state { THREAD_OPERATION, THREAD_STRETCH, THREAD_IN_STRETCH, THREAD_END };

#define THREAD_NONE UINT32_MAX
/*
 * A location in the sweep, with its current operation. An asynchronous track of a thread (struct
 * eta_location) has one of its own; the thread's is sweep_thread_of().
 */
struct sweep_thread {
	/* what every step needs comes first: see prefetch() of sweep.c */
	struct location_result *result;
	struct spill_reader *operations;
	struct spill_reader *bios;
	struct own_requests *own; /* per device of its machine: `places` of the plan */
	uint32_t location;
	uint32_t place[N_ROLES];

	/* the current operation; its data are below */
	enum thread_state state;
	struct tally *tally; /* the operation's */
	const struct class_references *references;
	bool owned;	     /* it begins in this window, which adds it to the sums */
	uint64_t lost_cells; /* set of cells that took longer than the reference */
	bool *contended;     /* per stretch; the current one: */
	uint32_t contended_end, contended_room;
	uint64_t next_ns; /* begin of the next */
	bool under_way;
	uint64_t ended_ns; /* the last one before it */
	uint32_t next;	   /* next stretch with boundaries of its own */

	bool fs_wide; /* only the file system of its file is known */
	struct file_watch file;
	struct stretch_watch watch;
	struct crowd_watch *crowd_watch; /* of crowd.c */
	struct weights weights;
	uint64_t unknown_ns;  /* lost while nobody was seen: added to the location in the end */
	int64_t undecided_ns; /* lost where others may have been that are not seen; the same */
	enum company_found company; /* of other machines, on its file */
	uint64_t seen_ns;	    /* of its time at a server: with a known thread's call there */

	struct operation_record op;

	/* added to the location in the end: what others took in each piece of its lifetime */
	int64_t pieces[N_PIECES];
	bool has_pieces;

	struct kernel_wait wait;
	struct solo_bits {
		struct spill_writer *writer;
		uint64_t bits;
		uint64_t n;
	} solo; /* operations that overlapped no other thread's */

	struct bio_record bio; /* the next to begin */
};

/* At equal times ends come first: touching is not overlapping. */
enum boundary_kind { BIO_END, THREAD_ENDS, THREAD_BEGINS, BIO_BEGIN };

struct boundary {
	uint64_t time_ns;
	uint64_t order; /* at the same time: kind << 62 | thread << 32 | BIO_END: which request */
};

#define BOUNDARY_KIND_SHIFT 62
#define BOUNDARY_THREAD_SHIFT 32
#define THREAD_MASK ((1u << 30) - 1)

/* A request in flight, until its end; or a free place. */
struct request {
	uint32_t owner; /* thread */
	uint32_t dev;
	uint32_t next_free; /* place + 1 */
};

/* What all windows share and none changes. */
struct sweep_plan {
	struct engine *engine;
	bool solo; /* only asks who overlapped no other thread's operation */
	bool needs_fs, needs_dirty, needs_device;
	uint32_t *by_tid; /* locations with threads, by space, tid, begin */
	uint32_t n_by_tid;
	uint32_t *thread_number; /* per location; THREAD_NONE */
	uint32_t *spaces;	 /* per process: the space in which a tid is unique (spaces.h) */
	uint32_t *machines;	 /* per location: numbers (machines.h) */
	uint32_t n_machines;
	uint32_t *places; /* per device: its number on its machine */
	uint32_t n_places;
	/*
	 * Per device of a file system: its server, a number behind those of devices, one per server
	 * and machine; there are as many of both:
	 */
	uint32_t *server_of;
	uint32_t n_devs_and_servers;
	uint32_t *everywhere; /* per machine: 1 + its DEV_EVERYWHERE; 0: no operation needs it */
	uint32_t *thread_of;  /* per location of the sweep: the one of its thread itself */
	uint32_t *next_own;   /* the next track of the same thread, from that one on; THREAD_NONE */
	uint32_t *kept;	      /* threads with sums of their own in rows, per machine; THREAD_NONE */
	bool *crowded;	      /* per machine: there are more threads than those */
	uint64_t *ranks;      /* per thread: see rank_of() */
	uint32_t n_threads;
	uint32_t n_all; /* with those that other processes sweep */
};

/*
 * plan.c: PLAN for those locations of SET that have records, here or, of a time that others sweep,
 * there. 0 or -ENOMEM; sweep_plan_free also then.
 */
int sweep_plan_make(struct engine *e, bool solo, const bool *set, struct sweep_plan *plan);
void sweep_plan_free(struct sweep_plan *plan);

struct sweep {
	const struct sweep_plan *plan;
	struct engine *engine;
	uint64_t from_ns, to_ns; /* the window: operations that begin in it */
	uint64_t n_owned;	 /* under way */
	uint64_t n_swept;	 /* owned, and over */
	int rc;			 /* first error of functions that cannot return one */
	struct sweep_thread *threads;
	struct presence *files;	  /* per number of resources.h */
	struct presence *fs;	  /* per device: operations on its file system */
	struct presence *changes; /* the same, those that may change it */
	struct presence *device;  /* per device: requests */
	struct presence *dirty;	  /* per machine: operations that write to its page cache */
	struct boundary *heap;	  /* see sweep.c */
	size_t n, room;
	bool root_is_free; /* the root was taken and not yet replaced */
	struct request *requests;
	uint32_t n_requests, requests_room, free_request;
	uint64_t mark;	      /* last mark given to a thread */
	struct claim *claims; /* of attribute.c */
	size_t claims_room;
	uint32_t *slots; /* of weights.c: per kind and thread, all 0 */
};

/*
 * The thread that location BY means by TID at TIME_NS (a reused tid: the one alive then), or
 * ETA_NONE.
 */
uint32_t sweep_location(const struct sweep_plan *plan, uint32_t by, uint32_t tid, uint64_t time_ns);

/* Culprits in the order of thread ids, so that the order of locations does not matter. */
static inline uint64_t rank_of(const struct eta_defs *defs, uint64_t culprit)
{
	if (culprit < defs->n_locations)
		return (uint64_t)defs->locations[culprit].tid << 32 | culprit;
	return (culprit & UINT32_MAX) << 32 | UINT32_MAX; /* a foreign tid */
}

/* thread.c: reading the operations and requests of a location, and what they bring about. */
int sweep_thread_open(struct sweep *s, struct sweep_thread *l, uint32_t location);
int sweep_thread_close(struct sweep *s, struct sweep_thread *l);
/* A boundary of the thread's operation has come. */
int sweep_thread_step(struct sweep *s, struct sweep_thread *l);
/* Its next block request has begun. */
int sweep_thread_bio_begins(struct sweep *s, struct sweep_thread *l);
/* The request at PLACE has ended. */
void sweep_thread_bio_ends(struct sweep *s, struct sweep_thread *l, uint32_t place, uint64_t now);
int sweep_push(struct sweep *s, struct boundary b);

/* The thread that L is or is a track of: what a thread does at once does not disturb itself. */
static inline struct sweep_thread *sweep_thread_of(const struct sweep *s,
						   const struct sweep_thread *l)
{
	return &s->threads[s->plan->thread_of[l - s->threads]];
}

/* The set of cells that others on the same file may have caused. */
static inline uint64_t cells_of_file(void)
{
	return cells_of_group(GROUP_FILE) |
	       (cells_of_group(GROUP_NATURE) & ~cells_of_level(ETA_LEVEL_CPU));
}

/* The page cache that L writes to. */
static inline struct presence *page_cache_of(const struct sweep *s, const struct sweep_thread *l)
{
	return &s->dirty[s->plan->machines[l->location]];
}

static inline void stretch_is_contended(struct sweep_thread *l, uint32_t stretch)
{
	l->contended[stretch] = true;
	if (stretch >= l->contended_end)
		l->contended_end = stretch + 1;
}

/* Does it have a place of its own in every row of culprits? */
static inline bool thread_is_kept(const struct sweep *s, const struct sweep_thread *l)
{
	return blame_keeps(&s->engine->blame_bound, l->location);
}

/*
 * pieces.c: divides AMOUNT, which others took of L's operation, among the pieces of the lifetime.
 */
void pieces_add(struct sweep_thread *l, int64_t amount);
/* Adds the window's pieces to those of all windows, which share a lock. 0 or -ENOMEM. */
int pieces_end(const struct sweep_thread *l);

/* What stands, as a device, for the server of the file system that L's operation is on. */
static inline uint32_t server_of(const struct sweep *s, const struct sweep_thread *l)
{
	return s->plan->server_of[l->op.dev];
}

/*
 * elsewhere.c: what other machines did meanwhile on the file and at the server of L's operation,
 * which is over: stretches are contended, threads get weights.
 */
void company_apply(struct sweep *s, struct sweep_thread *l);
/* Was another machine on its file meanwhile, or may it have been? */
bool company_is_possible(const struct sweep *s, const struct sweep_thread *l);
/*
 * How much of what L's operation lost, LOSS, others may have caused that are not seen: on a file
 * where the clocks do not say whether they overlap, at a server of which only clients are traced.
 */
struct loss;
int64_t undecided_of(const struct sweep_thread *l, const struct loss *loss);

/* attribute.c: what an operation that is over lost, what of it others caused, and who they were. */
int attribute(struct sweep *s, struct sweep_thread *l);

#endif

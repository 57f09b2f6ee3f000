/* Inside of the sweep across threads: what its parts know of each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SWEEP_H
#define SCI_SWEEP_H

#include "src/analysis/tables/engine.h"
#include "src/analysis/tables/records.h"
#include "src/common/share.h"

/* ---- who is there ---- */

/* What a set of threads is for. A thread is in one of each at a time, but in one for each device.
 */
enum role {
	ROLE_FILE,
	ROLE_FS,
	ROLE_DIRTY,
	ROLE_WATCH,
	ROLE_FILE_WATCHER,
	N_ROLES,
	ROLE_DEVICE = N_ROLES
};

/* Threads, in no order. */
struct thread_set {
	uint8_t role;	/* enum role */
	uint32_t place; /* of ROLE_DEVICE: which device of its machine */
	uint32_t n, room;
	struct member {
		uint64_t since_ns; /* it has been there */
		uint32_t thread;
	} * list;
};

/*
 * A resource: how many use it, how many ever came (so that "did anyone come meanwhile" is one
 * comparison), who they are, and who wants to know of their leaving.
 */
struct presence {
	uint32_t active;
	uint32_t mixed; /* exclusive or of those active: the one that is alone, of files */
	uint32_t n_file_watchers; /* of files: users that watch who else is there */
	uint64_t arrivals;
	struct thread_set users;
	struct thread_set watchers; /* of files: those that have not met a crowd */
	struct crowd *crowd;	    /* of all else: who watches where many may, see crowd.c */
	/* the users without places of their own in rows (struct blame_bound), of many threads: */
	uint32_t n_others;
	uint64_t others_ns, others_at_ns; /* how long they all were there until then */
};

/* A thread's requests on a device. */
struct own_requests {
	uint32_t active;  /* it submitted, or that are for its pages */
	uint32_t charged; /* of them those that count as its doing: not those for others' pages */
	uint64_t arrivals;
	uint32_t place; /* in the device's users */
};

/* ---- threads ---- */

enum thread_state { THREAD_OPERATION, THREAD_STRETCH, THREAD_IN_STRETCH, THREAD_END };

/* Why a culprit has a weight in an operation: the kernel named it in a cell, or one of these. */
enum weight_kind {
	WEIGHT_FILE = N_CELLS,
	WEIGHT_FS,
	WEIGHT_DIRTY,
	WEIGHT_AHEAD,  /* requests that were there before */
	WEIGHT_DEVICE, /* all other requests */
	N_WEIGHTS,
};

#define THREAD_NONE UINT32_MAX
/* So many threads and no more have a table of each other for files. */
#define FEW_THREADS 1024

/*
 * The operations of one location on their way through the sweep. An asynchronous track of a thread
 * (struct eta_location) is one of its own; the thread's is sweep_thread_of().
 */
struct sweep_thread {
	/* first what every step needs: see prefetch() of sweep.c */
	struct location_result *result;
	struct spill_reader *operations;
	struct spill_reader *bios;
	struct own_requests *own; /* per device of its machine: `places` of the plan */
	uint32_t location;
	uint32_t place[N_ROLES];

	/* the operation under way; the operation itself is below */
	enum thread_state state;
	struct tally *tally; /* it belongs to */
	const struct class_references *references;
	bool owned;	     /* it begins in this window: its sums belong here */
	bool file_crowded;   /* and it met a crowd: see presence.c */
	bool watches_file;   /* who else is on its file matters to it */
	bool fs_wide;	     /* the file is not known, but its file system */
	uint64_t lost_cells; /* set: its time there is more than the reference's */
	bool *contended;     /* per stretch, of them the first: */
	uint32_t contended_end, contended_room;
	uint64_t next_ns; /* where it begins: */
	uint32_t next;	  /* stretch to come, of those with boundaries of their own */

	/* who else is on its file */
	bool accompanied, met_any;
	bool unchanged;	     /* as when the operation began: no stretch was looked at */
	uint32_t file_at;    /* the stretch that time has come to */
	uint64_t file_at_ns; /* where it begins */

	/* the stretch under way that watches a resource */
	bool watch_others; /* someone was there when it began */
	bool watch_listed; /* among the watchers */
	bool watch_ahead;  /* somebody's requests were there before it */
	struct presence *watched;
	uint64_t watch_arrivals;
	uint64_t watch_since_ns;
	struct watch *watch; /* of crowd.c */

	/* who was in its way: see weights.c */
	struct weight *weights;
	uint32_t n_weights, weights_room;
	uint64_t *file_ns; /* the same of WEIGHT_FILE, per thread, where threads are few; or NULL */
	uint32_t *file_met; /* threads with any */
	uint32_t n_file_met;
	uint64_t file_others_ns; /* of its file, when the operation began */
	bool crowded;		 /* by more than rows keep: those that they do not keep are */
	uint64_t others_ns[N_WEIGHTS - N_CELLS]; /* one, by kind */
	bool weights_differ;			 /* no two of them are of one kind and thread */
	uint64_t unknown_ns; /* lost while nobody was seen: added to the location in the end */
	struct sums named;   /* (cell, culprit) */

	struct operation_record op;

	/* the wait under way for somebody the kernel named */
	bool waits;
	uint64_t waits_for;    /* culprit */
	uint64_t wait_told_ns; /* up to here it has been charged */
	uint32_t *waiters;     /* threads that wait for this one */
	uint32_t n_waiters, waiter_room;
	uint32_t waiter_place; /* of this one, among those of the thread it waits for */
	uint64_t mark;	       /* of a walk along waits */

	/* operations that met no other thread's, as bits */
	struct spill_writer *solo;
	uint64_t solo_bits;
	uint64_t n_solo;

	struct bio_record bio; /* the next to begin */
};

/* So long was another thread in the way of an operation. */
struct weight {
	uint64_t ns;
	uint32_t thread;
	uint32_t kind; /* enum weight_kind, from N_CELLS on */
};

/* At equal times ends go first: touching is not overlapping. */
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
	bool solo; /* only asks who met no other thread's operation */
	bool needs_fs, needs_dirty, needs_device;
	uint64_t file_cells;		/* set: what others on the same file may have caused */
	uint64_t group_cells[N_GROUPS]; /* the sets of cells of each */
	uint32_t *by_tid;		/* locations with threads, by space, tid, begin */
	uint32_t n_by_tid;
	uint32_t *thread_number; /* per location; THREAD_NONE */
	uint32_t *spaces;	 /* per process: within what a tid is one thread (spaces.h) */
	uint32_t *machines;	 /* per location: numbers (machines.h) */
	uint32_t n_machines;
	uint32_t *places; /* per device: which one of its machine it is */
	uint32_t n_places;
	uint32_t *everywhere; /* per machine: 1 + DEV_EVERYWHERE there, 0: nobody asks */
	uint32_t *thread_of;  /* per location of the sweep: the one of its thread itself */
	uint32_t *next_own;   /* the next track of the same thread, from that one on; THREAD_NONE */
	uint32_t *kept;	      /* threads that rows keep apart, per machine; THREAD_NONE */
	bool *crowded;	      /* per machine: there are more threads than those */
	uint64_t *ranks;      /* per thread: see rank_of() of attribute.c */
	uint32_t n_threads;
};

struct sweep {
	const struct sweep_plan *plan;
	struct engine *engine;
	uint64_t from_ns, to_ns; /* of the window: operations that begin in it */
	uint64_t n_owned;	 /* under way */
	int rc;			 /* the first failure of what cannot return one */
	struct sweep_thread *threads;
	struct presence *files;	 /* per number of resources.h */
	struct presence *fs;	 /* per device: operations on its file system */
	struct presence *device; /* per device: requests */
	struct presence *dirty;	 /* per machine: operations that write to its page cache */
	struct boundary *heap;	 /* see sweep.c */
	size_t n, room;
	bool root_is_free; /* was taken, and nothing has come into its place */
	struct request *requests;
	uint32_t n_requests, requests_room, free_request;
	uint64_t mark;	      /* the newest of threads */
	struct claim *claims; /* of attribute.c */
	size_t claims_room;
	uint32_t *slots; /* of weights.c: per kind and thread, all 0 */
};

/*
 * Whom location BY means by TID at TIME_NS (a reused tid goes to the one alive then), or ETA_NONE.
 */
uint32_t sweep_location(const struct sweep_plan *plan, uint32_t by, uint32_t tid, uint64_t time_ns);

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

/* The thread that L is, or is a track of: what that does at once is in nobody's way. */
static inline struct sweep_thread *sweep_thread_of(const struct sweep *s,
						   const struct sweep_thread *l)
{
	return &s->threads[s->plan->thread_of[l - s->threads]];
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

/* presence.c: who else is there, and for how long. */
void presence_free(struct presence *p);
/* As what it is in a watcher's way. */
enum weight_kind presence_kind(const struct sweep *s, const struct presence *p);
/* How long all users without places of their own were there, until NOW. */
uint64_t presence_others(struct presence *p, uint64_t now);
/* Since when L uses it; false: it does not. */
bool presence_since(const struct sweep *s, const struct presence *p, struct sweep_thread *l,
		    uint64_t *since_ns);
/* An operation on its file. */
void file_enter(struct sweep *s, struct sweep_thread *l);
void file_leave(struct sweep *s, struct sweep_thread *l);
/* It uses a file system, or the page cache. */
void user_enter(struct sweep *s, struct presence *p, struct sweep_thread *l);
void user_leave(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now);
/* Requests that L submitted for OWNER's pages (itself, mostly). */
void request_begins(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner,
		    uint32_t dev, uint64_t now);
void request_ends(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner, uint32_t dev,
		  uint64_t now);
/* A stretch of time at which it matters who else is there. */
void watch_begin(struct sweep *s, struct sweep_thread *l, const struct stretch *stretch,
		 uint64_t now);
bool watch_end(struct sweep *s, struct sweep_thread *l, uint64_t now);

/* crowd.c: the same of stretches, where rows cannot have all: who comes, goes, watches. */
void crowd_free(struct crowd *c);
void crowd_comes(struct sweep *s, struct presence *p, const struct sweep_thread *user,
		 uint64_t now);
void crowd_goes(struct sweep *s, struct presence *p, const struct sweep_thread *user,
		uint64_t since_ns, uint64_t now);
void crowd_watch_begin(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now);
void crowd_watch_end(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now);

/* waits.c: waiting for somebody the kernel named, and for those that one waits for. */
void wait_begin(struct sweep *s, struct sweep_thread *l, uint32_t tid, uint64_t now);
void wait_end(struct sweep *s, struct sweep_thread *l, uint64_t now);

/* Has it a place of its own in every row of culprits? */
static inline bool thread_is_kept(const struct sweep *s, const struct sweep_thread *l)
{
	return blame_keeps(&s->engine->blame_bound, l->location);
}

/* weights.c: so long were others in the way of L's operation. */
void weight_name(struct sweep *s, struct sweep_thread *l, enum cell cell, uint64_t culprit,
		 uint64_t ns);
void weight_add(struct sweep *s, struct sweep_thread *l, enum weight_kind kind, uint32_t other,
		uint64_t ns);
/* Room for N more that are going to be appended to l->weights. */
int weights_reserve(struct sweep *s, struct sweep_thread *l, uint32_t n);
void weight_add_file(struct sweep *s, struct sweep_thread *l, const struct sweep_thread *other,
		     uint64_t ns);
/* To one weight for each kind and thread. */
void weights_merge(struct sweep *s, struct sweep_thread *l);
/* It has met, or is going to, more than its row can have. */
void weights_crowd(struct sweep *s, struct sweep_thread *l);
void weights_clear(struct sweep_thread *l);
void weights_free(struct sweep_thread *l);

/* pieces.c: AMOUNT that others took of L's operation, which its life's pieces have a part of each.
 */
int pieces_add(struct sweep_thread *l, int64_t amount);

/* L's operation has been: its slices. */
void busy_note(const struct sweep *s, struct sweep_thread *l);

/* attribute.c: an operation is over: what it lost, what of it others caused, and who they were. */
int attribute(struct sweep *s, struct sweep_thread *l);
/* Culprits in the order of thread ids, so that the order of locations does not matter. */
uint64_t rank_of(const struct eta_defs *defs, uint64_t culprit);
/* The set of cells in which it lost time. */
uint64_t lost_cells_of(const struct sweep *s, const struct sweep_thread *l);

#endif

/* Inside of the sweep across threads: what its parts know of each other. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_SWEEP_H
#define SCI_SWEEP_H

#include "src/analysis/tables/engine.h"
#include "src/analysis/tables/records.h"
#include "src/common/share.h"

/* ---- parties: who is there ---- */

/* Of what a party is. A lane has one place in one of each at a time, but one for each device. */
enum role {
	ROLE_FILE,
	ROLE_FS,
	ROLE_DIRTY,
	ROLE_WATCH,
	ROLE_CURIOUS,
	N_ROLES,
	ROLE_DEVICE = N_ROLES
};

/* Lanes, in no order. */
struct party {
	uint8_t role;	/* enum role */
	uint32_t place; /* of ROLE_DEVICE: which device of its machine */
	uint32_t n, room;
	struct member {
		uint64_t since_ns; /* it has been there */
		uint32_t lane;
	} * list;
};

/*
 * A resource: how many use it, how many ever came (so that "did anyone come meanwhile" is one
 * comparison), who they are, and who wants to know of their leaving.
 */
struct presence {
	uint32_t active;
	uint32_t mixed;	    /* exclusive or of those active: the one that is alone, of files */
	uint32_t n_curious; /* of files: users that want to know who the others are */
	uint64_t arrivals;
	struct party users;
	struct party watchers; /* of files: the curious that have not met a crowd */
	struct crowd *crowd;   /* of all else: who watches where many may, see crowd.c */
	/* the users without places of their own in rows (struct blame_bound), of many lanes: */
	uint32_t n_others;
	uint64_t others_ns, others_at_ns; /* how long they all were there until then */
};

/* A lane's requests on a device. */
struct own_requests {
	uint32_t active;  /* it submitted, or that are for its pages */
	uint32_t charged; /* of them those that count as its doing: not those for others' pages */
	uint64_t arrivals;
	uint32_t place; /* in the device's users */
};

/* ---- lanes ---- */

enum lane_state { LANE_OPERATION, LANE_STRETCH, LANE_IN_STRETCH, LANE_END };

/* Why a culprit has a weight in an operation: the kernel named it in a cell, or one of these. */
enum weight_kind {
	WEIGHT_FILE = N_CELLS,
	WEIGHT_FS,
	WEIGHT_DIRTY,
	WEIGHT_AHEAD,  /* requests that were there before */
	WEIGHT_DEVICE, /* all other requests */
	N_WEIGHTS,
};

#define LANE_NONE UINT32_MAX
/* So many lanes and no more have a table of each other for files. */
#define FEW_LANES 1024

/* The operations of one location on their way through the sweep. */
struct lane {
	/* first what every step needs: see lane_prefetch() */
	struct location_result *result;
	struct spill_reader *operations;
	struct spill_reader *bios;
	struct own_requests *own; /* per device of its machine: `places` of the plan */
	uint32_t location;
	uint32_t place[N_ROLES];

	/* the operation under way; the operation itself is below */
	enum lane_state state;
	struct tally *tally; /* it belongs to */
	const struct class_references *references;
	bool owned;	     /* it begins in this window: its sums belong here */
	bool file_crowded;   /* and it met a crowd: see presence.c */
	bool curious;	     /* who else is on its file matters to it */
	bool fs_wide;	     /* the file is not known, but its file system */
	uint64_t lost_cells; /* set: its time there is more than the reference's */
	bool *contended;     /* per stretch, of them the first: */
	uint32_t contended_end, contended_room;
	uint64_t next_ns; /* where it begins: */
	uint32_t next;	  /* stretch to come, of those with boundaries of their own */

	/* the company on its file */
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
	uint64_t *file_ns;  /* the same of WEIGHT_FILE, per lane, where lanes are few; or NULL */
	uint32_t *file_met; /* lanes with any */
	uint32_t n_file_met;
	uint64_t file_others_ns; /* of its file, when the operation began */
	bool crowded;		 /* by more than rows keep: those that they do not keep are */
	uint64_t others_ns[N_WEIGHTS - N_CELLS]; /* one, by kind */
	bool weights_differ;			 /* no two of them are of one kind and lane */
	uint64_t unknown_ns; /* lost while nobody was seen: added to the location in the end */
	struct sums named;   /* (cell, culprit) */

	struct operation_record op;

	/* the wait under way for somebody the kernel named */
	bool waits;
	uint64_t waits_for;    /* culprit */
	uint64_t wait_told_ns; /* up to here it has been charged */
	uint32_t *waiters;     /* lanes that wait for this one */
	uint32_t n_waiters, waiter_room;
	uint32_t waiter_place; /* of this one, among those of the lane it waits for */
	uint64_t mark;	       /* of a walk along waits */

	/* operations that met no other thread's, as bits */
	struct spill_writer *solo;
	uint64_t solo_bits;
	uint64_t n_solo;

	struct bio_record bio; /* the next to begin */
};

/* So long was another lane in the way of an operation. */
struct weight {
	uint64_t ns;
	uint32_t lane;
	uint32_t kind; /* enum weight_kind, from N_CELLS on */
};

/* At equal times ends go first: touching is not overlapping. */
enum boundary_kind { BIO_END, LANE_ENDS, LANE_BEGINS, BIO_BEGIN };

struct boundary {
	uint64_t time_ns;
	uint64_t order; /* at the same time: kind << 62 | lane << 32 | BIO_END: which request */
};

#define BOUNDARY_KIND_SHIFT 62
#define BOUNDARY_LANE_SHIFT 32
#define LANE_MASK ((1u << 30) - 1)

/* A request in flight, until its end; or a free place. */
struct request {
	uint32_t owner; /* lane */
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
	uint32_t *lane_of;  /* per location; LANE_NONE */
	uint32_t *spaces;   /* per process: within what a tid is one thread (spaces.h) */
	uint32_t *machines; /* per location: numbers (machines.h) */
	uint32_t n_machines;
	uint32_t *places; /* per device: which one of its machine it is */
	uint32_t n_places;
	uint32_t *selves;   /* per lane: the one that stands for all of its thread */
	uint32_t *next_own; /* per lane: the next of its thread, from that one on; LANE_NONE */
	uint32_t *kept;	    /* lanes that rows keep apart, per machine; LANE_NONE */
	bool *crowded;	    /* per machine: there are more lanes than those */
	uint64_t *ranks;    /* per lane: see rank_of() of settle.c */
	uint32_t n_lanes;
};

struct sweep {
	const struct sweep_plan *plan;
	struct engine *engine;
	uint64_t from_ns, to_ns; /* of the window: operations that begin in it */
	uint64_t n_owned;	 /* under way */
	int rc;			 /* the first failure of what cannot return one */
	struct lane *lanes;
	struct presence *files;	 /* per number of resources.h */
	struct presence *fs;	 /* per device: operations on its file system */
	struct presence *device; /* per device: requests */
	struct presence *dirty;	 /* per machine: operations that write to its page cache */
	struct boundary *heap;	 /* see sweep.c */
	size_t n, room;
	bool root_is_free; /* was taken, and nothing has come into its place */
	struct request *requests;
	uint32_t n_requests, requests_room, free_request;
	uint64_t mark;	      /* the newest of lanes */
	struct claim *claims; /* of settle.c */
	size_t claims_room;
	uint32_t *slots; /* of weights.c: per kind and lane, all 0 */
};

/*
 * Whom location BY means by TID at TIME_NS (a reused tid goes to the one alive then), or ETA_NONE.
 */
uint32_t sweep_location(const struct sweep_plan *plan, uint32_t by, uint32_t tid, uint64_t time_ns);

/* lane.c: reading the operations and requests of a location, and what they bring about in time. */
int lane_open(struct sweep *s, struct lane *l, uint32_t location);
int lane_close(struct sweep *s, struct lane *l);
/* A boundary of the lane's operation has come. */
int lane_step(struct sweep *s, struct lane *l);
/* Its next block request has begun. */
int lane_bio_begins(struct sweep *s, struct lane *l);
/* The request at PLACE has ended. */
void lane_bio_ends(struct sweep *s, struct lane *l, uint32_t place, uint64_t now);
int sweep_push(struct sweep *s, struct boundary b);
/* Of L, at a time. */
static inline struct boundary boundary_of(const struct sweep *s, const struct lane *l,
					  enum boundary_kind kind, uint64_t time_ns)
{
	return (struct boundary){ .time_ns = time_ns,
				  .order = (uint64_t)kind << BOUNDARY_KIND_SHIFT |
					   (uint64_t)(l - s->lanes) << BOUNDARY_LANE_SHIFT };
}

/* The lane that stands for all of L's thread: what that does at once is in nobody's way. */
static inline struct lane *lane_self(const struct sweep *s, const struct lane *l)
{
	return &s->lanes[s->plan->selves[l - s->lanes]];
}

/* The page cache that L writes to. */
static inline struct presence *lane_cache(const struct sweep *s, const struct lane *l)
{
	return &s->dirty[s->plan->machines[l->location]];
}

/* What every step needs of it is soon wanted. */
static inline void lane_prefetch(const struct lane *l)
{
	for (size_t at = 0; at < offsetof(struct lane, op.ns) + 64; at += 64)
		__builtin_prefetch((const char *)l + at);
}

static inline void stretch_is_contended(struct lane *l, uint32_t stretch)
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
bool presence_since(const struct sweep *s, const struct presence *p, struct lane *l,
		    uint64_t *since_ns);
/* An operation on its file. */
void file_enter(struct sweep *s, struct lane *l);
void file_leave(struct sweep *s, struct lane *l);
/* It uses a file system, or the page cache. */
void user_enter(struct sweep *s, struct presence *p, struct lane *l);
void user_leave(struct sweep *s, struct presence *p, struct lane *l, uint64_t now);
/* Requests that L submitted for OWNER's pages (itself, mostly). */
void request_begins(struct sweep *s, struct lane *l, struct lane *owner, uint32_t dev,
		    uint64_t now);
void request_ends(struct sweep *s, struct lane *l, struct lane *owner, uint32_t dev, uint64_t now);
/* A stretch of time at which it matters who else is there. */
void watch_begin(struct sweep *s, struct lane *l, const struct stretch *stretch, uint64_t now);
bool watch_end(struct sweep *s, struct lane *l, uint64_t now);

/* crowd.c: the same of stretches, where rows cannot have all: who comes, goes, watches. */
static inline bool is_in_crowd(const struct sweep *s, const struct lane *l)
{
	return s->plan->kept && s->plan->crowded[s->plan->machines[l->location]];
}
void crowd_free(struct crowd *c);
void crowd_comes(struct sweep *s, struct presence *p, const struct lane *user, uint64_t now);
void crowd_goes(struct sweep *s, struct presence *p, const struct lane *user, uint64_t since_ns,
		uint64_t now);
void crowd_watch_begin(struct sweep *s, struct presence *p, struct lane *l, uint64_t now);
void crowd_watch_end(struct sweep *s, struct presence *p, struct lane *l, uint64_t now);

/* waits.c: waiting for somebody the kernel named, and for those that one waits for. */
void wait_begin(struct sweep *s, struct lane *l, uint32_t tid, uint64_t now);
void wait_end(struct sweep *s, struct lane *l, uint64_t now);

/* Has it a place of its own in every row of culprits? */
static inline bool lane_is_kept(const struct sweep *s, const struct lane *l)
{
	return blame_keeps(&s->engine->blame_bound, l->location);
}

/* weights.c: so long were others in the way of L's operation. */
void weight_name(struct sweep *s, struct lane *l, enum cell cell, uint64_t culprit, uint64_t ns);
void weight_add(struct sweep *s, struct lane *l, enum weight_kind kind, uint32_t other,
		uint64_t ns);
/* Room for N more that are going to be appended to l->weights. */
int weights_reserve(struct sweep *s, struct lane *l, uint32_t n);
void weight_add_file(struct sweep *s, struct lane *l, const struct lane *other, uint64_t ns);
/* To one weight for each kind and lane. */
void weights_merge(struct sweep *s, struct lane *l);
/* It has met, or is going to, more than its row can have. */
void weights_crowd(struct sweep *s, struct lane *l);
void weights_clear(struct lane *l);
void weights_free(struct lane *l);

/* settle.c: an operation is over: what it lost, what of it others caused, and who they were. */
int settle(struct sweep *s, struct lane *l);
/* Culprits in the order of thread ids, so that the order of locations does not matter. */
uint64_t rank_of(const struct eta_defs *defs, uint64_t culprit);
/* The set of cells in which it lost time. */
uint64_t settle_lost_cells(const struct sweep *s, const struct lane *l);

#endif

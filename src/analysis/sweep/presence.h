/* Who else uses a file, a file system, the page cache or a device, and for how long. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PRESENCE_H
#define SCI_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "weights.h"

struct crowd;
struct stretch;
struct sweep;
struct sweep_thread;

/*
 * What a set of threads is for. A thread is in at most one set of each role, but in one per device.
 */
enum role {
	ROLE_FILE,
	ROLE_FS,
	ROLE_CHANGES,
	ROLE_DIRTY,
	ROLE_WATCH,
	ROLE_FILE_WATCHER,
	N_ROLES,
	ROLE_DEVICE = N_ROLES
};

/* A set of threads, unordered. */
struct thread_set {
	uint8_t role;	/* enum role */
	uint32_t place; /* ROLE_DEVICE: which device of its machine */
	uint32_t n, room;
	struct member {
		uint64_t since_ns; /* since when it is in the set */
		uint32_t thread;
	} * list;
};

/*
 * A resource: how many use it, how many ever came (so that "did anyone come meanwhile" is one
 * comparison), who they are, and who wants to know of their leaving.
 */
struct presence {
	uint32_t active;
	uint32_t mixed; /* exclusive or of those active: if one is left, this is it; of files */
	uint32_t n_file_watchers; /* files: users that watch for others */
	uint64_t arrivals;
	struct thread_set users;
	struct thread_set watchers; /* of files: those without a crowd */
	struct crowd *crowd;	    /* all else: watchers where a crowd is possible, see crowd.c */
	/* users without places of their own in rows (struct blame_bound): */
	uint32_t n_others;
	uint64_t others_ns, others_at_ns; /* their total time present, up to that time */
};

/* A thread's requests on a device. */
struct own_requests {
	uint32_t active;  /* that it submitted, or for its pages */
	uint32_t charged; /* of them those it is charged with: not those for others' pages */
	uint64_t arrivals;
	uint32_t place; /* in the device's users */
};

/* Who else is on the file of a thread's operation. */
struct file_watch {
	bool watched;	  /* the operation needs to know who else is on its file */
	bool overlaps;	  /* somebody is there now */
	bool overlapped;  /* somebody was there at some time */
	bool unchanged;	  /* nothing changed since its begin: no stretch was looked at */
	bool crowded;	  /* more threads overlap it than rows have room for */
	uint32_t stretch; /* the current one */
	uint64_t stretch_begin_ns;
	uint64_t others_ns; /* others_ns of its file when the operation began */
};

/* The current stretch of a thread, during which it matters who else uses a resource. */
struct stretch_watch {
	bool others;	  /* someone was present when it began */
	bool listed;	  /* among the watchers */
	bool queue_ahead; /* someone's requests were ahead of it */
	struct presence *on;
	uint64_t arrivals;
	uint64_t since_ns;
	uint64_t present_ns; /* the times of all others that count, summed; in a crowd unknown */
};

/* Frees what it has, not P itself. */
void presence_free(struct presence *p);
/* The kind of weight that a user of P has for a watcher. */
enum weight_kind presence_kind(const struct sweep *s, const struct presence *p);
/* Total time present of users without places of their own, until NOW. */
uint64_t presence_others(struct presence *p, uint64_t now);
/* Since when L uses it; false: it does not. */
bool presence_since(const struct sweep *s, const struct presence *p, struct sweep_thread *l,
		    uint64_t *since_ns);
/* An operation on its file. */
void file_enter(struct sweep *s, struct sweep_thread *l);
void file_leave(struct sweep *s, struct sweep_thread *l);
/* L begins to use a file system, or the page cache. */
void user_enter(struct sweep *s, struct presence *p, struct sweep_thread *l);
void user_leave(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now);
/* Requests that L submitted for OWNER's pages (itself, mostly). */
void request_begins(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner,
		    uint32_t dev, uint64_t now);
void request_ends(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner, uint32_t dev,
		  uint64_t now);
/* Begins a stretch during which others on the resource matter. */
void watch_begin(struct sweep *s, struct sweep_thread *l, const struct stretch *stretch,
		 uint64_t now);
bool watch_end(struct sweep *s, struct sweep_thread *l, uint64_t now);

#endif

/*
 * Which tasks, traced or not, are syncing a file system: the journal works for them, and they delay
 * each other.
 */
/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#ifndef KERNELIO_SYNCS_H
#define KERNELIO_SYNCS_H

#include "disk.h"

#define SYNCERS 16		     /* a power of two */
#define SYNC_STALE_NS 60000000000ULL /* an older sync without an end has ended unreported */

/* A task's current sync (fsync and the like), or its last one. */
struct syncer {
	uint32_t tid, pid;
	uint64_t begin_ns;
	uint64_t end_ns;    /* 0: still running, or ends are not reported */
	uint64_t period_ns; /* from its previous sync to this one; 0: unknown */
	uint32_t foreign;   /* the task is untraced */
	uint32_t endless;   /* no probe tells when this sync is done */
};

/* Of a file system that a traced thread has synced. */
struct fs_syncs {
	struct amounts changes;	     /* in all */
	struct amounts last, before; /* up to the begin of the last sync, and the one before */
	uint32_t changer;	     /* the untraced task that has made one last */
	uint64_t commit_ns;	     /* ext4: begin of the current commit */
	uint32_t ends;		     /* the file system has a probe on the end of syncs */
	/* a task that finds no place is left out */
	struct syncer list[SYNCERS];
};

/* By the file system's device. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, uint32_t);
	__type(value, struct fs_syncs);
} syncs __weak SEC(".maps");

/* Set once there is one: then syncs of untraced tasks are looked up, too. */
uint32_t syncs_used __weak;

/* The syncs of the file system on DEV, of which ST makes room for the first. */
static __always_inline struct fs_syncs *syncs_at(uint32_t dev, const struct task_state *st)
{
	static const struct fs_syncs none;
	struct fs_syncs *s = bpf_map_lookup_elem(&syncs, &dev);

	if (s || !st)
		return s;
	bpf_map_update_elem(&syncs, &dev, &none, BPF_NOEXIST);
	syncs_used = 1;
	return bpf_map_lookup_elem(&syncs, &dev);
}

/*
 * ST sleeps, for no request of its own: it may be for a journal. From here on syncs of its file
 * system are followed, or, where that is not known, what it changes.
 */
SEPARATE int syncs_follow(const struct task_state *st)
{
	uint32_t dev = st ? fs_of(st) : 0;

	if (dev)
		syncs_at(dev, st);
	syncs_used = 1;
	return 0;
}

/* May TID take the place of ONE? 2: it is its own, 1: it is free, 0: no. */
SEPARATE uint32_t syncer_suits(const struct syncer *one, uint32_t tid, uint64_t now)
{
	if (!one)
		return 0;
	if (one->tid == tid)
		return 2;
	/* never used: also where the machine runs for less than a minute */
	return !one->begin_ns || one->end_ns || now - one->begin_ns > SYNC_STALE_NS;
}

/* 1 + the place of TID in S, or of one it may take; 0: all are in use. */
SEPARATE uint32_t syncer_place(const struct fs_syncs *s, uint32_t tid, uint64_t now)
{
	uint32_t best = 0, place = 0;

	for (uint32_t i = 0; s && i < SYNCERS; i++) {
		uint32_t at = (tid + i) & (SYNCERS - 1);
		uint32_t suits = syncer_suits(&s->list[at], tid, now);

		if (suits > best) {
			best = suits;
			place = 1 + at;
		}
	}
	return place;
}

/* How a sync came about, as a set of: */
#define SYNC_FOREIGN 1 /* of an untraced task */
#define SYNC_ENDLESS 2 /* nothing tells when it is done */

SEPARATE int sync_comes(struct fs_syncs *s, uint32_t pid, uint32_t tid, uint32_t how)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t place = syncer_place(s, tid, now);
	struct syncer *own;

	if (!s || !place)
		return 0;
	s->before = s->last;
	s->last = s->changes;
	own = &s->list[(place - 1) & (SYNCERS - 1)];
	own->period_ns = own->tid == tid ? now - own->begin_ns : 0;
	own->end_ns = 0;
	own->begin_ns = now;
	own->pid = pid;
	own->tid = tid;
	own->foreign = how & SYNC_FOREIGN;
	own->endless = how & SYNC_ENDLESS;
	return 0;
}

SEPARATE int sync_goes(struct fs_syncs *s, uint32_t tid)
{
	uint64_t now = bpf_ktime_get_ns();
	uint32_t place = syncer_place(s, tid, now);
	struct syncer *own;

	if (!s || !place)
		return 0;
	own = &s->list[(place - 1) & (SYNCERS - 1)];
	if (own->tid == tid)
		own->end_ns = now;
	return 0;
}

/*
 * Estimated length of a sync whose end is not reported: up to the task's next sync, if it syncs
 * periodically, but at most a few times NS, the length of the waiting operation.
 */
#define SYNC_FEW 8
static __always_inline uint64_t sync_guess(const struct syncer *one, uint64_t ns)
{
	uint64_t most_ns = SYNC_FEW * ns;

	if (one->period_ns < ns)
		return ns;
	return one->period_ns < most_ns ? one->period_ns : most_ns;
}

/* Did ONE of S overlap FROM_NS to TO_NS? NS: as for sync_guess. */
SEPARATE int sync_overlaps(const struct fs_syncs *s, const struct syncer *one, uint64_t from_ns,
			   uint64_t to_ns, uint64_t ns)
{
	uint64_t begin_ns = s && one ? one->begin_ns : 0;

	if (!begin_ns || begin_ns >= to_ns)
		return 0;
	if (one->end_ns)
		return one->end_ns > from_ns;
	if (one->endless || (one->foreign && !s->ends))
		return begin_ns + sync_guess(one, ns) > from_ns;
	return begin_ns + SYNC_STALE_NS > from_ns;
}

/*
 * An untraced task, chosen at random, whose sync of DEV overlaps FROM_NS to TO_NS, during which an
 * operation of length NS waited; 0: none.
 */
SEPARATE uint32_t sync_foreign(uint32_t dev, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	struct fs_syncs *s = bpf_map_lookup_elem(&syncs, &dev);
	uint32_t first = bpf_get_prandom_u32();

	if (!s)
		return 0;
	for (uint32_t i = 0; i < SYNCERS; i++) {
		struct syncer *one = &s->list[(first + i) & (SYNCERS - 1)];

		if (one->foreign && sync_overlaps(s, one, from_ns, to_ns, ns))
			return one->tid;
	}
	return 0;
}

/*
 * The current task has changed AMOUNT (blocks, bytes: the same in all calls) of the metadata of S.
 * FOREIGN: it is not traced. What a kernel thread changes, it does for what others have written.
 */
static __always_inline void changes_note(struct fs_syncs *s, int64_t amount, bool foreign)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (amount <= 0 || task->flags & TASK_IS_KERNEL_THREAD)
		return;
	__sync_fetch_and_add(&s->changes.all, amount);
	if (!foreign)
		return;
	__sync_fetch_and_add(&s->changes.foreign, amount);
	if (s->changer == (uint32_t)task->pid)
		return;
	s->changer = task->pid;
	note_waited_for(task->pid, 0); /* it may have exited when a wait for it ends */
}

#define SYNC_LEAST_NS 10000000

enum asked {
	ASKED_NOT,
	ASKED_BEFORE, /* for the commit that began last, and was told that this was done */
	ASKED_LATER,  /* waits, but for the next commit */
	ASKED_NOW,    /* waits for the journal */
};

/* What ONE of S has asked the journal for. */
SEPARATE uint32_t syncer_asked(const struct fs_syncs *s, const struct syncer *one, uint64_t now)
{
	if (!s || !one)
		return ASKED_NOT;
	if (one->end_ns || !sync_overlaps(s, one, now - 1, now, SYNC_LEAST_NS))
		return s->commit_ns && one->end_ns >= s->commit_ns && one->begin_ns <= s->commit_ns
			       ? ASKED_BEFORE
			       : ASKED_NOT;
	return !s->commit_ns || one->begin_ns <= s->commit_ns ? ASKED_NOW : ASKED_LATER;
}

/*
 * In ASKED the task that the journal of DEV works for: chosen at random from those whose sync began
 * before the commit. If nobody waits for the journal, one of those it worked for last. Returns 0 if
 * there is none.
 */
SEPARATE int sync_asked(uint32_t dev, struct syncer *asked)
{
	struct fs_syncs *s = bpf_map_lookup_elem(&syncs, &dev);
	uint32_t first = bpf_get_prandom_u32();
	uint64_t now = bpf_ktime_get_ns();
	uint32_t best = ASKED_NOT, place = 0;

	if (!s || !asked)
		return 0;
	for (uint32_t i = 0; i < SYNCERS && best < ASKED_NOW; i++) {
		uint32_t at = (first + i) & (SYNCERS - 1);
		uint32_t how = syncer_asked(s, &s->list[at], now);

		/* the first of those served, but the last of those who wait for the next */
		if (how > best || (how == best && how == ASKED_LATER)) {
			best = how;
			place = at;
		}
	}
	if (best)
		*asked = s->list[place & (SYNCERS - 1)];
	return best != ASKED_NOT;
}

#endif

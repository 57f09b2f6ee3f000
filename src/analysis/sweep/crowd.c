/* Resources with many watchers and many users at once, without looking at each pair. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowd.h"
#include "eta-ext/base/search.h"
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * A watcher has to know how long each of the users was there while it watched. Those that rows keep
 * apart are few: how long each was there until now is a sum, of which a watcher takes the
 * difference. The others are charged one by one until more overlap it than its row can have;
 * from then on their sum is enough.
 *
 * On a device those that were there before the watcher count apart. Their sum changes for all that
 * began to watch after the one that leaves came: a Fenwick tree over the watchers by their begin.
 *
 * What is left of pairs: a user that leaves is charged to the tracks of its own thread, and on a
 * device to the few (is_crowd()) users' watchers that found it free.
 */
struct change {
	uint64_t n, ns; /* how many more; sum of ends minus sum of begins, modulo 2^64 */
};

struct watch_place {
	uint64_t since_ns;
	uint32_t thread; /* THREAD_NONE: no longer watching */
};

struct crowd {
	struct watch_place *list; /* by since_ns */
	struct change *tree;	  /* with the same indexes */
	uint32_t n, live, room;
	uint64_t arrived_at_ns; /* how many users came last, all at that time */
	uint32_t n_arrived;
	struct sweep_thread *few[2]; /* by watch_ahead: newest watcher without a crowd */
	uint64_t kept_ns[];	     /* how long each kept user was present until it last left */
};

/* A thread's part in it, while it watches. */
struct crowd_watch {
	struct presence *at; /* NULL: does not watch */
	uint32_t place;
	struct sweep_thread *older, *newer; /* neighbours in `few`; linked: it is in that list */
	bool linked;
	uint64_t total_ns;    /* presence of all users not kept, when it began */
	uint64_t n_ahead;     /* how many of them were present then, */
	struct change before; /* and the tree's sum */
	/* of all not kept, [1] those there before: what it was charged for one by one, what it did
	 * itself
	 */
	uint64_t charged_ns[2], own_ns[2];
	uint64_t kept_ns[]; /* of each kept user, when it began to watch or was last charged */
};

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void crowd_free(struct crowd *c)
{
	if (!c)
		return;
	free(c->list);
	free(c->tree);
	free(c);
}

/* ---- the tree ---- */

static struct change change_at(const struct crowd *c, uint32_t place)
{
	struct change sum = { 0 };

	for (uint32_t i = place + 1; i; i &= i - 1) {
		sum.n += c->tree[i - 1].n;
		sum.ns += c->tree[i - 1].ns;
	}
	return sum;
}

/*
 * A user present SINCE_NS comes or goes: it is ahead of all that began to watch at that time or
 * later.
 */
static void change_ahead(struct crowd *c, uint64_t since_ns, bool comes, uint64_t now)
{
	uint32_t low;

	if (c->n == 0 || c->list[c->n - 1].since_ns < since_ns)
		return;
	low = PARTITION_POINT((uint32_t)0, c->n, i, c->list[i].since_ns < since_ns);
	for (uint32_t i = low + 1; i <= c->room; i += i & -i) {
		c->tree[i - 1].n += comes ? 1 : UINT64_MAX;
		c->tree[i - 1].ns += comes ? -now : now;
	}
}

/* Reuses the places of watchers that have gone, or makes more. */
static int make_room(struct sweep *s, struct crowd *c)
{
	uint32_t room = c->live >= c->room / 2 ? 2 * c->room : c->room, n = 0;
	struct watch_place *list;
	struct change *tree;

	room = room ? room : 64;
	tree = calloc(room, sizeof(*tree));
	list = tree ? reallocarray(c->list, room, sizeof(*list)) : NULL;
	if (!list) {
		free(tree);
		return -ENOMEM;
	}
	c->list = list;
	for (uint32_t i = 0; i < c->n; i++) {
		struct change sum;
		struct crowd_watch *w;

		if (list[i].thread == THREAD_NONE)
			continue;
		sum = change_at(c, i);
		w = s->threads[list[i].thread].crowd_watch;
		w->before.n -= sum.n;
		w->before.ns -= sum.ns;
		w->place = n;
		list[n++] = list[i];
	}
	free(c->tree);
	c->tree = tree;
	c->room = room;
	c->n = n;
	return 0;
}

/* ---- those without a crowd ---- */

static void link_few(struct crowd *c, struct sweep_thread *l)
{
	struct sweep_thread **newest = &c->few[l->watch.queue_ahead];

	l->crowd_watch->linked = true;
	l->crowd_watch->newer = NULL;
	l->crowd_watch->older = *newest;
	if (*newest)
		(*newest)->crowd_watch->newer = l;
	*newest = l;
}

static void unlink_few(struct crowd *c, struct sweep_thread *l)
{
	struct crowd_watch *w = l->crowd_watch;

	if (!w->linked)
		return;
	w->linked = false;
	if (w->newer)
		w->newer->crowd_watch->older = w->older;
	else
		c->few[l->watch.queue_ahead] = w->older;
	if (w->older)
		w->older->crowd_watch->newer = w->newer;
}

static void charge_one(struct sweep *s, struct crowd *c, struct sweep_thread *watcher,
		       const struct sweep_thread *user, enum weight_kind kind, uint64_t ns)
{
	if (sweep_thread_of(s, watcher) == user)
		return;
	weight_add(s, watcher, kind, (uint32_t)(user - s->threads), ns);
	watcher->crowd_watch->charged_ns[kind == WEIGHT_AHEAD] += ns;
	if (watcher->weights.crowded)
		unlink_few(c, watcher);
}

/* Are more present than a row can have, so that they need not be asked one by one? */
static bool is_crowd(const struct sweep *s, uint64_t n)
{
	return n > 2 * (uint64_t)s->engine->blame_bound.keep + 1; /* one may be itself */
}

/* Charges the watchers in `few` for USER, which rows do not keep and which leaves. */
static void charge_few(struct sweep *s, struct presence *p, const struct sweep_thread *user,
		       uint64_t since_ns, uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);
	struct crowd *c = p->crowd;
	bool crowd = is_crowd(s, p->users.n - (c->arrived_at_ns == now ? c->n_arrived : 0));
	struct sweep_thread *next;

	for (struct sweep_thread *l = c->few[true]; l && since_ns <= l->watch.since_ns; l = next) {
		next = l->crowd_watch->older;
		charge_one(s, c, l, user, WEIGHT_AHEAD, now - l->watch.since_ns);
	}
	for (struct sweep_thread *l = c->few[false]; l; l = next) {
		bool ahead = kind == WEIGHT_DEVICE && since_ns <= l->watch.since_ns;

		next = l->crowd_watch->older;
		if (crowd && l->watch.since_ns < now) {
			weights_crowd(s, l);
			unlink_few(c, l);
			continue;
		}
		charge_one(s, c, l, user, ahead ? WEIGHT_AHEAD : kind,
			   now - later(since_ns, l->watch.since_ns));
	}
}

/* ---- users come and go ---- */

static uint32_t kept_place(const struct sweep *s, const struct sweep_thread *l)
{
	return s->engine->blame_bound.order[l->location];
}

void crowd_comes(struct sweep *s, struct presence *p, const struct sweep_thread *user, uint64_t now)
{
	bool kept = thread_is_kept(s, user);
	struct crowd *c = p->crowd;

	presence_others(p, now);
	p->n_others += !kept;
	if (!c)
		return;
	c->n_arrived = c->arrived_at_ns == now ? c->n_arrived + 1 : 1;
	c->arrived_at_ns = now;
	if (!kept && presence_kind(s, p) == WEIGHT_DEVICE)
		change_ahead(c, now, true, now);
}

/*
 * A kept user leaves: it was ahead of those that began to watch while it was present; charges each
 * of them once.
 */
static void charge_ahead(struct sweep *s, struct crowd *c, const struct sweep_thread *user,
			 uint64_t since_ns, uint64_t now)
{
	uint32_t k = kept_place(s, user);

	for (uint32_t i = c->n; i > 0 && c->list[i - 1].since_ns >= since_ns; i--) {
		struct sweep_thread *l;

		if (c->list[i - 1].thread == THREAD_NONE)
			continue;
		l = &s->threads[c->list[i - 1].thread];
		if (sweep_thread_of(s, l) == user)
			continue;
		weight_add(s, l, WEIGHT_AHEAD, (uint32_t)(user - s->threads),
			   now - l->watch.since_ns);
		l->crowd_watch->kept_ns[k] += now - l->watch.since_ns;
	}
}

/* What L's own thread did on P since SINCE_NS is not counted against it. */
static void add_own(const struct sweep *s, const struct presence *p, const struct sweep_thread *l,
		    uint64_t since_ns, uint64_t now)
{
	bool ahead = presence_kind(s, p) == WEIGHT_DEVICE && since_ns <= l->watch.since_ns;

	l->crowd_watch->own_ns[ahead] += now - later(since_ns, l->watch.since_ns);
}

void crowd_goes(struct sweep *s, struct presence *p, const struct sweep_thread *user,
		uint64_t since_ns, uint64_t now)
{
	bool device = presence_kind(s, p) == WEIGHT_DEVICE, kept = thread_is_kept(s, user);
	struct crowd *c = p->crowd;
	uint32_t own = (uint32_t)(user - s->threads);

	presence_others(p, now);
	p->n_others -= !kept;
	if (!c)
		return;
	if (kept) {
		c->kept_ns[kept_place(s, user)] += now - since_ns;
		if (device)
			charge_ahead(s, c, user, since_ns, now);
		return;
	}
	if (device)
		change_ahead(c, since_ns, false, now);
	for (; own != THREAD_NONE; own = s->plan->next_own[own])
		if (s->threads[own].crowd_watch && s->threads[own].crowd_watch->at == p)
			add_own(s, p, &s->threads[own], since_ns, now);
	charge_few(s, p, user, since_ns, now);
}

/* ---- watching ---- */

static uint64_t kept_until(struct sweep *s, const struct presence *p, uint32_t k,
			   struct sweep_thread *kept, uint64_t now)
{
	uint64_t since_ns, ns = p->crowd->kept_ns[k];

	return presence_since(s, p, kept, &since_ns) ? ns + (now - since_ns) : ns;
}

static struct sweep_thread *kept_thread(struct sweep *s, const struct sweep_thread *by, uint32_t k)
{
	size_t row = (size_t)s->plan->machines[by->location] * s->engine->blame_bound.keep;
	uint32_t thread = s->plan->kept[row + k];

	return thread == THREAD_NONE ? NULL : &s->threads[thread];
}

static int crowd_new(struct sweep *s, struct presence *p, struct sweep_thread *l)
{
	size_t kept_bytes = s->engine->blame_bound.keep * sizeof(uint64_t);

	if (!p->crowd)
		p->crowd = calloc(1, sizeof(*p->crowd) + kept_bytes);
	if (!l->crowd_watch)
		l->crowd_watch = calloc(1, sizeof(*l->crowd_watch) + kept_bytes);
	if (!p->crowd || !l->crowd_watch)
		return -ENOMEM;
	return p->crowd->n == p->crowd->room ? make_room(s, p->crowd) : 0;
}

void crowd_watch_begin(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now)
{
	struct crowd_watch *w;

	if (crowd_new(s, p, l) < 0) {
		s->rc = -ENOMEM;
		return;
	}
	w = l->crowd_watch;
	w->at = p;
	w->place = p->crowd->n++;
	p->crowd->live++;
	p->crowd->list[w->place] = (struct watch_place){ now, (uint32_t)(l - s->threads) };
	w->before = change_at(p->crowd, w->place);
	w->n_ahead = p->n_others;
	w->total_ns = presence_others(p, now);
	memset(w->charged_ns, 0, sizeof(w->charged_ns));
	memset(w->own_ns, 0, sizeof(w->own_ns));
	w->linked = false;
	if (!l->weights.crowded)
		link_few(p->crowd, l);
	/* if somebody is ahead, later users do not count */
	for (uint32_t k = 0; !l->watch.queue_ahead && k < s->engine->blame_bound.keep; k++) {
		struct sweep_thread *kept = kept_thread(s, l, k);

		w->kept_ns[k] = kept ? kept_until(s, p, k, kept, now) : 0;
	}
}

static void see_kept(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);

	for (uint32_t k = 0; k < s->engine->blame_bound.keep; k++) {
		struct sweep_thread *kept = kept_thread(s, l, k);
		uint64_t since_ns, ahead_ns = 0;
		uint32_t thread;

		if (!kept || kept == sweep_thread_of(s, l))
			continue;
		thread = (uint32_t)(kept - s->threads);
		if (kind == WEIGHT_DEVICE && presence_since(s, p, kept, &since_ns) &&
		    since_ns <= l->watch.since_ns)
			ahead_ns = now - l->watch.since_ns;
		weight_add(s, l, WEIGHT_AHEAD, thread, ahead_ns);
		if (!l->watch.queue_ahead)
			weight_add(s, l, kind, thread,
				   kept_until(s, p, k, kept, now) - l->crowd_watch->kept_ns[k] -
					   ahead_ns);
	}
}

/*
 * Charges L for users not kept that are still present, until it is a crowd; AHEAD of them came
 * before it.
 */
static void see_present(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t ahead,
			uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);

	if (l->watch.queue_ahead && is_crowd(s, ahead) && now > l->watch.since_ns)
		weights_crowd(s, l);
	for (uint32_t i = 0;
	     i < p->users.n && !l->weights.crowded && (ahead || !l->watch.queue_ahead); i++) {
		const struct member *user = &p->users.list[i];
		bool is_ahead = kind == WEIGHT_DEVICE && user->since_ns <= l->watch.since_ns;

		if (thread_is_kept(s, &s->threads[user->thread]) ||
		    (l->watch.queue_ahead && !is_ahead))
			continue;
		ahead -= is_ahead;
		charge_one(s, p->crowd, l, &s->threads[user->thread],
			   is_ahead ? WEIGHT_AHEAD : kind,
			   now - later(user->since_ns, l->watch.since_ns));
	}
}

void crowd_watch_end(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);
	struct sweep_thread *self = sweep_thread_of(s, l);
	struct crowd *c = p->crowd;
	struct crowd_watch *w = l->crowd_watch;
	struct change change = change_at(c, w->place);
	uint64_t ahead = 0, ahead_ns = 0, since_ns;

	if (kind == WEIGHT_DEVICE) {
		ahead = w->n_ahead + change.n - w->before.n;
		ahead_ns = change.ns - w->before.ns + ahead * now - w->n_ahead * l->watch.since_ns;
	}
	see_kept(s, p, l, now);
	see_present(s, p, l, ahead, now);
	if (l->weights.crowded) {
		if (!thread_is_kept(s, self) && presence_since(s, p, self, &since_ns))
			add_own(s, p, l, since_ns, now);
		l->weights.others_ns[WEIGHT_AHEAD - N_CELLS] +=
			ahead_ns - w->own_ns[1] - w->charged_ns[1];
		if (!l->watch.queue_ahead)
			l->weights.others_ns[kind - N_CELLS] += presence_others(p, now) -
								w->total_ns - ahead_ns -
								w->own_ns[0] - w->charged_ns[0];
	}
	unlink_few(c, l);
	c->list[w->place].thread = THREAD_NONE;
	c->live--;
	w->at = NULL;
}

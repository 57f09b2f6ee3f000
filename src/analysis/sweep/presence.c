/* Who uses a resource at the same time, and for how long. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "crowd.h"
#include "sweep.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- sets of threads ---- */

static uint32_t *place_in(const struct thread_set *p, struct sweep_thread *l)
{
	return p->role == ROLE_DEVICE ? &l->own[p->place].place : &l->place[p->role];
}

static void thread_set_add(struct sweep *s, struct thread_set *p, struct sweep_thread *l,
			   uint64_t since_ns)
{
	if (p->n == p->room) {
		uint32_t room = p->room ? 2 * p->room : 4;
		struct member *list = reallocarray(p->list, room, sizeof(*list));

		if (!list) {
			s->rc = -ENOMEM;
			return;
		}
		p->list = list;
		p->room = room;
	}
	*place_in(p, l) = p->n;
	p->list[p->n++] = (struct member){ since_ns, (uint32_t)(l - s->threads) };
}

static void thread_set_remove(struct sweep *s, struct thread_set *p, struct sweep_thread *l)
{
	uint32_t place = *place_in(p, l);

	if (s->rc)
		return; /* it may be missing; the sweep fails anyway */
	p->list[place] = p->list[--p->n];
	*place_in(p, &s->threads[p->list[place].thread]) = place;
}

bool presence_since(const struct sweep *s, const struct presence *p, struct sweep_thread *l,
		    uint64_t *since_ns)
{
	uint32_t place = p->users.n ? *place_in(&p->users, l) : 0;

	if (place >= p->users.n || &s->threads[p->users.list[place].thread] != l)
		return false;
	*since_ns = p->users.list[place].since_ns;
	return true;
}

void presence_free(struct presence *p)
{
	crowd_free(p->crowd);
	free(p->users.list);
	free(p->watchers.list);
}

/* ---- files: an operation is present from its begin to its end ---- */

/* Advances to NOW with the same others present, and finishes stretches that ended by then. */
static void file_advance(struct sweep_thread *l, uint64_t now)
{
	struct operation_record *op = &l->op;

	for (; l->file.stretch < op->n_stretches; l->file.stretch++) {
		const struct stretch *st = &op->stretches[l->file.stretch];

		if (l->file.overlaps && l->file.stretch_begin_ns < now &&
		    cell_table[st->cell].group == GROUP_FILE)
			stretch_is_contended(l, l->file.stretch);
		if (l->file.stretch_begin_ns + st->ns > now)
			return;
		l->file.stretch_begin_ns += st->ns;
	}
}

static void set_overlaps(struct sweep_thread *l, bool overlaps, uint64_t now)
{
	file_advance(l, now);
	l->file.unchanged = false;
	l->file.overlaps = overlaps;
	l->file.overlapped |= overlaps;
}

uint64_t presence_others(struct presence *p, uint64_t now)
{
	p->others_ns += p->n_others * (now - p->others_at_ns);
	p->others_at_ns = now;
	return p->others_ns;
}

/* In a crowd only kept threads are looked at, so that N operations do not cost N * N. */
static void file_watcher_enters(struct sweep *s, struct presence *p, struct sweep_thread *l)
{
	uint64_t ns = presence_others(p, l->op.begin_ns);

	p->n_others += !thread_is_kept(s, l);
	l->file.others_ns = ns;
	l->file.crowded = false;
	p->watchers.role = ROLE_FILE_WATCHER;
	if (l->file.watched)
		thread_set_add(s, &p->watchers, l, l->op.begin_ns);
}

static void overlap_on_file(struct sweep *s, struct sweep_thread *l, struct sweep_thread *other,
			    uint64_t now)
{
	weight_add_file(s, l, other, now - later(l->op.begin_ns, other->op.begin_ns));
}

/* L, which watches its file, leaves: charges it for those that stay. */
static void charge_file_watcher(struct sweep *s, struct presence *p, struct sweep_thread *l,
				uint64_t now)
{
	uint32_t keep = s->engine->blame_bound.keep, i;
	const uint32_t *kept = &s->plan->kept[(size_t)s->plan->machines[l->location] * keep];

	for (i = 0; i < p->users.n && !l->weights.crowded; i++)
		overlap_on_file(s, l, &s->threads[p->users.list[i].thread], now);
	if (!l->weights.crowded)
		return;
	for (uint32_t k = 0; k < keep; k++) {
		struct sweep_thread *other = kept[k] == THREAD_NONE ? NULL : &s->threads[kept[k]];
		uint32_t place = other ? other->place[ROLE_FILE] : UINT32_MAX;

		/* it may be on another file by now, or was charged above */
		if (place >= i && place < p->users.n && p->users.list[place].thread == kept[k])
			overlap_on_file(s, l, other, now);
	}
	l->weights.others_ns[WEIGHT_FILE - N_CELLS] = presence_others(p, now) - l->file.others_ns;
	if (!thread_is_kept(s, l))
		l->weights.others_ns[WEIGHT_FILE - N_CELLS] -= now - l->op.begin_ns;
}

/* file_leave() below, for a trace of so many locations that rows are bounded. */
static void leave_crowd(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now)
{
	bool kept = thread_is_kept(s, l);

	if (l->file.watched && !l->file.crowded)
		thread_set_remove(s, &p->watchers, l);
	for (uint32_t i = 0; kept && p->n_file_watchers && i < p->users.n; i++) {
		struct sweep_thread *other = &s->threads[p->users.list[i].thread];

		if (other->file.watched)
			overlap_on_file(s, other, l, now);
	}
	for (uint32_t i = 0; i < p->watchers.n;) {
		struct sweep_thread *other = &s->threads[p->watchers.list[i].thread];

		if (!kept && !other->weights.crowded)
			overlap_on_file(s, other, l, now);
		other->file.crowded = other->weights.crowded;
		if (!other->weights.crowded)
			i++;
		else
			thread_set_remove(s, &p->watchers, other);
		if (s->rc)
			return;
	}
	if (l->file.watched)
		charge_file_watcher(s, p, l, now);
	presence_others(p, now);
	p->n_others -= !kept;
}

/*
 * Overlap begins when a second operation comes, and ends when one is left: so only the one that was
 * or is alone has to be updated.
 */
void file_enter(struct sweep *s, struct sweep_thread *l)
{
	struct presence *p = &s->files[l->op.file];

	if (p->active == 1)
		set_overlaps(&s->threads[p->mixed], true, l->op.begin_ns);
	l->file.overlaps = l->file.overlapped = p->active > 0;
	l->file.unchanged = true;
	l->file.stretch = 0;
	l->file.stretch_begin_ns = l->op.begin_ns;
	p->active++;
	p->mixed ^= (uint32_t)(l - s->threads);
	p->n_file_watchers += l->file.watched;
	p->users.role = ROLE_FILE;
	thread_set_add(s, &p->users, l, l->op.begin_ns);
	if (s->plan->kept)
		file_watcher_enters(s, p, l);
}

void file_leave(struct sweep *s, struct sweep_thread *l)
{
	struct presence *p = &s->files[l->op.file];
	uint64_t now = l->op.end_ns;

	if (!l->file.unchanged)
		file_advance(l, now);
	thread_set_remove(s, &p->users, l);
	if (s->plan->kept)
		leave_crowd(s, p, l, now);
	for (uint32_t i = 0; !s->plan->kept && p->n_file_watchers && i < p->users.n; i++) {
		struct sweep_thread *other = &s->threads[p->users.list[i].thread];
		uint64_t ns = now - later(l->op.begin_ns, p->users.list[i].since_ns);

		if (l->file.watched)
			weight_add_file(s, l, other, ns);
		if (other->file.watched)
			weight_add_file(s, other, l, ns);
	}
	p->n_file_watchers -= l->file.watched;
	p->active--;
	p->mixed ^= (uint32_t)(l - s->threads);
	if (p->active == 1)
		set_overlaps(&s->threads[p->mixed], false, now);
}

/* ---- what is watched for a stretch: file systems, the page cache, devices ---- */

static bool is_cache(const struct sweep *s, const struct presence *p)
{
	return p >= s->dirty && p < s->dirty + s->plan->n_machines;
}

static bool is_device(const struct sweep *s, const struct presence *p)
{
	return p >= s->device && p < s->device + s->plan->n_devs_and_servers;
}

static bool is_server(const struct sweep *s, const struct presence *p)
{
	return is_device(s, p) && p >= s->device + s->engine->resources.n_devs;
}

static bool is_changes(const struct sweep *s, const struct presence *p)
{
	return p >= s->changes && p < s->changes + s->engine->resources.n_devs;
}

enum weight_kind presence_kind(const struct sweep *s, const struct presence *p)
{
	if (is_cache(s, p))
		return WEIGHT_DIRTY;
	if (is_server(s, p))
		return WEIGHT_SERVER;
	return is_device(s, p) ? WEIGHT_DEVICE : WEIGHT_FS;
}

/* Is this user of a device ahead of WATCHER? If anyone is, those that came later do not count. */
static bool is_ahead(const struct sweep_thread *watcher, enum weight_kind kind, uint64_t since_ns)
{
	return kind == WEIGHT_DEVICE && since_ns <= watcher->watch.since_ns;
}

/* The thread USER, present since SINCE_NS, counts against WATCHER. */
static void charge(struct sweep *s, struct sweep_thread *watcher, enum weight_kind kind,
		   uint32_t user, uint64_t since_ns, uint64_t now)
{
	uint64_t ns = now - later(since_ns, watcher->watch.since_ns);

	weight_add(s, watcher, kind, user, ns);
	watcher->watch.present_ns += ns;
}

/* USER, present since SINCE_NS, leaves: charges the watchers for it. */
static void charge_watchers(struct sweep *s, struct presence *p, const struct sweep_thread *user,
			    uint64_t since_ns, uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);

	for (uint32_t i = 0; i < p->watchers.n; i++) {
		struct sweep_thread *watcher = &s->threads[p->watchers.list[i].thread];
		bool ahead = is_ahead(watcher, kind, since_ns);

		if (sweep_thread_of(s, watcher) != user && (ahead || !watcher->watch.queue_ahead))
			charge(s, watcher, ahead ? WEIGHT_AHEAD : kind,
			       (uint32_t)(user - s->threads), since_ns, now);
	}
}

/* charge_watcher() where rows are bounded, but no crowd is present. */
static void charge_bound(struct sweep *s, const struct presence *p, struct sweep_thread *watcher,
			 uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);
	uint32_t self = s->plan->thread_of[watcher - s->threads];

	for (uint32_t i = 0; i < p->users.n; i++) {
		const struct member *user = &p->users.list[i];
		bool ahead = is_ahead(watcher, kind, user->since_ns);

		if (user->thread != self && (ahead || !watcher->watch.queue_ahead))
			charge(s, watcher, ahead ? WEIGHT_AHEAD : kind, user->thread,
			       user->since_ns, now);
	}
}

/* WATCHER leaves: charges it for the users still present. */
static void charge_watcher(struct sweep *s, const struct presence *p, struct sweep_thread *watcher,
			   uint64_t now)
{
	enum weight_kind kind = presence_kind(s, p);
	uint32_t self = s->plan->thread_of[watcher - s->threads], n = watcher->weights.n;
	struct weight *weights;

	if (s->engine->blame_bound.keep) {
		charge_bound(s, p, watcher, now);
		return;
	}
	if (weights_reserve(s, watcher, p->users.n) < 0) {
		s->rc = -ENOMEM;
		return;
	}
	/* each user occurs once */
	watcher->weights.distinct = n == 0;
	n = watcher->weights.n;
	weights = watcher->weights.list;
	for (uint32_t i = 0; i < p->users.n; i++) {
		const struct member *user = &p->users.list[i];
		bool ahead = is_ahead(watcher, kind, user->since_ns);
		uint64_t ns = now - later(user->since_ns, watcher->watch.since_ns);

		weights[n] = (struct weight){ ns, user->thread, ahead ? WEIGHT_AHEAD : kind };
		if (ns && user->thread != self && (ahead || !watcher->watch.queue_ahead)) {
			watcher->watch.present_ns += ns;
			n++;
		}
	}
	watcher->weights.n = n;
}

static void comes(struct sweep *s, struct presence *p, struct sweep_thread *user, uint64_t now)
{
	thread_set_add(s, &p->users, user, now);
	if (s->plan->kept)
		crowd_comes(s, p, user, now);
}

static void goes(struct sweep *s, struct presence *p, struct sweep_thread *user, uint64_t since_ns,
		 uint64_t now)
{
	if (s->plan->kept)
		crowd_goes(s, p, user, since_ns, now);
	charge_watchers(s, p, user, since_ns, now);
	thread_set_remove(s, &p->users, user);
}

void user_enter(struct sweep *s, struct presence *p, struct sweep_thread *l)
{
	p->active++;
	p->arrivals++;
	p->users.role = is_cache(s, p) ? ROLE_DIRTY : is_changes(s, p) ? ROLE_CHANGES : ROLE_FS;
	comes(s, p, l, l->op.begin_ns);
}

void user_leave(struct sweep *s, struct presence *p, struct sweep_thread *l, uint64_t now)
{
	goes(s, p, l, l->op.begin_ns, now);
	p->active--;
}

static void begins_on(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner,
		      uint32_t dev, uint64_t now)
{
	struct presence *p = &s->device[dev];
	uint32_t place = s->plan->places[dev];
	struct own_requests *own = &owner->own[place];

	p->active++;
	p->arrivals++;
	own->active++;
	own->arrivals++;
	if (own->charged++ == 0) {
		p->users.role = ROLE_DEVICE;
		p->users.place = place;
		comes(s, p, owner, now);
	}
	if (owner != sweep_thread_of(s, l)) {
		l->own[place].active++;
		l->own[place].arrivals++;
	}
}

static void ends_on(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner,
		    uint32_t dev, uint64_t now)
{
	struct presence *p = &s->device[dev];
	uint32_t place = s->plan->places[dev];
	struct own_requests *own = &owner->own[place];

	p->active--;
	own->active--;
	if (owner != sweep_thread_of(s, l))
		l->own[place].active--;
	if (--own->charged == 0)
		goes(s, p, owner, p->users.list[own->place].since_ns, now);
}

/*
 * 1 + the device that stands for all devices of DEV's machine; 0: no operation waits for all, or it
 * is a server.
 */
static uint32_t everywhere_of(const struct sweep *s, uint32_t dev)
{
	if (dev >= s->engine->resources.n_devs)
		return 0;
	return s->plan->everywhere[s->engine->resources.devs[dev] >> 32];
}

void request_begins(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner,
		    uint32_t dev, uint64_t now)
{
	uint32_t everywhere = everywhere_of(s, dev);

	begins_on(s, l, owner, dev, now);
	if (everywhere && everywhere - 1 != dev)
		begins_on(s, l, owner, everywhere - 1, now);
}

void request_ends(struct sweep *s, struct sweep_thread *l, struct sweep_thread *owner, uint32_t dev,
		  uint64_t now)
{
	uint32_t everywhere = everywhere_of(s, dev);

	ends_on(s, l, owner, dev, now);
	if (everywhere && everywhere - 1 != dev)
		ends_on(s, l, owner, everywhere - 1, now);
}

/* ---- watching ---- */

static struct presence *watched_by(struct sweep *s, const struct sweep_thread *l,
				   const struct stretch *st)
{
	switch (cell_table[st->cell].group) {
	case GROUP_FILE: /* the file is unknown */
		return &s->fs[l->op.dev];
	case GROUP_FS:
		return cell_table[st->cell].level == ETA_LEVEL_FS ? &s->changes[l->op.dev]
								  : &s->fs[l->op.dev];
	case GROUP_DIRTY:
		return page_cache_of(s, l);
	case GROUP_SERVER:
		return &s->device[server_of(s, l)];
	default:
		return &s->device[st->what];
	}
}

/* The requests of L's thread on device P. */
static const struct own_requests *own_on(const struct sweep *s, const struct sweep_thread *l,
					 const struct presence *p)
{
	return &sweep_thread_of(s, l)->own[s->plan->places[p - s->device]];
}

/* How many of the users of P are L's own, and how many of those that ever came. */
static void own_part(const struct sweep *s, const struct sweep_thread *l, uint32_t *active,
		     uint64_t *arrivals)
{
	const struct presence *p = l->watch.on;

	*arrivals = 0; /* an operation does not come again while it runs */
	if (is_cache(s, p)) {
		*active = l->op.dirties;
	} else if (is_device(s, p)) {
		*active = own_on(s, l, p)->active;
		*arrivals = own_on(s, l, p)->arrivals;
	} else {
		*active = !is_changes(s, p) || l->op.changes;
	}
}

/* Can more threads overlap it than rows of culprits have room for? */
static bool is_in_crowd(const struct sweep *s, const struct sweep_thread *l)
{
	return s->plan->kept && s->plan->crowded[s->plan->machines[l->location]];
}

void watch_begin(struct sweep *s, struct sweep_thread *l, const struct stretch *st, uint64_t now)
{
	uint64_t arrivals;
	uint32_t active;

	l->watch.on = watched_by(s, l, st);
	own_part(s, l, &active, &arrivals);
	l->watch.others = l->watch.on->active > active;
	l->watch.arrivals = l->watch.on->arrivals - arrivals;
	l->watch.since_ns = now;
	l->watch.listed = l->lost_cells >> st->cell & 1;
	if (!l->watch.listed)
		return;
	/* at a server none is served first because it came first */
	l->watch.queue_ahead = is_device(s, l->watch.on) && !is_server(s, l->watch.on) &&
			       l->watch.on->users.n > (own_on(s, l, l->watch.on)->charged > 0);
	l->watch.on->watchers.role = ROLE_WATCH;
	l->watch.present_ns = 0;
	if (is_in_crowd(s, l))
		crowd_watch_begin(s, l->watch.on, l, now);
	else
		thread_set_add(s, &l->watch.on->watchers, l, now);
}

bool watch_end(struct sweep *s, struct sweep_thread *l, uint64_t now)
{
	struct presence *p = l->watch.on;
	uint64_t arrivals;
	uint32_t active;

	own_part(s, l, &active, &arrivals);
	if (l->watch.listed && is_in_crowd(s, l)) {
		crowd_watch_end(s, p, l, now);
		l->watch.present_ns = now - l->watch.since_ns;
	} else if (l->watch.listed) {
		charge_watcher(s, p, l, now);
		thread_set_remove(s, &p->watchers, l);
	}
	return l->watch.others || p->arrivals - arrivals != l->watch.arrivals;
}

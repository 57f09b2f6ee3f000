/* Operations of other machines on what several use: intervals, by thread. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "company.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/base/search.h"

void company_free(struct company *c)
{
	shares_free(&c->shares);
	free(c->keys);
	free(c->uses);
	free(c->entries);
	free(c->members);
	free(c->first_member);
	free(c->runs);
	free(c->of_file);
	free(c->of_dev);
	*c = (struct company){ 0 };
}

/* ---- what is used by several ---- */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_key(const struct company_key *x, const struct company_key *y)
{
	int order = compare(x->server, y->server);

	if (!order)
		order = compare(x->number, y->number);
	return order ? order : compare(x->inode, y->inode);
}

static int by_use(const void *a, const void *b)
{
	const struct company_use *x = a, *y = b;
	int order = by_key(&x->key, &y->key);

	return order ? order : compare(x->machine, y->machine);
}

int company_uses(struct company *c, const struct company_use *use)
{
	if (!ARRAY_FITS(c->uses, c->n_uses + 1, c->uses_room))
		return -ENOMEM;
	c->uses[c->n_uses++] = *use;
	return 0;
}

void company_sort_uses(struct company *c)
{
	size_t kept = 0;

	if (c->n_uses)
		qsort(c->uses, c->n_uses, sizeof(*c->uses), by_use);
	for (size_t i = 0; i < c->n_uses; i++)
		if (!kept || by_use(&c->uses[kept - 1], &c->uses[i]) != 0)
			c->uses[kept++] = c->uses[i];
	c->n_uses = kept;
}

int company_find_keys(struct company *c)
{
	c->keys = calloc(c->n_uses + 1, sizeof(*c->keys));
	if (!c->keys)
		return -ENOMEM;
	c->n_keys = 0;
	for (size_t i = 1; i < c->n_uses; i++) {
		const struct company_key *key = &c->uses[i].key;

		/* each machine once */
		if (by_key(&c->uses[i - 1].key, key) == 0 &&
		    (!c->n_keys || by_key(&c->keys[c->n_keys - 1], key) != 0))
			c->keys[c->n_keys++] = *key;
	}
	return 0;
}

static int keys_compare(const void *a, const void *b)
{
	return by_key(a, b);
}

uint32_t company_key_index(const struct company *c, const struct company_key *key)
{
	const struct company_key *found =
		c->n_keys ? bsearch(key, c->keys, c->n_keys, sizeof(*key), keys_compare) : NULL;

	return found ? (uint32_t)(found - c->keys) : ETA_NONE;
}

/* ---- intervals ---- */

int company_operation(const struct company *c, struct company_list *entries,
		      struct company_entry *run, uint64_t begin_ns, uint64_t end_ns)
{
	struct company_run *r = &run->run;
	uint64_t gap_ns = begin_ns > r->end_ns ? begin_ns - r->end_ns : 0;

	if (r->end_ns && gap_ns <= c->error_ns) {
		r->gap_ns = gap_ns > r->gap_ns ? gap_ns : r->gap_ns;
		r->busy_ns += end_ns - begin_ns;
		r->end_ns = end_ns > r->end_ns ? end_ns : r->end_ns;
		return 0;
	}
	if (r->end_ns) {
		if (!ARRAY_FITS(entries->list, entries->n + 1, entries->room))
			return -ENOMEM;
		entries->list[entries->n++] = *run;
	}
	*r = (struct company_run){ begin_ns, end_ns, 0, end_ns - begin_ns };
	return 0;
}

static int by_entry(const void *a, const void *b)
{
	const struct company_entry *x = a, *y = b;
	int order = compare(x->key, y->key);

	if (!order)
		order = compare(x->location, y->location);
	return order ? order : compare(x->run.begin_ns, y->run.begin_ns);
}

/* ---- members ---- */

/*
 * So many threads of a file are looked at one by one, those that were longest on it; of each
 * machine the rest is one. All of thousands would take each operation as long as that.
 */
#define MOST 64

struct candidate {
	size_t first, n; /* of the entries */
	uint64_t busy_ns;
	uint32_t location, machine;
};

/* Those that stay themselves first, then the others by machine. */
static int by_busy(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->busy_ns != y->busy_ns)
		return x->busy_ns > y->busy_ns ? -1 : 1;
	return compare(x->location, y->location);
}

static int by_machine(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = compare(x->machine, y->machine);

	return order ? order : compare(x->location, y->location);
}

static int by_begin(const void *a, const void *b)
{
	const struct company_run *x = a, *y = b;
	int order = compare(x->begin_ns, y->begin_ns);

	return order ? order : compare(x->end_ns, y->end_ns);
}

/* Runs of several threads, which may overlap, as those of one. */
static size_t unite(struct company_run *runs, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(runs, n, sizeof(*runs), by_begin);
	for (size_t i = 0; i < n; i++) {
		struct company_run *last = kept ? &runs[kept - 1] : NULL;

		if (!last || runs[i].begin_ns > last->end_ns) {
			runs[kept++] = runs[i];
			continue;
		}
		last->gap_ns = runs[i].gap_ns > last->gap_ns ? runs[i].gap_ns : last->gap_ns;
		last->busy_ns += runs[i].busy_ns;
		last->end_ns = runs[i].end_ns > last->end_ns ? runs[i].end_ns : last->end_ns;
	}
	return kept;
}

static void add_member(struct company *c, uint32_t machine, uint32_t location, size_t first,
		       size_t n)
{
	c->members[c->n_members++] = (struct company_member){ first, n, machine, location };
}

static size_t copy_runs(struct company *c, const struct candidate *from, size_t at)
{
	for (size_t i = 0; i < from->n; i++)
		c->runs[at + i] = c->entries[from->first + i].run;
	return at + from->n;
}

/* The members of one key, whose candidates these are; *AT: of the runs. */
static void seal_key(struct company *c, struct candidate *list, size_t n, size_t *at)
{
	size_t alone = n < MOST ? n : MOST;

	if (n > MOST)
		qsort(list, n, sizeof(*list), by_busy);
	qsort(list, alone, sizeof(*list), by_machine);
	if (n > alone)
		qsort(list + alone, n - alone, sizeof(*list), by_machine);
	for (size_t i = 0; i < alone; i++) {
		add_member(c, list[i].machine, list[i].location, *at, list[i].n);
		*at = copy_runs(c, &list[i], *at);
	}
	for (size_t i = alone; i < n;) {
		uint32_t machine = list[i].machine;
		size_t first = *at;

		for (; i < n && list[i].machine == machine; i++)
			*at = copy_runs(c, &list[i], *at);
		*at = first + unite(c->runs + first, *at - first);
		add_member(c, machine, ETA_NONE, first, *at - first);
	}
}

/* One per key and location. */
static size_t find_candidates(const struct company *c, const uint32_t *machines,
			      struct candidate *list)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_entries; i++) {
		const struct company_entry *e = &c->entries[i];

		if (!i || e[-1].key != e->key || e[-1].location != e->location)
			list[n++] = (struct candidate){ .first = i,
							.location = e->location,
							.machine = machines[e->location] };
		list[n - 1].n++;
		list[n - 1].busy_ns += e->run.busy_ns;
	}
	return n;
}

int company_seal(struct company *c, const uint32_t *machines)
{
	struct candidate *list = calloc(c->n_entries + 1, sizeof(*list));
	size_t n, at = 0, next = 0;

	c->runs = calloc(c->n_entries + 1, sizeof(*c->runs));
	c->members = calloc(c->n_entries + 1, sizeof(*c->members));
	c->first_member = calloc((size_t)c->n_keys + 1, sizeof(*c->first_member));
	if (!list || !c->runs || !c->members || !c->first_member) {
		free(list);
		return -ENOMEM;
	}
	if (c->n_entries)
		qsort(c->entries, c->n_entries, sizeof(*c->entries), by_entry);
	n = find_candidates(c, machines, list);
	for (uint32_t key = 0; key < c->n_keys; key++) {
		size_t first = next;

		c->first_member[key] = c->n_members;
		while (next < n && c->entries[list[next].first].key == key)
			next++;
		if (next > first)
			seal_key(c, list + first, next - first, &at);
	}
	c->first_member[c->n_keys] = c->n_members;
	free(list);
	free(c->entries);
	c->entries = NULL;
	c->n_entries = c->entries_room = 0;
	return 0;
}

/* ---- who was there ---- */

/* A + B, not beyond the end of time. */
static uint64_t plus(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/*
 * Does RUN overlap the time from BEGIN to END? Surely where it does even if it is moved by as much
 * as the clocks may differ, and no gap of its own is as long as that time.
 */
static enum company_found overlap(const struct company *c, const struct company_run *run,
				  uint64_t begin_ns, uint64_t end_ns)
{
	if (run->begin_ns < end_ns && begin_ns < run->end_ns &&
	    end_ns - run->begin_ns > c->error_ns && run->end_ns - begin_ns > c->error_ns &&
	    end_ns - begin_ns > run->gap_ns)
		return COMPANY_SURE;
	return run->begin_ns < plus(end_ns, c->error_ns) &&
			       begin_ns < plus(run->end_ns, c->error_ns)
		       ? COMPANY_MAYBE
		       : COMPANY_NONE;
}

/* The first of the runs that may reach to BEGIN. */
static size_t first_run(const struct company *c, const struct company_member *m, uint64_t begin_ns)
{
	return PARTITION_POINT(m->first, m->first + m->n, i,
			       plus(c->runs[i].end_ns, c->error_ns) <= begin_ns);
}

/* How long its operations took in its part from FROM to TO, on average. */
static uint64_t busy_in(const struct company_run *run, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t whole = run->end_ns - run->begin_ns;
	uint64_t ns = (uint64_t)((unsigned __int128)run->busy_ns * (to_ns - from_ns) / whole);

	return ns ? ns : 1;
}

enum company_found company_each(const struct company *c, uint32_t key, uint32_t machine,
				uint64_t begin_ns, uint64_t end_ns,
				void (*each)(void *arg, uint32_t location, uint64_t from_ns,
					     uint64_t to_ns, uint64_t ns),
				void *arg)
{
	enum company_found found = COMPANY_NONE;

	for (size_t i = c->first_member[key]; i < c->first_member[key + 1]; i++) {
		const struct company_member *m = &c->members[i];
		size_t at = m->machine == machine ? m->first + m->n : first_run(c, m, begin_ns);

		for (; at < m->first + m->n; at++) {
			const struct company_run *run = &c->runs[at];
			enum company_found now = overlap(c, run, begin_ns, end_ns);
			uint64_t from_ns = run->begin_ns > begin_ns ? run->begin_ns : begin_ns;
			uint64_t to_ns = run->end_ns < end_ns ? run->end_ns : end_ns;

			if (now == COMPANY_NONE)
				break;
			if (now == COMPANY_SURE)
				each(arg, m->location, from_ns, to_ns,
				     busy_in(run, from_ns, to_ns));
			found = now > found ? now : found;
		}
	}
	return found;
}

/*
 * Kernel threads that worked for others: the time they took is attributed to the tasks whose pages
 * they wrote, by bytes.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "passes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/share.h"
#include "src/common/spaces.h"

#define WORKED_FOR "SCI::WORKED_FOR" /* "WORKER|BYTES|TID; ..." */

/* State of the walk over the victims' rows. */
struct passing {
	const struct engine *e;
	uint32_t *workers; /* locations of kernel threads that worked for others */
	uint32_t n_workers;
	const uint32_t *spaces;
	uint32_t victim; /* the location of its thread */
	struct blame_row into;
	int rc;
};

static uint32_t tid_of(const struct engine *e, uint64_t culprit)
{
	return culprit < e->defs->n_locations ? e->defs->locations[culprit].tid : (uint32_t)culprit;
}

/*
 * Divides SUM, taken by kernel thread K, among OWNERS, which has K itself for journals and
 * metadata.
 */
static int divide(struct passing *p, const struct sum *sum, const struct sums *owners)
{
	struct claim *claims = calloc(owners->n, sizeof(*claims));
	uint64_t total = 0;
	int rc = claims ? 0 : -ENOMEM;

	for (uint32_t i = 0; !rc && i < owners->n; i++) {
		uint64_t culprit = owners->list[i].key;

		/* its work for the victim itself is not interference */
		claims[i].weight = culprit == p->victim ? 0 : owners->list[i].ns;
		/* tids differ, and do not depend on the order in which */
		claims[i].rank = (uint64_t)tid_of(p->e, culprit) << 32 | i;
		total += claims[i].weight;
	}
	if (!rc && total == 0)
		rc = blame_row_add(&p->into, &p->e->blame_bound, sum->key, sum->ns, sum->named_ns);
	else if (!rc)
		share_out((int64_t)sum->ns, claims, owners->n);
	for (uint32_t i = 0; !rc && total && i < owners->n; i++) {
		uint64_t culprit = owners->list[(uint32_t)claims[i].rank].key;
		uint64_t ns = (uint64_t)claims[i].part, named_ns = 0;

		/* the kernel named K, not the task that K worked for */
		if (culprit == sum->key)
			named_ns = ns < sum->named_ns ? ns : sum->named_ns;
		if (ns)
			rc = blame_row_add(&p->into, &p->e->blame_bound, culprit, ns, named_ns);
	}
	free(claims);
	return rc;
}

static const struct sums *owners_of(const struct engine *e, uint64_t culprit)
{
	if (culprit >= e->defs->n_locations ||
	    e->defs->locations[culprit].kind != ETA_LOCATION_KERNEL_THREAD)
		return NULL;
	return e->locations[culprit].worked_for.n ? &e->locations[culprit].worked_for : NULL;
}

/*
 * CULPRIT, or, if that is the tid of one that worked for others, its location: what it did there
 * was for none of them.
 */
static uint64_t itself(const struct passing *p, uint64_t culprit)
{
	const struct eta_defs *defs = p->e->defs;

	if (!(culprit & CULPRIT_FOREIGN))
		return culprit;
	for (uint32_t i = 0; i < p->n_workers; i++)
		if (space_compare(p->spaces, defs, p->workers[i],
				  space_of(p->spaces, defs, p->victim), (uint32_t)culprit) == 0)
			return p->workers[i];
	return culprit;
}

static void pass_on(void *arg, const struct sum *sum)
{
	struct passing *p = arg;
	const struct sums *owners = owners_of(p->e, sum->key);

	if (!p->rc)
		p->rc = owners ? divide(p, sum, owners)
			       : blame_row_add(&p->into, &p->e->blame_bound, itself(p, sum->key),
					       sum->ns, sum->named_ns);
}

static void find_any(void *arg, const struct sum *sum)
{
	struct passing *p = arg;

	if (owners_of(p->e, sum->key) || itself(p, sum->key) != sum->key)
		p->rc = 1;
}

static int pass_row_on(struct passing *p, struct blame_row *row)
{
	uint32_t n = p->e->defs->n_locations;

	p->rc = 0;
	blame_row_list(row, n, find_any, p);
	if (!p->rc)
		return 0;
	p->rc = 0;
	p->into = (struct blame_row){ .below = row->below };
	blame_row_list(row, n, pass_on, p);
	if (!p->rc)
		p->rc = blame_row_cut(&p->into, &p->e->blame_bound);
	if (p->rc < 0) {
		blame_row_free(&p->into);
		return p->rc;
	}
	blame_row_free(row);
	*row = p->into;
	return 0;
}

/*
 * Turns the tids that kernel thread K wrote for into culprits: locations, or tasks that have none.
 */
static int resolve(struct engine *e, const uint32_t *spaces, uint32_t k)
{
	const struct eta_defs *defs = e->defs;
	struct sums *tids = &e->locations[k].worked_for, owners = { 0 };
	uint32_t space = space_of(spaces, defs, k);
	int rc = 0;

	for (uint32_t i = 0; i < tids->n && !rc; i++) {
		uint32_t tid = (uint32_t)tids->list[i].key, l = tid ? 0 : k;

		if (tid & TID_LOCATION) {
			rc = sums_add(&owners, tid & ~TID_LOCATION, tids->list[i].ns, 0);
			continue;
		}
		while (tid && l < defs->n_locations &&
		       (defs->locations[l].kind == ETA_LOCATION_DEVICE ||
			defs->locations[l].track ||
			space_compare(spaces, defs, l, space, tid) != 0))
			l++;
		rc = sums_add(&owners, l < defs->n_locations ? l : CULPRIT_FOREIGN | tid,
			      tids->list[i].ns, 0);
	}
	sums_free(tids);
	*tids = owners;
	for (uint32_t i = 0; i < owners.n; i++)
		e->locations[k].worked_bytes += owners.list[i].ns;
	return rc;
}

/* The kernel thread with TID; ETA_NONE: the trace has none, or of several machines. */
static uint32_t kernel_thread_with(const struct eta_defs *defs, uint32_t tid)
{
	uint32_t found = ETA_NONE;

	for (uint32_t i = 0; i < defs->n_locations; i++) {
		if (defs->locations[i].kind != ETA_LOCATION_KERNEL_THREAD ||
		    defs->locations[i].tid != tid)
			continue;
		if (found != ETA_NONE)
			return ETA_NONE;
		found = i;
	}
	return found;
}

/* Requests for tasks that are not traced have no events: the kernel's tracer has their sums. */
static int add_foreign(struct engine *e)
{
	char *text = strdup(engine_property(e, WORKED_FOR)), *rest = text, *entry;
	int rc = text ? 0 : -ENOMEM;

	while (!rc && (entry = strsep(&rest, ";"))) {
		uint32_t worker, tid, k;
		uint64_t bytes;

		if (sscanf(entry, " %" SCNu32 "|%" SCNu64 "|%" SCNu32, &worker, &bytes, &tid) != 3)
			continue;
		k = kernel_thread_with(e->defs, worker);
		if (k != ETA_NONE && tid)
			rc = sums_add(&e->locations[k].worked_for, tid, bytes, 0);
	}
	free(text);
	return rc;
}

int engine_worked_for(struct engine *e)
{
	uint32_t *spaces;
	int rc;

	if (!e->split || e->options.version_1)
		return 0;
	spaces = spaces_new(e->defs);
	if (!spaces)
		return -ENOMEM;
	rc = add_foreign(e);
	for (uint32_t i = 0; i < e->defs->n_locations && !rc; i++)
		if (owners_of(e, i))
			rc = resolve(e, spaces, i);
	free(spaces);
	return rc;
}

int engine_pass_on(struct engine *e)
{
	uint32_t n = e->defs->n_locations, *spaces;
	struct passing p = { .e = e };
	int rc = 0;

	if (e->options.version_1)
		return 0;
	p.spaces = spaces = spaces_new(e->defs);
	p.workers = calloc(n, sizeof(*p.workers));
	if (!spaces || !p.workers)
		rc = -ENOMEM;
	for (uint32_t i = 0; i < n && !rc; i++)
		if (owners_of(e, i))
			p.workers[p.n_workers++] = i;
	for (uint32_t i = 0; p.n_workers && i < n && !rc; i++) {
		p.victim = e->thread_of[i]; /* asynchronous operations are its own, too */
		rc = pass_row_on(&p, &e->locations[i].blame);
	}
	free(p.workers);
	free(spaces);
	return rc;
}

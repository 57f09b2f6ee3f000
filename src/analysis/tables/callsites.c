/* Call sites: from the return address or the stack of an operation to a place in a module. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "callsites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/hash.h"

#define N_KNOWN 1024 /* a power of two */

/* ---- maps ---- */

static int map_grow(struct site_map *map)
{
	uint32_t room = map->room ? 2 * map->room : 64;
	struct site_slot *slots = malloc(room * sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, room * sizeof(*slots));
	for (uint32_t i = 0; i < map->room; i++) {
		uint64_t at = map->slots[i].key;

		if (map->slots[i].value == ETA_NONE)
			continue;
		while (slots[at & (room - 1)].value != ETA_NONE)
			at++;
		slots[at & (room - 1)] = map->slots[i];
	}
	free(map->slots);
	map->slots = slots;
	map->room = room;
	return 0;
}

/* Where KEY's value is stored; ETA_NONE: it is new, and a value must be stored at once. */
static int map_at(struct site_map *map, uint64_t key, uint32_t **value)
{
	uint64_t at = key;

	if (2 * (map->n + 1) > map->room && map_grow(map) < 0)
		return -ENOMEM;
	while (map->slots[at & (map->room - 1)].value != ETA_NONE &&
	       map->slots[at & (map->room - 1)].key != key)
		at++;
	*value = &map->slots[at & (map->room - 1)].value;
	if (**value == ETA_NONE) {
		map->slots[at & (map->room - 1)].key = key;
		map->n++;
	}
	return 0;
}

static bool is_site(const struct site *a, const struct site *b)
{
	return a->address == b->address && a->process == b->process && a->module == b->module &&
	       a->from == b->from && a->from_module == b->from_module;
}

static int sites_get(struct sites *sites, const struct site *site, uint32_t *index)
{
	uint64_t key;
	uint32_t *known;

	/* calls come from a place several times in a row */
	if (sites->last < sites->n && is_site(&sites->list[sites->last], site)) {
		*index = sites->last;
		return 0;
	}
	key = hash_mix(hash_mix(site->process, site->address), site->module);
	key = hash_mix(hash_mix(key, site->from), site->from_module);
	if (map_at(&sites->map, key, &known) < 0)
		return -ENOMEM;
	if (*known == ETA_NONE) {
		if (!ARRAY_FITS(sites->list, sites->n + 1, sites->room))
			return -ENOMEM;
		*known = sites->n;
		sites->list[sites->n++] = *site;
	}
	*index = sites->last = *known;
	return 0;
}

static void sites_free(struct sites *sites)
{
	free(sites->list);
	free(sites->map.slots);
	memset(sites, 0, sizeof(*sites));
}

/* ---- modules ---- */

int callsites_open(struct callsites *callsites, const struct eta_defs *defs)
{
	uint32_t *at;

	callsites->defs = defs;
	callsites->modules = calloc(defs->n_modules + 1, sizeof(uint32_t));
	callsites->first = at = calloc((size_t)defs->n_processes + 2, sizeof(uint32_t));
	if (!callsites->modules || !at)
		return -ENOMEM;
	/* counted one place further on, which leaves each process's begin where it belongs */
	for (uint32_t i = 0; i < defs->n_modules; i++)
		if (defs->modules[i].process < defs->n_processes)
			at[defs->modules[i].process + 2]++;
	for (uint32_t p = 2; p < defs->n_processes + 2; p++)
		at[p] += at[p - 1];
	for (uint32_t i = 0; i < defs->n_modules; i++)
		if (defs->modules[i].process < defs->n_processes)
			callsites->modules[at[defs->modules[i].process + 1]++] = i;
	return 0;
}

void callsites_close(struct callsites *callsites)
{
	free(callsites->modules);
	free(callsites->first);
	sites_free(&callsites->all);
}

/*
 * The module of FOUND's address at TIME_NS: the newest loaded by then, else the oldest; and the
 * time for which this holds.
 */
static void look_up(const struct callsites *c, uint64_t time_ns, struct known_address *found)
{
	found->module = ETA_NONE;
	found->since_ns = 0;
	found->until_ns = UINT64_MAX;
	if (found->process == ETA_NONE)
		return;
	for (uint32_t i = c->first[found->process]; i < c->first[found->process + 1]; i++) {
		const struct eta_module *m = &c->defs->modules[c->modules[i]];

		if (found->address < m->start || found->address >= m->end)
			continue;
		if (m->since_ns > time_ns) {
			if (m->since_ns < found->until_ns)
				found->until_ns = m->since_ns;
		} else if (found->module == ETA_NONE || m->since_ns >= found->since_ns) {
			found->module = c->modules[i];
			found->since_ns = m->since_ns;
		}
	}
	if (found->module == ETA_NONE)
		found->module = eta_find_module(c->defs, found->process, found->address, time_ns);
}

static uint32_t module_of(struct callsite_worker *w, uint32_t process, uint64_t address,
			  uint64_t time_ns)
{
	struct known_address *known =
		&w->known[hash_mix(process, address) & (uint64_t)(N_KNOWN - 1)];

	if (known->address != address || known->process != process || time_ns < known->since_ns ||
	    time_ns >= known->until_ns) {
		known->address = address;
		known->process = process;
		look_up(w->callsites, time_ns, known);
	}
	return known->module;
}

/* ---- one thread of the analysis ---- */

void callsite_worker_init(struct callsite_worker *w, const struct callsites *callsites)
{
	w->callsites = callsites;
}

void callsite_worker_free(struct callsite_worker *w)
{
	sites_free(&w->sites);
	free(w->tallies.slots);
	free(w->stack_frame);
	free(w->known);
}

void callsite_location(struct callsite_worker *w)
{
	w->tallies.n = 0;
	if (w->tallies.room)
		memset(w->tallies.slots, 0xff, w->tallies.room * sizeof(*w->tallies.slots));
}

/* The innermost frame of STACK in the program itself; 0, the library call's: there is none. */
static uint32_t program_frame(struct callsite_worker *w, const struct eta_stack *stack,
			      uint64_t time_ns)
{
	for (uint32_t i = 0; i < stack->n_frames; i++) {
		uint32_t m = module_of(w, stack->process, stack->frames[i], time_ns);

		if (m != ETA_NONE && w->callsites->defs->modules[m].program)
			return i;
	}
	return 0;
}

int callsite_of(struct callsite_worker *w, uint32_t location, const struct operation *op,
		uint32_t *index)
{
	const struct eta_defs *defs = w->callsites->defs;
	struct site site = { .address = op->caller,
			     .process = defs->locations[location].process,
			     .module = ETA_NONE,
			     .from_module = ETA_NONE };

	if (!w->known) {
		w->known = calloc(N_KNOWN, sizeof(*w->known));
		w->stack_frame = calloc((size_t)defs->n_stacks + 1, sizeof(*w->stack_frame));
		if (!w->known || !w->stack_frame)
			return -ENOMEM;
	}
	if (op->stack < defs->n_stacks) {
		const struct eta_stack *stack = &defs->stacks[op->stack];
		uint32_t *frame = &w->stack_frame[op->stack];

		if (*frame == 0)
			*frame = 1 + program_frame(w, stack, op->begin_ns);
		if (*frame > 1) {
			site.from = stack->frames[*frame - 1];
			site.from_module = module_of(w, site.process, site.from, op->begin_ns);
		}
	}
	if (site.address)
		site.module = module_of(w, site.process, site.address, op->begin_ns);
	return sites_get(&w->sites, &site, index);
}

int callsite_tally(struct callsite_worker *w, uint32_t class, uint32_t site, uint32_t **tally)
{
	return map_at(&w->tallies, hash_mix(class, site), tally);
}

int callsites_add(struct callsites *callsites, const struct site *list, uint32_t n, uint32_t **map)
{
	int rc = 0;

	*map = calloc(n ? n : 1, sizeof(**map));
	if (!*map)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = sites_get(&callsites->all, &list[i], &(*map)[i]);
	return rc;
}

int callsites_merge(struct callsites *callsites, const struct callsite_worker *w, uint32_t **map)
{
	return callsites_add(callsites, w->sites.list, w->sites.n, map);
}

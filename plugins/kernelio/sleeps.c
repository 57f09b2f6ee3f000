/* Names the places where operations slept, by the kernel's symbols, for the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sleeps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/search.h"
#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

enum { MAX_NAMED_FRAMES = 12 };

struct symbol {
	uint64_t address;
	size_t name; /* offset in names */
};

struct symbols {
	struct symbol *list;
	size_t n, room;
	char *names;
	size_t names_bytes, names_room;
};

/* A row of a list. */
struct place {
	const char *function, *region;
};

#define X(function, region) { #function, region },
static const struct place sleeps[] = { KERNELIO_SLEEPS(X) };
static const struct place takers[] = { KERNELIO_TAKERS(X) };
#undef X
#define N_SLEEPS (sizeof(sleeps) / sizeof(*sleeps))
#define N_TAKERS (sizeof(takers) / sizeof(*takers))

/* What FUNCTION is listed with; NULL: it is not. */
static const char *region_of(const struct place *list, size_t n, const char *function)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].function, function) == 0)
			return list[i].region;
	return NULL;
}

/* The scheduler's own functions, which every sleep ends in. */
static bool is_scheduler(const char *name)
{
	return strstr(name, "schedule") || strncmp(name, "bpf_", 4) == 0 ||
	       strncmp(name, "__bpf_", 6) == 0 || strncmp(name, "__traceiter", 11) == 0;
}

/* Those that locks of all kinds are taken by. */
static bool is_lock(const char *name)
{
	static const char *const begins[] = { "down_",	 "rwsem_",	 "mutex_", "__mutex_",
					      "percpu_", "__percpu_",	 "_raw_",  "native_queued_",
					      "queued_", "__pv_queued_", "__down" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return strcmp(name, "down") == 0;
}

static void *grow(void *array, size_t *room, size_t n, size_t size)
{
	void *larger = array;

	if (n > *room) {
		*room = *room ? *room * 2 : 65536;
		larger = reallocarray(array, *room, size);
	}
	return larger;
}

static int symbol_add(struct symbols *s, uint64_t address, const char *name)
{
	size_t bytes = strcspn(name, ".") + 1; /* without .isra.0 and the like */
	struct symbol *list = grow(s->list, &s->room, s->n + 1, sizeof(*list));
	char *names;

	if (!list)
		return -ENOMEM;
	s->list = list;
	names = grow(s->names, &s->names_room, s->names_bytes + bytes, 1);
	if (!names)
		return -ENOMEM;
	s->names = names;
	memcpy(names + s->names_bytes, name, bytes - 1);
	names[s->names_bytes + bytes - 1] = '\0';
	list[s->n++] = (struct symbol){ .address = address, .name = s->names_bytes };
	s->names_bytes += bytes;
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/* Functions of the kernel and its modules; none where their addresses are hidden from us. */
static int symbols_read(FILE *kallsyms, struct symbols *s)
{
	char line[512], name[256], type;
	unsigned long long address;
	int rc = 0;

	while (rc == 0 && fgets(line, sizeof(line), kallsyms))
		if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 && address &&
		    strchr("tTwW", type))
			rc = symbol_add(s, address, name);
	if (s->n)
		qsort(s->list, s->n, sizeof(*s->list), by_address);
	return rc;
}

static const char *symbol_of(const struct symbols *s, uint64_t address)
{
	size_t behind = PARTITION_POINT((size_t)1, s->n, i, s->list[i].address <= address);

	return s->names + s->list[behind - 1].name;
}

/* "REGION FUNCTION FUNCTION ...", innermost function first; REGION is "-" where none is listed. */
static void describe(const struct symbols *s, const uint64_t *frames, char *text, size_t room)
{
	const char *region = NULL, *name;
	char names[1024] = "";
	bool inside_lock = true;
	size_t length = 0;
	int n = 0;

	for (int i = 0; i < KERNELIO_SLEEP_FRAMES && frames[i]; i++) {
		name = symbol_of(s, frames[i]);
		if (is_scheduler(name)) {
			length = 0; /* what came before was the scheduler's, too */
			names[0] = '\0';
			n = 0;
			continue;
		}
		if (!region && inside_lock)
			region = region_of(takers, N_TAKERS, name);
		if (!region)
			region = region_of(sleeps, N_SLEEPS, name);
		inside_lock &= is_lock(name);
		if (n++ < MAX_NAMED_FRAMES && length < sizeof(names))
			length += (size_t)snprintf(names + length, sizeof(names) - length, "\n%s",
						   name);
	}
	snprintf(text, room, "%s%s", region ? region : "-", names);
}

void sleeps_open(struct kernelio *k)
{
	k->kallsyms = fopen("/proc/kallsyms", "re");
}

void sleeps_close(struct kernelio *k)
{
	if (k->kallsyms)
		fclose(k->kallsyms);
	k->kallsyms = NULL;
}

int sleeps_list(struct kernelio *k, void (*put)(struct kernelio *k, uint32_t id, const char *text))
{
	int map = bpf_map__fd(k->bpf->maps.sleeps), rc;
	uint64_t frames[KERNELIO_SLEEP_FRAMES];
	struct symbols symbols = { 0 };
	uint32_t id, next, *from = NULL;
	char text[1200];

	if (bpf_map_get_next_key(map, NULL, &next))
		return 0; /* nothing slept */
	if (k->kallsyms)
		rewind(k->kallsyms); /* it may have been read for a snapshot */
	rc = k->kallsyms ? symbols_read(k->kallsyms, &symbols) : -ENOENT;
	if (rc == 0 && symbols.n == 0)
		rc = -EPERM;
	while (rc == 0 && bpf_map_get_next_key(map, from, &next) == 0) {
		id = next;
		from = &id;
		if (bpf_map_lookup_elem(map, &id, frames))
			continue;
		describe(&symbols, frames, text, sizeof(text));
		put(k, id + 1, text);
	}
	free(symbols.list);
	free(symbols.names);
	return rc;
}

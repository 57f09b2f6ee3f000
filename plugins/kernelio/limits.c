/* Which limits of their control groups made traced threads wait: a property of the trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

static const char *const regions[] = {
#define X(id, region) region,
	KERNELIO_LIMITS(X)
#undef X
};

/* What separates the parts of the property is left out. */
static void without_separators(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == '|' || *c == ';')
			*c = '?';
}

/* "/a/b"; the first group of all is "/". */
static void group_path(const struct kernelio_limit *limit, char *path, size_t size)
{
	size_t used = 0;

	path[0] = '\0';
	for (int i = KERNELIO_LIMIT_DEPTH; i-- > 0;)
		if (limit->names[i][0] && used < size)
			used += (size_t)snprintf(path + used, size - used, "/%.*s",
						 KERNELIO_LIMIT_NAME, limit->names[i]);
	if (!path[0])
		snprintf(path, size, "/");
	without_separators(path);
}

/* AMOUNT of WHAT, behind what TEXT holds; none is not worth a word. */
static size_t put_amount(char *text, size_t size, size_t used, uint64_t amount, const char *what)
{
	if (amount == KERNELIO_NO_LIMIT || used >= size)
		return used;
	return used + (size_t)snprintf(text + used, size - used, "%" PRIu64 " %s, ", amount, what);
}

static const char *stop_name(uint32_t stop)
{
	switch (stop) {
	case KERNELIO_STOP_SIGNAL:
		return "a signal (SIGSTOP)";
	case KERNELIO_STOP_TRACER:
		return "a debugger (ptrace)";
	case KERNELIO_STOP_FREEZER:
		return "the freezer of the control group";
	default:
		return "unknown";
	}
}

/* By what, and by which process, where that is known. */
static void describe_stop(const struct kernelio_limit_key *key, const struct kernelio_limit *limit,
			  char *text, size_t size)
{
	uint32_t stop = (uint32_t)key->group, tgid = (uint32_t)(key->group >> 32);
	const char *name = stop_name(stop);

	if (tgid)
		snprintf(text, size, "%s%s %s (pid %" PRIu32 ")", name,
			 stop == KERNELIO_STOP_SIGNAL ? " from" : ":", limit->names[0], tgid);
	else
		snprintf(text, size, "%s", name);
	without_separators(text);
}

/* The setting PATH of the machine; 0: there is none. */
static long setting(const char *path)
{
	FILE *file = fopen(path, "re");
	long value = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%ld", &value) != 1)
		value = 0;
	fclose(file);
	return value;
}

static void describe_realtime(char *text, size_t size)
{
	snprintf(text, size,
		 "the limit of real-time priorities: %ld of each %ld us (sched_rt_runtime_us)",
		 setting("/proc/sys/kernel/sched_rt_runtime_us"),
		 setting("/proc/sys/kernel/sched_rt_period_us"));
}

static void describe_deadline(const struct kernelio_limit_key *key, char *text, size_t size)
{
	snprintf(text, size,
		 "the runtime of SCHED_DEADLINE: %" PRIu32 " of each %" PRIu32 " us (chrt -d)",
		 (uint32_t)(key->group >> 32), (uint32_t)key->group);
}

static void describe(const struct kernelio_limit_key *key, const struct kernelio_limit *limit,
		     char *text, size_t size)
{
	static const char *const held[] = { "bytes/s read", "bytes/s written", "reads/s",
					    "writes/s" };
	const uint64_t *amounts = limit->amounts;
	char path[KERNELIO_LIMIT_DEPTH * (KERNELIO_LIMIT_NAME + 1) + 2];
	size_t used = 0;

	group_path(limit, path, sizeof(path));
	switch (key->kind) {
	case KERNELIO_LIMIT_STOPPED:
		describe_stop(key, limit, text, size);
		return;
	case KERNELIO_LIMIT_REALTIME:
		describe_realtime(text, size);
		return;
	case KERNELIO_LIMIT_DEADLINE:
		describe_deadline(key, text, size);
		return;
	case KERNELIO_LIMIT_QUOTA:
		snprintf(text, size,
			 "%.0f %% of a CPU (%" PRIu64 " of each %" PRIu64
			 " us) for control group %s",
			 amounts[1] ? 100 * (double)amounts[0] / (double)amounts[1] : 0,
			 amounts[0] / 1000, amounts[1] / 1000, path);
		return;
	case KERNELIO_LIMIT_RECLAIM:
	case KERNELIO_LIMIT_EVICTION:
		used = put_amount(text, size, used, amounts[0], "bytes at most");
		used = put_amount(text, size, used, amounts[1],
				  "bytes before it is slowed (memory.high)");
		break;
	default:
		for (int i = 0; i < 4; i++)
			used = put_amount(text, size, used, amounts[i], held[i]);
	}
	if (used < size)
		snprintf(text + used, size - used, "of control group %s", path);
}

/* Whose memory was full when most pages of traced files were evicted: "PAGES|WHAT". */
static void eviction_tell(struct kernelio *k, const struct kernelio_limit_key *key,
			  const struct kernelio_limit *limit)
{
	char text[1200];

	if (!limit->ns)
		return;
	describe(key, limit, text, sizeof(text));
	meta_property(k, "EVICTED_FOR=%" PRIu64 "|%s", limit->ns, text);
}

struct limits_text {
	char all[3500]; /* as many as a property has room for */
	size_t used;
};

/* Adds a limit KEY for which threads waited NS. */
static void limit_put(struct limits_text *text, const struct kernelio_limit_key *key,
		      const struct kernelio_limit *limit, uint64_t ns)
{
	char what[1200];

	describe(key, limit, what, sizeof(what));
	if (!ns || text->used + strlen(what) + 100 > sizeof(text->all))
		return;
	text->used += (size_t)snprintf(text->all + text->used, sizeof(text->all) - text->used,
				       "%s%s|%" PRIu64 "|%s", text->used ? "; " : "",
				       regions[key->kind], ns, what);
}

/* "REGION|NS|WHAT; ...": NS is how long threads waited for it, together. */
void limits_put(struct kernelio *k)
{
	struct kernelio_limit evicted = { 0 };
	struct kernelio_limit_key evicted_key;
	int map = bpf_map__fd(k->bpf->maps.limits);
	struct kernelio_limit_key key, before, *from = NULL;
	struct limits_text text = { 0 };
	struct kernelio_limit limit;

	while (bpf_map_get_next_key(map, from, &key) == 0) {
		before = key;
		from = &before;
		if (bpf_map_lookup_elem(map, &key, &limit) || key.kind >= KERNELIO_N_LIMITS)
			continue;
		if (key.kind != KERNELIO_LIMIT_EVICTION) {
			limit_put(&text, &key, &limit, limit.ns);
		} else if (limit.ns > evicted.ns) {
			evicted = limit;
			evicted_key = key;
		}
	}
	if (evicted.ns)
		limit_put(&text, &evicted_key, &evicted, k->bpf->bss->evicted_at_limit_ns);
	if (text.used)
		meta_property(k, "LIMITS=%s", text.all);
	eviction_tell(k, &evicted_key, &evicted);
}

uint64_t suspended_ns(void)
{
	struct timespec all, running;

	if (clock_gettime(CLOCK_MONOTONIC, &running) || clock_gettime(CLOCK_BOOTTIME, &all))
		return 0;
	return (uint64_t)(all.tv_sec - running.tv_sec) * 1000000000 + (uint64_t)all.tv_nsec -
	       (uint64_t)running.tv_nsec;
}

/* Of two readings one after the other, this is no suspension. */
#define CLOCKS_APART_NS 1000000

void suspension_tell(struct kernelio *k)
{
	uint64_t now = suspended_ns();

	if (now > k->suspended_ns + CLOCKS_APART_NS)
		meta_property(k, "SUSPENDED_NS=%" PRIu64, now - k->suspended_ns);
}

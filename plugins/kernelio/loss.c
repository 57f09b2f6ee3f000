/* What was produced and lost, per level and CPU: in words, at the end of a run and before. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

/* X(record type, what): with a call go its parts in the page cache and in the file system. */
#define RECORDS(X)                                                                                 \
	X(KERNEL_OP, "vfs")                                                                        \
	X(ASYNC_OP, "asynchronous")                                                                \
	X(BIO, "block")                                                                            \
	X(WAIT, "cpu")                                                                             \
	X(FILE, "files")                                                                           \
	X(TASK, "tasks")

static const struct {
	enum eta_record_type type;
	const char *name;
} records[] = {
#define X(type, name) { ETA_RECORD_##type, name },
	RECORDS(X)
#undef X
};
#define N_RECORDS (sizeof(records) / sizeof(*records))

static uint64_t lost_on(const struct kernelio *k, const struct kernelio_cpu *counters, unsigned cpu,
			enum eta_record_type type)
{
	return counters[cpu].lost[type] + k->cpus[cpu].lost[type];
}

static void put_loss(char *text, size_t size, const struct kernelio *k,
		     const struct kernelio_cpu *counters)
{
	const char *before = "";

	for (size_t i = 0; i < N_RECORDS; i++) {
		const char *comma = "";
		uint64_t sum = 0;

		for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
			sum += lost_on(k, counters, cpu, records[i].type);
		if (!sum)
			continue;
		text_append(text, size, "%s%s %llu (", before, records[i].name,
			    (unsigned long long)sum);
		for (unsigned cpu = 0; cpu < k->n_cpus; cpu++) {
			uint64_t lost = lost_on(k, counters, cpu, records[i].type);

			if (!lost)
				continue;
			text_append(text, size, "%scpu %u: %llu", comma, cpu,
				    (unsigned long long)lost);
			comma = ", ";
		}
		text_append(text, size, ")");
		before = ", ";
	}
}

void loss_describe(const struct kernelio *k, char *text, size_t size)
{
	text[0] = '\0';
	put_loss(text, size, k, k->counters);
}

void loss_properties(struct kernelio *k)
{
	for (size_t i = 0; k->counters && k->cpus && i < N_RECORDS; i++)
		for (unsigned cpu = 0; cpu < k->n_cpus; cpu++) {
			uint64_t lost = lost_on(k, k->counters, cpu, records[i].type);

			if (lost)
				meta_property(k, "LOST.%s.cpu%u=%llu", records[i].name, cpu,
					      (unsigned long long)lost);
		}
}

static void put_overwritten(char *text, size_t size, const struct kernelio *k)
{
	uint64_t n = 0;

	if (!k->definitions)
		return;
	for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
		for (unsigned type = 0; type < ETA_RECORD_TYPES; type++)
			n += k->cpus[cpu].spool.header->overwritten[type];
	text_append(text, size, "overwritten: %llu records before the last part\n",
		    (unsigned long long)n);
}

int kernelio_status(struct kernelio *k, char *text, size_t size)
{
	struct kernelio_cpu *counters = calloc(k->n_cpus, sizeof(*counters));
	uint64_t filtered = 0, start;
	uint32_t zero = 0;
	size_t before;
	int rc;

	if (!counters)
		return -ENOMEM;
	rc = bpf_map_lookup_elem(bpf_map__fd(k->bpf->maps.cpus), &zero, counters);
	if (rc)
		goto out;
	text[0] = '\0';
	start = k->meta.header->start_ns;
	text_append(text, size, "%s for %.1f s\n",
		    k->bpf->bss->paused ? "paused; started" : "tracing",
		    (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
	text_append(text, size, "events:");
	for (size_t i = 0; i < N_RECORDS; i++) {
		uint64_t sum = 0;

		for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
			sum += counters[cpu].produced[records[i].type];
		text_append(text, size, "%s %s %llu", i ? "," : "", records[i].name,
			    (unsigned long long)sum);
	}
	for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
		filtered += counters[cpu].totals.filtered_calls;
	if (filtered)
		text_append(text, size, "; left out by filters: %llu calls",
			    (unsigned long long)filtered);
	text_append(text, size, "\nlost: ");
	before = strlen(text);
	put_loss(text, size, k, counters);
	text_append(text, size, "%s\n", strlen(text) == before ? "nothing" : "");
	put_overwritten(text, size, k);
out:
	free(counters);
	return rc;
}

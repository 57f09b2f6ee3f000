/* The collector: a thread that empties the rings into the spool, and counts what was lost. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/spool-budget.h"
#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define DEFAULT_POLL_MS 5
#define SEGMENT_FIRST ((size_t)256 << 10)
#define SEGMENT_MAX ((size_t)512 << 10)	 /* filling a larger one no longer fits the cache */
#define SEGMENT_LAST ((size_t)128 << 10) /* what is written over at a time */
#define SHORTEST_PAUSE_US 250
#define COLLECTOR_NICE -20
#define LOSS_EVERY 64 /* rounds between looks at the loss counters */

/* ---- from ring to spool ---- */

/* The head goes last: it makes the record exist. */
static void *store_in(struct cpu_spool *cpu, struct spool *spool,
		      const struct eta_record_head *head, const void *rest, size_t rest_bytes)
{
	size_t bytes = spool_record_bytes(sizeof(*head) + rest_bytes);
	unsigned char *at = spool_reserve(spool, bytes);

	if (!at) {
		ring_lost(cpu, head->type, 1);
		return NULL;
	}
	memcpy(at + sizeof(*head), rest, rest_bytes);
	spool_put_head(at, head);
	cpu->recorded[head->type]++;
	return at;
}

/* Where a record of this kind is stored. */
static struct spool *spool_for(struct cpu_spool *cpu, const struct eta_record_head *head)
{
	struct definitions *definitions = cpu->k->definitions;

	return definitions && definitions_take(head) ? definitions_spool(definitions) : &cpu->spool;
}

/* Is it stored already? Then once is enough. */
static bool is_known(struct cpu_spool *cpu, const struct eta_record_head *head, const void *rest,
		     size_t rest_bytes)
{
	if (spool_for(cpu, head) == &cpu->spool ||
	    !definitions_known(cpu->k->definitions, head, rest, rest_bytes))
		return false;
	cpu->recorded[head->type]++;
	return true;
}

static void *store(struct cpu_spool *cpu, const struct eta_record_head *head, const void *rest,
		   size_t rest_bytes)
{
	return is_known(cpu, head, rest, rest_bytes)
		       ? NULL
		       : store_in(cpu, spool_for(cpu, head), head, rest, rest_bytes);
}

/* Names from the last component to the first become a path. Returns its length. */
static size_t path_join(const char *names, size_t names_bytes, char *path, size_t path_size)
{
	size_t end = names_bytes, length = 0;

	while (end > 0) {
		size_t begin = end - 1; /* on the NUL of a name */
		size_t name_bytes;

		while (begin > 0 && names[begin - 1])
			begin--;
		name_bytes = end - 1 - begin;
		if (length + name_bytes + 2 > path_size)
			break;
		path[length++] = '/';
		memcpy(path + length, names + begin, name_bytes);
		length += name_bytes;
		end = begin;
	}
	if (length == 0)
		path[length++] = '/';
	path[length] = '\0';
	return length;
}

static void store_file(struct cpu_spool *cpu, const struct kernelio_file *raw)
{
	struct {
		struct eta_file_record record;
		char path[KERNELIO_PATH_BYTES * 2];
	} file;
	const size_t fixed = sizeof(struct eta_file_record);
	struct spool *spool = spool_for(cpu, &raw->head);
	size_t length;
	void *at;

	length = path_join(raw->names, raw->path_bytes, file.path, sizeof(file.path));
	memcpy(&file.record, raw, fixed);
	file.record.path_bytes = (uint32_t)length;
	file.record.prev = spool->header->last_file;
	file.record.head.units = (uint16_t)(spool_record_bytes(fixed + length) / ETA_UNIT_BYTES);
	at = store(cpu, &file.record.head, &file.record.dev,
		   fixed - sizeof(file.record.head) + length);
	if (at)
		spool->header->last_file = spool_offset(spool, at);
}

static int on_record(void *arg, void *data, size_t bytes)
{
	struct cpu_spool *cpu = arg;
	const struct eta_record_head *head = data;

	cpu->round_bytes += bytes;
	if (cpu->k->definitions)
		definitions_used(cpu->k->definitions, head);
	if (head->type == ETA_RECORD_FILE)
		store_file(cpu, data);
	else
		store(cpu, head, head + 1, bytes - sizeof(*head));
	return 0;
}

/* ---- loss ---- */

static int read_counters(struct kernelio *k)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(bpf_map__fd(k->bpf->maps.cpus), &zero, k->counters);
}

/* A LOSS record for each type that lost more since the last one. */
static void note_loss(struct kernelio *k)
{
	if (read_counters(k))
		return;
	for (unsigned i = 0; i < k->n_cpus; i++) {
		struct cpu_spool *cpu = &k->cpus[i];

		for (uint32_t type = 0; type < KERNELIO_N_TYPES; type++) {
			uint64_t lost = k->counters[i].lost[type];
			struct eta_loss_record record = {
				.head.type = ETA_RECORD_LOSS,
				.head.units = sizeof(record) / ETA_UNIT_BYTES,
				.head.id = type,
				.lost = lost - cpu->lost_noted[type],
				.produced = k->counters[i].produced[type],
			};

			if (lost == cpu->lost_noted[type])
				continue;
			record.head.time_ns = record.head.end_ns = clock_ns(CLOCK_MONOTONIC);
			if (store(cpu, &record.head, &record.lost,
				  sizeof(record) - sizeof(record.head)))
				cpu->lost_noted[type] = lost;
		}
	}
}

/* ---- the thread ---- */

/* What was in the fullest ring. */
static size_t most_taken(const struct kernelio *k)
{
	size_t most = 0;

	for (unsigned i = 0; i < k->n_cpus; i++)
		if (k->cpus[i].round_bytes > most)
			most = k->cpus[i].round_bytes;
	return most;
}

/*
 * How long to sleep, by how full the fullest ring was: not at all once a quarter of it was in use
 * (the next round may come late), longer again once a sixteenth was not.
 */
static uint64_t next_pause(size_t most, size_t ring_bytes, uint64_t pause_us, uint64_t longest_us)
{
	if (most > ring_bytes / 4)
		return 0;
	if (most > ring_bytes / 16)
		return pause_us / 2;
	pause_us = pause_us ? pause_us * 2 : SHORTEST_PAUSE_US;
	return pause_us < longest_us ? pause_us : longest_us;
}

static void *collector_main(void *arg)
{
	struct kernelio *k = arg;
	unsigned poll_ms = k->options.poll_ms ? k->options.poll_ms : DEFAULT_POLL_MS;
	size_t ring_bytes = ring_bytes_of_calls(k);
	uint64_t longest_us = (uint64_t)poll_ms * 1000, pause_us = longest_us;
	unsigned round = 0;
	size_t most;
	bool last;

	/*
	 * A batch thread does not push the program off a CPU, but of those that wait for one it is
	 * to be the next: where many do, an equal share comes too late for the rings. Refused
	 * without CAP_SYS_NICE, then it has that share.
	 */
	sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){ 0 });
	setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
	do {
		last = atomic_load(&k->stopping);
		for (unsigned i = 0; i < k->n_cpus; i++) {
			k->cpus[i].round_bytes = 0;
			ring_take(&k->cpus[i]);
		}
		ring_buffer__consume(k->rings);
		if (k->definitions)
			definitions_trim(k->definitions);
		atomic_fetch_add(&k->rounds, 1);
		if (++round % LOSS_EVERY == 0)
			note_loss(k);
		most = most_taken(k);
		dirty_sample(k, clock_ns(CLOCK_MONOTONIC), most > 0);
		pause_us = next_pause(most, ring_bytes, pause_us, longest_us);
		if (!last && pause_us)
			nanosleep(&(struct timespec){ (time_t)(pause_us / 1000000),
						      (long)(pause_us % 1000000 * 1000) },
				  NULL);
	} while (!last);
	return NULL;
}

static int add_ring(struct kernelio *k, uint32_t cpu)
{
	int fd = k->ring_fds[cpu], rc = 0;

	if (k->rings) {
		rc = ring_buffer__add(k->rings, fd, on_record, &k->cpus[cpu]);
	} else {
		k->rings = ring_buffer__new(fd, on_record, &k->cpus[cpu], NULL);
		if (!k->rings)
			rc = -errno;
	}
	return rc;
}

int collect_start(struct kernelio *k)
{
	struct eta_spool_header header;
	char path[PATH_MAX + 32];
	int rc = 0;

	k->cpus = calloc(k->n_cpus, sizeof(*k->cpus));
	k->counters = calloc(k->n_cpus, sizeof(*k->counters));
	if (!k->cpus || !k->counters)
		return -ENOMEM;
	meta_header(&header, ETA_SPOOL_KERNEL);
	spool_budget = k->options.budget;
	rc = definitions_new(k, &k->definitions);
	for (uint32_t cpu = 0; cpu < k->n_cpus && rc == 0; cpu++) {
		header.cpu = cpu;
		k->cpus[cpu].k = k;
		k->cpus[cpu].ring = ring_of(k, cpu);
		snprintf(path, sizeof(path), "%s/cpu.%u", k->directory, cpu);
		rc = k->definitions ? spool_create(&k->cpus[cpu].spool, path, &header, SEGMENT_LAST,
						   SEGMENT_LAST)
				    : spool_create(&k->cpus[cpu].spool, path, &header,
						   SEGMENT_FIRST, SEGMENT_MAX);
		if (rc) {
			eta_error("%s/cpu.%u: cannot create (%s)", k->options.name, cpu,
				  strerror(-rc));
			return rc;
		}
		rc = add_ring(k, cpu);
	}
	if (rc == 0) {
		dirty_open(k, clock_ns(CLOCK_MONOTONIC));
		rc = -pthread_create(&k->collector, NULL, collector_main, k);
	}
	if (rc == 0)
		k->collecting = true;
	else
		eta_error("kernel tracer: cannot collect (%s)", strerror(-rc));
	return rc;
}

void collect_now(struct kernelio *k)
{
	unsigned before = atomic_load(&k->rounds);

	/* the round that is under way may have been past a ring */
	while (k->collecting && atomic_load(&k->rounds) - before < 2)
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

void collect_end(struct kernelio *k)
{
	if (!k->collecting)
		return;
	atomic_store(&k->stopping, true);
	pthread_join(k->collector, NULL);
	k->collecting = false;
	note_loss(k);
	dirty_end(k, clock_ns(CLOCK_MONOTONIC));
}

uint64_t collect_open_bios(struct kernelio *k)
{
	int fd = bpf_map__fd(k->bpf->maps.bios);
	uint64_t key, *before = NULL, n = 0;
	struct bio_state value;

	while (bpf_map_get_next_key(fd, before, &key) == 0) {
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &value))
			continue;
		n++;
		if (k->cpus)
			store(&k->cpus[0], &value.record.head, &value.record.issue_ns,
			      sizeof(value.record) - sizeof(value.record.head));
	}
	return n;
}

uint64_t collect_open_asyncs(struct kernelio *k)
{
	int fd = bpf_map__fd(k->bpf->maps.asyncs);
	uint64_t key[2], *before = NULL, n = 0;
	struct async_op value;

	while (bpf_map_get_next_key(fd, before, key) == 0) {
		before = key;
		if (bpf_map_lookup_elem(fd, key, &value))
			continue;
		n++;
		/* through the page cache: over, with a result that nobody asked for */
		value.op.head.end_ns = 0;
		value.op.head.units = sizeof(value.op) / ETA_UNIT_BYTES;
		if (k->cpus)
			store(&k->cpus[0], &value.op.head, &value.op.pid,
			      sizeof(value.op) - sizeof(value.op.head));
	}
	return n;
}

int collect_counts(struct kernelio *k, struct kernelio_counts *counts)
{
	int rc = read_counters(k);

	if (rc)
		return rc;
	for (unsigned i = 0; i < k->n_cpus; i++) {
		const struct kernelio_cpu *cpu = &k->counters[i];

		for (unsigned type = 0; type < KERNELIO_N_TYPES; type++) {
			counts->produced[type] += cpu->produced[type];
			counts->recorded[type] += k->cpus[i].recorded[type];
			counts->lost[type] += cpu->lost[type] + k->cpus[i].lost[type];
		}
#define X(name, what, said, end) counts->totals.name += cpu->totals.name;
		KERNELIO_TOTALS(X)
#undef X
	}
	return 0;
}

void collect_overwritten(const struct kernelio *k, uint64_t n[KERNELIO_N_TYPES])
{
	for (unsigned type = 0; type < KERNELIO_N_TYPES; type++) {
		n[type] = 0;
		for (unsigned i = 0; i < k->n_cpus; i++)
			if (k->cpus[i].spool.header && type < ETA_RECORD_TYPES)
				n[type] += k->cpus[i].spool.header->overwritten[type];
	}
}

void collect_close(struct kernelio *k)
{
	dirty_close(k);
	ring_buffer__free(k->rings);
	k->rings = NULL;
	definitions_free(k->definitions);
	k->definitions = NULL;
	for (unsigned i = 0; k->cpus && i < k->n_cpus; i++)
		spool_close(&k->cpus[i].spool);
	spool_budget = NULL;
	free(k->cpus);
	free(k->counters);
	k->cpus = NULL;
	k->counters = NULL;
}

/* The kernel tracer's lifetime: new, start, attach, stop, free. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernelio.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"
#include "internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define DEFAULT_DRAIN_MS 500
#define MAX_ROUNDS 64 /* looks at all tasks, for what those not yet taken in start meanwhile */
#define DRAIN_STEP_MS 10

static void sleep_ms(unsigned ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
}

/* What was not said means everything. */
static void take_filters(struct kernelio *k)
{
	static const char *const regions[ETA_N_SPANS] = {
#define X(id, region) [ETA_SPAN_##id] = region,
		ETA_SPANS(X)
#undef X
	};
	const struct kernelio_filters *filters = k->options.filters;
	enum eta_reason reason;
	enum eta_level level;

	if (filters) {
		k->filter = filters->constant;
		k->filter_keys = filters->keys;
		k->n_filter_keys = filters->n_keys;
	}
	if (!k->filter.levels)
		k->filter.levels = ~0U;
	for (unsigned span = 1; span < ETA_N_SPANS; span++) {
		eta_region_name_split(regions[span], &level, &reason);
		if (level == ETA_LEVEL_NONE || k->filter.levels & 1U << level)
			k->filter.spans |= 1ULL << span;
	}
	if (k->options.light)
		k->filter.spans &= light_spans();
	k->filter.light = k->options.light;
	k->filter.everyone = k->options.everyone;
	k->filter.owner_only = k->options.owner_only;
	k->filter.owner = getuid();
	k->filter.owner_rights = k->options.owner_rights;
}

int kernelio_new(const struct kernelio_options *options, struct kernelio **out)
{
	struct kernelio *k = calloc(1, sizeof(*k));
	int rc, n;

	*out = NULL;
	if (!k)
		return -ENOMEM;
	k->options = *options;
	snprintf(k->command, sizeof(k->command), "%s", options->command ? options->command : "");
	n = libbpf_num_possible_cpus();
	if (n <= 0) {
		rc = n ? n : -EINVAL;
		eta_error("kernel tracer: cannot count CPUs (%s)", strerror(-rc));
		goto out;
	}
	k->n_cpus = (unsigned)n;
	k->ring_fds = malloc(k->n_cpus * sizeof(*k->ring_fds));
	if (!k->ring_fds) {
		rc = -ENOMEM;
		goto out;
	}
	memset(k->ring_fds, 0xff, k->n_cpus * sizeof(*k->ring_fds));
	take_filters(k);
	sleeps_open(k);
	if (options->clock_reads)
		clock_reads_open(k);
	rc = light_check(k);
	if (rc == 0)
		rc = probes_load(k);
out:
	if (rc)
		kernelio_free(k);
	else
		*out = k;
	return rc;
}

int kernelio_start(struct kernelio *k, int folder)
{
	struct stat status;
	int rc;

	if (!folder_has_path(folder)) {
		eta_error("%s: cannot be written without /proc (mount it)", k->options.name);
		return -ENOENT;
	}
	folder_path(folder, NULL, k->directory);
	if (k->options.skip >= 0 && fstat(k->options.skip, &status) == 0) {
		k->bpf->bss->skipped_directory.inode = status.st_ino;
		k->bpf->bss->skipped_directory.dev =
			major(status.st_dev) << 20 | minor(status.st_dev);
	}
	if (k->filter.everyone) {
		rc = probes_find_tracer(k);
		if (rc) {
			eta_error("the tasks of the machine cannot be traced (%s)", strerror(-rc));
			return rc;
		}
	}
	/* they are no part of what is recorded */
	clock_reads_take(k);
	rc = probes_attach(k);
	if (rc == 0)
		rc = meta_create(k);
	if (rc == 0)
		rc = collect_start(k);
	/* with no probe on system calls, each task is taken in before its first one */
	if (rc == 0 && k->filter.everyone && k->filter.light)
		rc = kernelio_attach(k, 1, true);
	return rc;
}

int kernelio_attach(struct kernelio *k, pid_t pid, bool children)
{
	uint32_t processes = k->bpf->bss->taken_processes, before;
	int rc = 0;

	/* again for what one that was not yet taken in has started meanwhile */
	for (unsigned round = 0; rc == 0 && round < MAX_ROUNDS; round++) {
		before = k->bpf->bss->taken_threads;
		rc = probes_each_task(k, pid, children);
		if (k->bpf->bss->taken_threads == before)
			break;
	}
	if (rc == 0)
		rc = probes_each_file(k, k->bpf->bss->taken_processes - processes > 1 ? 0 : pid);
	if (rc)
		eta_error("process %d: cannot be traced (%s)", (int)pid, strerror(-rc));
	return rc;
}

void kernelio_pause(struct kernelio *k, bool paused)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (paused == (k->pause_ns != 0))
		return;
	k->bpf->bss->paused = paused;
	if (paused) {
		k->pause_ns = now;
		return;
	}
	meta_property(k, "PAUSE=%llu %llu", (unsigned long long)k->pause_ns,
		      (unsigned long long)now);
	k->paused_ns += now - k->pause_ns;
	k->pause_ns = 0;
}

int kernelio_snapshot(struct kernelio *k)
{
	collect_now(k);
	return meta_snapshot(k);
}

static uint64_t bios_done(struct kernelio *k)
{
	struct kernelio_counts counts = { 0 };

	return collect_counts(k, &counts) ? 0 : counts.produced[ETA_RECORD_BIO];
}

/*
 * Late completions belong to the trace; forever they are not waited for, and no longer where none
 * comes: some are never reported.
 */
static void drain(struct kernelio *k, unsigned at_least_ms)
{
	unsigned patience = k->options.drain_ms ? k->options.drain_ms : DEFAULT_DRAIN_MS;
	unsigned left = patience < at_least_ms ? at_least_ms : patience, idle = 0;
	uint64_t key, done = bios_done(k), before;
	int fd = bpf_map__fd(k->bpf->maps.bios);

	while (left >= DRAIN_STEP_MS && idle < patience &&
	       bpf_map_get_next_key(fd, NULL, &key) == 0) {
		sleep_ms(DRAIN_STEP_MS);
		left -= DRAIN_STEP_MS;
		before = done;
		done = bios_done(k);
		idle = done == before ? idle + DRAIN_STEP_MS : 0;
	}
}

/* Do the filters leave in the requests that write dirty pages? */
static bool records_writeback(const struct kernelio *k)
{
	const uint32_t writes = 1U << ETA_OP_WRITE | 1U << ETA_OP_SYNC;

	return k->filter.levels & 1U << ETA_LEVEL_BLOCK &&
	       (!(k->filter.set & KERNELIO_FILTER_BIT(OPERATION)) || k->filter.operations & writes);
}

/* Bytes of dirtied pages that no bio has carried away; 0 where the filters leave those bios out. */
static uint64_t dirty_left(const struct kernelio *k, const struct kernelio_totals *t)
{
	uint64_t written = t->bio_written_bytes - t->bio_direct_bytes - t->bio_journal_bytes +
			   t->writeback_bytes;

	return records_writeback(k) && t->dirtied_bytes > written ? t->dirtied_bytes - written : 0;
}

/* Has what is dirty written out; how many ms are left to wait for the requests. */
static unsigned late_writeback(struct kernelio *k)
{
	struct kernelio_counts counts = { 0 };

	/*
	 * Not dirty_left(), which is an estimate: a file's requests are counted for who dirtied
	 * some of it, whoever dirtied the rest.
	 */
	if (!records_writeback(k) || collect_counts(k, &counts) || !counts.totals.dirtied_bytes)
		return 0;
	collect_now(k); /* which files there are */
	return writeback_flush(k);
}

/* What became of what was produced. */
static void check_counts(const struct kernelio *k, struct kernelio_counts *counts)
{
	counts->exact = true;
	collect_overwritten(k, counts->overwritten);
	for (unsigned cpu = 0; cpu < k->n_cpus; cpu++)
		counts->refused += k->cpus[cpu].refused;
	for (unsigned type = 0; type < KERNELIO_N_TYPES; type++) {
		counts->lost_all += counts->lost[type];
		if (type != ETA_RECORD_LOSS &&
		    counts->produced[type] != counts->recorded[type] + counts->lost[type])
			counts->exact = false;
		counts->recorded[type] -= counts->overwritten[type];
		counts->overwritten_all += counts->overwritten[type];
	}
}

int kernelio_stop(struct kernelio *k, struct kernelio_counts *counts)
{
	struct kernelio_counts own;
	uint64_t ops, bios, asyncs;
	int rc;

	if (!counts)
		counts = &own;
	memset(counts, 0, sizeof(*counts));
	if (!k->collecting)
		return -EINVAL;
	kernelio_pause(k, false);
	if (probes_wants(k, ETA_LEVEL_FS))
		modules_warn_late(k);
	drain(k, k->options.wait_writeback_ms ? late_writeback(k) : 0);
	probes_detach_but_exits(k);
	sleep_ms(DRAIN_STEP_MS); /* a probe that was running has come to its end */
	meta_places(k);
	rc = collect_counts(k, counts);
	ops = counts->produced[ETA_RECORD_KERNEL_OP];
	if (rc == 0)
		rc = probes_each_task(k, 0, false);
	probes_detach(k);
	sleep_ms(DRAIN_STEP_MS);
	collect_end(k);
	clock_reads_take(k);
	/* what is under way is stored, or lost, as all else: before the counting */
	bios = collect_open_bios(k);
	asyncs = collect_open_asyncs(k);
	memset(counts, 0, sizeof(*counts));
	if (rc == 0)
		rc = collect_counts(k, counts);
	if (rc) {
		eta_error("kernel tracer: cannot read its counters (%s)", strerror(-rc));
		goto out;
	}
	counts->open_ops = counts->produced[ETA_RECORD_KERNEL_OP] - ops;
	counts->probes_missed = probes_missed(k);
	counts->open_bios = bios;
	counts->open_ops += asyncs;
	counts->produced[ETA_RECORD_BIO] += bios;
	counts->produced[ETA_RECORD_ASYNC_OP] += asyncs;
	check_counts(k, counts);
	counts->dirty_bytes = dirty_left(k, &counts->totals);
	counts->paused_ns = k->paused_ns;
	counts->taken_threads = k->bpf->bss->taken_threads;
	counts->taken_processes = k->bpf->bss->taken_processes;
	loss_describe(k, counts->lost_where, sizeof(counts->lost_where));
out:
	meta_close(k, counts);
	collect_close(k);
	return rc;
}

void kernelio_free(struct kernelio *k)
{
	if (!k)
		return;
	probes_detach(k);
	collect_end(k);
	collect_close(k);
	spool_close(&k->meta);
	rings_close(k);
	free(k->ring_fds);
	sleeps_close(k);
	clock_reads_close(k);
	kernelio_bpf__destroy(k->bpf);
	free(k);
}

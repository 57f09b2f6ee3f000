/* The kernel tracer's life: new, start, attach, stop, free. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugins/kernelio/kernelio.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "eta-ext/eta.h"
#include "plugins/kernelio/internal.h"
#include "plugins/kernelio/kernelio.skel.h"

#define DEFAULT_SETTLE_MS 500
#define SETTLE_STEP_MS 10

static void sleep_ms(unsigned ms)
{
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&pause, NULL);
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
	if ((size_t)snprintf(k->directory, sizeof(k->directory), "%s", options->directory) >=
	    sizeof(k->directory)) {
		rc = -ENAMETOOLONG;
		goto out;
	}
	n = libbpf_num_possible_cpus();
	if (n <= 0) {
		rc = n ? n : -EINVAL;
		eta_error("kernel tracer: cannot count CPUs (%s)", strerror(-rc));
		goto out;
	}
	k->n_cpus = (unsigned)n;
	rc = probes_load(k);
out:
	if (rc)
		kernelio_free(k);
	else
		*out = k;
	return rc;
}

int kernelio_start(struct kernelio *k)
{
	struct stat status;
	int rc;

	if (mkdir(k->directory, 0755) && errno != EEXIST) {
		rc = -errno;
		eta_error("%s: cannot create (%s)", k->directory, strerror(-rc));
		return rc;
	}
	if (k->options.skip && stat(k->options.skip, &status) == 0) {
		k->bpf->bss->skipped_directory.inode = status.st_ino;
		k->bpf->bss->skipped_directory.dev =
			major(status.st_dev) << 20 | minor(status.st_dev);
	}
	rc = probes_attach(k);
	if (rc == 0)
		rc = meta_create(k);
	if (rc == 0)
		rc = collect_start(k);
	return rc;
}

int kernelio_attach(struct kernelio *k, pid_t pid)
{
	int rc = probes_each_task(k, pid);

	/* again for threads that a thread not yet taken in has started meanwhile */
	if (rc == 0)
		rc = probes_each_task(k, pid);
	if (rc)
		eta_error("process %d: cannot be traced (%s)", (int)pid, strerror(-rc));
	return rc;
}

/* Late completions belong to the trace; forever they are not waited for. */
static void settle(struct kernelio *k)
{
	unsigned left = k->options.settle_ms ? k->options.settle_ms : DEFAULT_SETTLE_MS;
	int fd = bpf_map__fd(k->bpf->maps.bios);
	uint64_t key;

	while (left >= SETTLE_STEP_MS && bpf_map_get_next_key(fd, NULL, &key) == 0) {
		sleep_ms(SETTLE_STEP_MS);
		left -= SETTLE_STEP_MS;
	}
}

/* Bytes of dirtied pages that no bio has carried away. */
static uint64_t dirty_left(const struct kernelio_totals *t)
{
	uint64_t written = t->bio_written_bytes - t->bio_direct_bytes - t->bio_journal_bytes +
			   t->writeback_bytes;

	return t->dirtied_bytes > written ? t->dirtied_bytes - written : 0;
}

int kernelio_stop(struct kernelio *k, struct kernelio_counts *counts)
{
	struct kernelio_counts own;
	uint64_t ops;
	int rc;

	if (!counts)
		counts = &own;
	memset(counts, 0, sizeof(*counts));
	if (!k->collecting)
		return -EINVAL;
	settle(k);
	probes_detach(k);
	sleep_ms(SETTLE_STEP_MS); /* a probe that was running has come to its end */
	rc = collect_counts(k, counts);
	ops = counts->produced[ETA_RECORD_KERNEL_OP];
	if (rc == 0)
		rc = probes_each_task(k, 0);
	collect_end(k);
	memset(counts, 0, sizeof(*counts));
	if (rc == 0)
		rc = collect_counts(k, counts);
	if (rc) {
		eta_error("kernel tracer: cannot read its counters (%s)", strerror(-rc));
		goto out;
	}
	counts->open_ops = counts->produced[ETA_RECORD_KERNEL_OP] - ops;
	counts->probes_missed = probes_missed(k);
	counts->exact = true;
	for (unsigned type = 0; type < KERNELIO_N_TYPES; type++) {
		counts->lost_all += counts->lost[type];
		if (type != ETA_RECORD_LOSS &&
		    counts->produced[type] != counts->recorded[type] + counts->lost[type])
			counts->exact = false;
	}
	counts->open_bios = collect_open_bios(k);
	counts->recorded[ETA_RECORD_BIO] += counts->open_bios;
	counts->produced[ETA_RECORD_BIO] += counts->open_bios;
	counts->dirty_bytes = dirty_left(&counts->totals);
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
	kernelio_bpf__destroy(k->bpf);
	free(k);
}

const char *kernelio_backends(const struct kernelio *k)
{
	return k->backends;
}

const char *kernelio_missing(const struct kernelio *k)
{
	return k->missing;
}

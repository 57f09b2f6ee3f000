/* What a recording lacks, seen once the program has ended: for sci-record's warnings. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "after-run.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/eta.h"

/* ---- processes that outlive the program ---- */

#define MAX_NAMED 4 /* processes told by name */

/* Runs, and is no zombie; its name into COMM. */
static bool is_running(unsigned pid, char comm[64])
{
	char path[64], line[512], *open, *close;
	bool running = false;
	FILE *stat;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	stat = fopen(path, "r");
	if (!stat)
		return false;
	/* PID (COMM) STATE ...; a name may hold brackets itself */
	if (fgets(line, sizeof(line), stat) && (open = strchr(line, '(')) &&
	    (close = strrchr(line, ')')) && close[1] == ' ') {
		running = !strchr("ZXx", close[2]);
		*close = '\0';
		snprintf(comm, 64, "%.60s", open + 1);
	}
	fclose(stat);
	return running;
}

static int by_number(const void *left, const void *right)
{
	unsigned a = *(const unsigned *)left, b = *(const unsigned *)right;

	return a < b ? -1 : a > b;
}

/* The pids of the spool's images, in order; how many. */
static size_t spool_pids(const char *spool, unsigned **out)
{
	struct dirent *entry;
	unsigned *pids = NULL;
	size_t n = 0, room = 0;
	DIR *dir = opendir(spool);

	while (dir && (entry = readdir(dir))) {
		unsigned pid;

		if (sscanf(entry->d_name, "process.%u.", &pid) != 1)
			continue;
		if (n == room) {
			unsigned *more = reallocarray(pids, room + 64, sizeof(*pids));

			if (!more)
				break;
			pids = more;
			room += 64;
		}
		pids[n++] = pid;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(pids, n, sizeof(*pids), by_number);
	*out = pids;
	return n;
}

void after_run_still_running(const char *spool)
{
	char names[MAX_NAMED * 80 + 8] = "", comm[64];
	unsigned *pids, running = 0;
	size_t n = spool_pids(spool, &pids), used = 0;

	for (size_t i = 0; i < n; i++) {
		if ((i > 0 && pids[i] == pids[i - 1]) || !is_running(pids[i], comm))
			continue;
		if (running < MAX_NAMED)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s %u",
						 running ? ", " : "", comm, pids[i]);
		else if (running == MAX_NAMED)
			snprintf(names + used, sizeof(names) - used, ", ...");
		running++;
	}
	free(pids);
	if (running)
		eta_warn("%u process%s of the program still run%s (%s): the trace has what was "
			 "done until now (let the program wait for them to have all)",
			 running, running == 1 ? "" : "es", running == 1 ? "s" : "", names);
}

/* ---- system calls without a library call around them ---- */

/*
 * The C library makes some by itself (locales, name lookups), so a few of many are no news: told
 * from this many on, if they are this part of all.
 */
#define OUTSIDE_CALLS 16
#define OUTSIDE_PART 20

/* X(name): the system calls that move data. The others are the dynamic linker's too. */
#define DATA_CALLS(X)                                                                              \
	X(read)                                                                                    \
	X(write)                                                                                   \
	X(pread64)                                                                                 \
	X(pwrite64)                                                                                \
	X(readv)                                                                                   \
	X(writev)                                                                                  \
	X(preadv)                                                                                  \
	X(pwritev)                                                                                 \
	X(preadv2)                                                                                 \
	X(pwritev2)                                                                                \
	X(fsync)                                                                                   \
	X(fdatasync)                                                                               \
	X(copy_file_range)                                                                         \
	X(sendfile)                                                                                \
	X(splice)

struct calls {
	uint64_t all, outside;
	bool user; /* has library calls */
};

static bool is_data_call(const char *region)
{
	static const char *const names[] = {
#define X(name) "vfs:sys_" #name,
		DATA_CALLS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(region, names[i]) == 0)
			return true;
	return false;
}

/* Counts one thread. Before its first library call a main thread is the dynamic linker's. */
static int count_thread(struct eta_trace *trace, uint32_t location, const bool *data,
			struct calls *calls)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	const struct eta_location *thread = &defs->locations[location];
	bool main_thread =
		thread->process != ETA_NONE && defs->processes[thread->process].pid == thread->tid;
	uint64_t inside = 0; /* depth of library calls */
	struct eta_cursor *cursor;
	const struct eta_event *batch;
	ssize_t n;
	int rc = eta_cursor_open(trace, location, &cursor);

	if (rc)
		return rc;
	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			const struct eta_event *e = &batch[i];
			bool user;

			if (e->kind != ETA_ENTER && e->kind != ETA_LEAVE)
				continue;
			user = defs->regions[e->region].level == ETA_LEVEL_USER;
			calls->user |= user;
			if (user) {
				inside += e->kind == ETA_ENTER;
				inside -= e->kind == ETA_LEAVE;
			} else if (e->kind == ETA_ENTER && data[e->region] &&
				   (calls->user || !main_thread)) {
				calls->all++;
				calls->outside += inside == 0;
			}
		}
	eta_cursor_close(cursor);
	return (int)n;
}

void after_run_outside_calls(const char *archive)
{
	struct calls sum = { 0 }, *per_process = NULL;
	const struct eta_defs *defs;
	struct eta_trace *trace;
	bool *data;

	if (eta_open(archive, NULL, &trace) != 0)
		return; /* said */
	defs = eta_trace_defs(trace);
	per_process = calloc((size_t)defs->n_processes + 1, sizeof(*per_process));
	data = calloc((size_t)defs->n_regions + 1, sizeof(*data));
	for (uint32_t i = 0; data && i < defs->n_regions; i++)
		data[i] = is_data_call(defs->regions[i].name);
	for (uint32_t i = 0; per_process && data && i < defs->n_locations; i++) {
		const struct eta_location *location = &defs->locations[i];
		struct calls calls = { 0 };

		if (location->kind != ETA_LOCATION_THREAD || location->process == ETA_NONE)
			continue;
		if (count_thread(trace, i, data, &calls) != 0)
			break;
		per_process[location->process].all += calls.all;
		per_process[location->process].outside += calls.outside;
		per_process[location->process].user |= calls.user;
	}
	for (uint32_t i = 0; per_process && i < defs->n_processes; i++)
		if (per_process[i].user) {
			sum.all += per_process[i].all;
			sum.outside += per_process[i].outside;
		}
	free(data);
	free(per_process);
	eta_close(trace);
	if (sum.outside >= OUTSIDE_CALLS && sum.outside >= sum.all / OUTSIDE_PART)
		eta_warn("%" PRIu64 " of %" PRIu64 " system calls on files were made outside of "
			 "library calls (by raw system calls, or in functions that are not "
			 "traced): they are in the trace at the kernel's levels only",
			 sum.outside, sum.all);
}

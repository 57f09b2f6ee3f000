/* What a recording lacks, found after the program has ended: for sci-record's warnings. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "after-run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/spool.h"

/* ---- processes that outlive the program ---- */

#define MAX_NAMED 4 /* processes reported by name */

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

/* Is the pid of file NAME of the spool what this process counts by, in OWN_NS? */
static bool is_number_here(int spool, const char *name, uint32_t own_ns)
{
	struct eta_spool_header header = { 0 };
	int fd = openat(spool, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (read(fd, &header, sizeof(header)) != sizeof(header))
		header.pid_ns = 0;
	close(fd);
	return header.pid_ns == 0 || own_ns == 0 || header.pid_ns == own_ns;
}

/* The pids of the spool's images that are in our pid namespace, in order; how many. */
static size_t spool_pids(int spool, unsigned **out)
{
	struct dirent *entry;
	unsigned *pids = NULL;
	size_t n = 0, room = 0;
	struct eta_spool_header own = { 0 };
	int fd = openat(spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	spool_header_origin(&own);
	while (dir && (entry = readdir(dir))) {
		unsigned pid;

		if (sscanf(entry->d_name, "process.%u.", &pid) != 1 ||
		    !is_number_here(spool, entry->d_name, own.pid_ns))
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

void after_run_still_running(int spool)
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
			 "done until now (let the program wait for them to record all)",
			 running, running == 1 ? "" : "es", running == 1 ? "s" : "", names);
}

/* ---- what library calls do not show ---- */

/*
 * System calls without a library call around them. The C library makes some by itself (locales,
 * name lookups), so a few are ignored: reported from this number on, if they are this part of
 * all.
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

/* X(ID, name): libraries whose calls queue transfers and fetch results, and move no data. */
#define QUEUES(X)                                                                                  \
	X(LIBAIO, "libaio")                                                                        \
	X(IO_URING, "io_uring")

enum queue {
#define X(id, name) QUEUE_##id,
	QUEUES(X)
#undef X
		N_QUEUES,
};

static const char *const queue_names[N_QUEUES] = {
#define X(id, name) name,
	QUEUES(X)
#undef X
};

/* As the user tracer calls the property of a process that uses it, in an archive. */
static const char *const queue_properties[N_QUEUES] = {
#define X(id, name) "ASYNCHRONOUS_" #id,
	QUEUES(X)
#undef X
};

struct region {
	bool user, data;
	bool system_call;
	uint8_t queue; /* N_QUEUES: none */
};

struct calls {
	uint64_t all, outside;	  /* system calls that move data */
	uint64_t queue[N_QUEUES]; /* library calls */
	uint64_t requests;	  /* to block devices, outside of traced system calls */
	bool user;		  /* has library calls */
	bool tracks;		  /* has asynchronous operations, recorded by the kernel's side */
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

static enum queue queue_of(const char *name)
{
	if (strncmp(name, "io_uring_", 9) == 0 || strncmp(name, "__io_uring_", 11) == 0)
		return QUEUE_IO_URING;
	if (strcmp(name, "io_submit") == 0 || strcmp(name, "io_getevents") == 0 ||
	    strcmp(name, "io_pgetevents") == 0)
		return QUEUE_LIBAIO;
	return N_QUEUES;
}

static struct region *regions_of(const struct eta_defs *defs)
{
	struct region *regions = calloc((size_t)defs->n_regions + 1, sizeof(*regions));

	for (uint32_t i = 0; regions && i < defs->n_regions; i++) {
		const char *name = defs->regions[i].name;

		regions[i].user = defs->regions[i].level == ETA_LEVEL_USER;
		regions[i].data = is_data_call(name);
		regions[i].system_call = strncmp(name, "vfs:sys_", 8) == 0;
		regions[i].queue = (uint8_t)(regions[i].user ? queue_of(name) : N_QUEUES);
	}
	return regions;
}

/* Counts one thread. Before its first library call a main thread is the dynamic linker's. */
static int count_thread(struct eta_trace *trace, uint32_t location, const struct region *regions,
			struct calls *calls)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	const struct eta_location *thread = &defs->locations[location];
	bool main_thread =
		thread->process != ETA_NONE && defs->processes[thread->process].pid == thread->tid;
	uint64_t inside = 0, in_system_call = 0; /* depths */
	struct eta_cursor *cursor;
	const struct eta_event *batch;
	ssize_t n;
	int rc = eta_cursor_open(trace, location, &cursor);

	if (rc)
		return rc;
	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			const struct eta_event *e = &batch[i];
			const struct region *region;
			bool counts = calls->user || !main_thread;

			if (e->kind == ETA_IO_ISSUED)
				calls->requests += counts && in_system_call == 0;
			if (e->kind != ETA_ENTER && e->kind != ETA_LEAVE)
				continue;
			region = &regions[e->region];
			calls->user |= region->user;
			if (e->kind == ETA_LEAVE) {
				inside -= region->user;
				in_system_call -= region->system_call;
				continue;
			}
			if (region->data && counts) {
				calls->all++;
				calls->outside += inside == 0;
			}
			if (region->queue != N_QUEUES)
				calls->queue[region->queue]++;
			inside += region->user;
			in_system_call += region->system_call;
		}
	eta_cursor_close(cursor);
	return (int)n;
}

static void add_calls(struct calls *sum, const struct calls *calls)
{
	sum->all += calls->all;
	sum->outside += calls->outside;
	for (int i = 0; i < N_QUEUES; i++)
		sum->queue[i] += calls->queue[i];
	sum->requests += calls->requests;
	sum->user |= calls->user;
	sum->tracks |= calls->tracks;
}

/* All processes that made library calls, together. */
static struct calls count_calls(struct eta_trace *trace)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	struct calls *per_process = calloc((size_t)defs->n_processes + 1, sizeof(*per_process));
	struct region *regions = regions_of(defs);
	struct calls sum = { 0 };

	for (uint32_t i = 0; per_process && regions && i < defs->n_locations; i++) {
		const struct eta_location *location = &defs->locations[i];
		struct calls calls = { 0 };

		if (location->kind != ETA_LOCATION_THREAD || location->process == ETA_NONE)
			continue;
		if (location->track) {
			per_process[location->process].tracks = true;
			continue;
		}
		if (count_thread(trace, i, regions, &calls) != 0)
			break;
		add_calls(&per_process[location->process], &calls);
	}
	for (uint32_t i = 0; per_process && i < defs->n_processes; i++)
		if (per_process[i].user)
			add_calls(&sum, &per_process[i]);
	free(regions);
	free(per_process);
	return sum;
}

/* How many processes say that they use QUEUE. */
static unsigned queue_users(const struct eta_defs *defs, enum queue queue)
{
	size_t n = strlen(queue_properties[queue]);
	unsigned users = 0;

	for (uint32_t i = 0; i < defs->n_properties; i++) {
		const struct eta_property *property = &defs->properties[i];
		size_t bytes = strlen(property->name);

		/* behind "IMAGE_N::" where the process has called exec since */
		users += property->process != ETA_NONE && bytes >= n &&
			 strcmp(property->name + bytes - n, queue_properties[queue]) == 0;
	}
	return users;
}

static void warn_of_queue(enum queue queue, const struct calls *calls, bool kernel)
{
	if (kernel && calls->tracks)
		return; /* each transfer is an operation */
	if (kernel)
		eta_warn("%s was used (%" PRIu64 " library calls): its transfers are in no library "
			 "call and no system call; %" PRIu64
			 " block requests outside of traced system calls are in the trace, "
			 "transfers that stayed in the page cache are not (another I/O engine "
			 "shows them)",
			 queue_names[queue], calls->queue[queue], calls->requests);
	else
		eta_warn("%s was used (%" PRIu64 " library calls): its transfers are not in the "
			 "trace (the kernel's levels have its block requests, another I/O engine "
			 "shows all)",
			 queue_names[queue], calls->queue[queue]);
}

void after_run_archive(const char *archive, bool kernel)
{
	struct eta_trace *trace;
	struct calls calls;

	if (eta_open(archive, NULL, &trace) != 0)
		return; /* said */
	calls = count_calls(trace);
	for (enum queue queue = 0; queue < N_QUEUES; queue++)
		if (queue_users(eta_trace_defs(trace), queue))
			warn_of_queue(queue, &calls, kernel);
	eta_close(trace);
	if (calls.outside >= OUTSIDE_CALLS && calls.outside >= calls.all / OUTSIDE_PART)
		eta_warn("%" PRIu64 " of %" PRIu64 " system calls on files were made outside of "
			 "library calls (by raw system calls, or in functions that are not "
			 "traced): they are in the trace at the kernel's levels only",
			 calls.outside, calls.all);
}

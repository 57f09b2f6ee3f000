/* The spool's kernel side, opening: locations of tasks and devices out of the index. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernel-index.h"
#include "eta-ext/base/search.h"

#define MAX_UNTRACED 256	/* each is a location, so a file of the archive */
#define MAX_UNTRACED_NAMES 2048 /* of the others, as a text of 64 KiB has room for */

/* "vda" for major << 20 | minor; the numbers where this system has no such device. */
static void device_name(uint32_t dev, char *name, size_t room)
{
	char link[64], target[512];
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", dev >> 20, dev & 0xfffff);
	n = readlink(link, target, sizeof(target) - 1);
	if (n > 0) {
		char *slash;

		target[n] = '\0';
		slash = strrchr(target, '/');
		snprintf(name, room, "%s", slash ? slash + 1 : target);
	} else {
		snprintf(name, room, "%u:%u", dev >> 20, dev & 0xfffff);
	}
}

static int add_location(struct eta_trace *trace, struct spool_index *index,
			const struct eta_location *location, struct index_location where)
{
	const struct spool_location at = { .group = (uint32_t)index->n_locations };
	struct index_location *locations =
		reallocarray(index->locations, index->n_locations + 1, sizeof(*locations));

	if (!locations) {
		eta_error("%s: not enough memory for its threads", trace->path);
		return -ENOMEM;
	}
	index->locations = locations;
	locations[index->n_locations++] = where;
	return spool_add_location(trace, location, &at) == ETA_NONE ? -ENOMEM : 0;
}

static int add_device(struct eta_trace *trace, struct spool_index *index,
		      const struct index_group *group)
{
	char name[512];
	const struct spool *spool = trace->data;
	const struct eta_handle handle = {
		.name = name, .file = ETA_NONE, .device = group->dev, .host = spool->host
	};
	struct eta_location location = {
		.id = trace->defs.n_locations,
		.name = name,
		.kind = ETA_LOCATION_DEVICE,
		.process = ETA_NONE,
		.dev = group->dev,
		.host = spool->host,
		.events = group->bios.n,
	};
	struct spool_handle *devices =
		reallocarray(index->devices, index->n_devices + 1, sizeof(*devices));

	if (!devices) {
		eta_error("%s: not enough memory for its devices", trace->path);
		return -ENOMEM;
	}
	device_name(group->dev, name, sizeof(name));
	index->devices = devices;
	devices += index->n_devices++;
	*devices = (struct spool_handle){ .id = group->dev,
					  .handle = eta_defs_handle(trace, &handle) };
	if (devices->handle == ETA_NONE)
		return -ENOMEM;
	if (group->bios.n)
		location.start_ns = index->entries[group->bios.first].time_ns;
	return add_location(trace, index, &location,
			    (struct index_location){ .bios = group->bios, .device = true });
}

/* The first of the task records of (PID, TID), or the place where it would be. */
static struct index_task *find_task(const struct spool_index *index, uint32_t pid, uint32_t tid)
{
	const struct index_task *tasks = index->tasks;
	size_t low =
		PARTITION_POINT((size_t)0, index->n_tasks, i,
				tasks[i].pid < pid || (tasks[i].pid == pid && tasks[i].tid < tid));

	return &index->tasks[low];
}

/* The process of TASK: named after its main thread where that is known. */
static uint32_t process_of(struct eta_trace *trace, const struct spool_index *index, uint32_t pid,
			   const struct index_task *task)
{
	const struct index_task *leader = task;
	struct eta_process process;

	if (task && task->kernel_thread)
		return spool_process(trace, &(struct eta_process){ .name = "kernel" }, 0);
	/* of several lives of its main thread the last */
	for (const struct index_task *end = index->tasks + index->n_tasks,
				     *next = find_task(index, pid, pid);
	     next < end && next->pid == pid && next->tid == pid; next++)
		leader = next;
	process = (struct eta_process){ .name = "", .pid = pid };
	if (leader) {
		process.name = leader->comm;
		process.ppid = leader->ppid;
		process.cgroup = leader->cgroup;
		process.ns_pid = leader->ns_pid;
		process.pid_ns = leader->pid_ns;
		process.start_ns = leader->start_ns;
	}
	return spool_process(trace, &process, 0);
}

/* First entry of SLICE at or after TIME_NS. */
static uint64_t lower_bound(const struct spool_index *index, struct index_slice slice,
			    uint64_t time_ns)
{
	return PARTITION_POINT(slice.first, slice.first + slice.n, i,
			       index->entries[i].time_ns < time_ns);
}

static struct index_slice part(const struct spool_index *index, struct index_slice slice,
			       uint64_t from_ns, uint64_t to_ns)
{
	uint64_t first = from_ns ? lower_bound(index, slice, from_ns) : slice.first;
	uint64_t end =
		to_ns == UINT64_MAX ? slice.first + slice.n : lower_bound(index, slice, to_ns);

	return (struct index_slice){ .first = first, .n = end - first };
}

static int add_life(struct eta_trace *trace, struct spool_index *index,
		    const struct index_group *group, struct index_task *task, uint64_t from_ns,
		    uint64_t to_ns)
{
	const struct index_location where = {
		.operations = part(index, group->operations, from_ns, to_ns),
		.bios = part(index, group->bios, from_ns, to_ns),
		.owned = part(index, group->owned, from_ns, to_ns),
	};
	struct eta_location location = {
		.id = trace->defs.n_locations,
		.kind = task && task->kernel_thread ? ETA_LOCATION_KERNEL_THREAD
						    : ETA_LOCATION_THREAD,
		.tid = group->tid,
		.ns_tid = task ? task->ns_tid : 0,
		.track = group->track,
		.only_requests = where.operations.n == 0,
	};
	char name[64];
	int n;

	if (where.operations.n + where.bios.n == 0)
		return 0;
	if (task && !task->kernel_thread && !group->track)
		location.end_ns = task->end_ns;
	if (task && task->start_ns && !group->track) {
		location.start_ns = task->start_ns;
	} else {
		uint64_t operation_ns = UINT64_MAX, bio_ns = UINT64_MAX;

		if (where.operations.n)
			operation_ns = index->entries[where.operations.first].time_ns;
		if (where.bios.n)
			bio_ns = index->entries[where.bios.first].time_ns;
		location.start_ns = operation_ns < bio_ns ? operation_ns : bio_ns;
	}
	n = snprintf(name, sizeof(name), "%s tid %" PRIu32, task ? task->comm : "?", group->tid);
	if (group->track)
		snprintf(name + n, sizeof(name) - (size_t)n, " track %" PRIu32, group->track);
	location.name = name;
	location.process = process_of(trace, index, group->pid, task);
	if (location.process == ETA_NONE)
		return -ENOMEM;
	if (task)
		task->located = true;
	return add_location(trace, index, &location, where);
}

/* A task that was in the way of a traced thread: a name without events. */
static int add_untraced(struct eta_trace *trace, struct spool_index *index,
			const struct index_task *task)
{
	char name[64];
	struct eta_location location = {
		.id = trace->defs.n_locations,
		.name = name,
		.kind = task->kernel_thread ? ETA_LOCATION_KERNEL_THREAD : ETA_LOCATION_UNTRACED,
		.process = process_of(trace, index, task->pid, task),
		.tid = task->tid,
		.ns_tid = task->ns_tid,
		.start_ns = task->start_ns,
	};

	snprintf(name, sizeof(name), "%s tid %" PRIu32, task->comm, task->tid);
	if (location.process == ETA_NONE)
		return -ENOMEM;
	return add_location(trace, index, &location, (struct index_location){ 0 });
}

static int by_waited(const void *left, const void *right)
{
	const struct index_task *a = *(const struct index_task *const *)left;
	const struct index_task *b = *(const struct index_task *const *)right;

	if (a->waited_ns != b->waited_ns)
		return a->waited_ns > b->waited_ns ? -1 : 1;
	return (a > b) - (a < b);
}

/* The names of N TASKS that get no location: "TID|NAME;..." */
static int add_untraced_names(struct eta_trace *trace, const struct index_task *const *tasks,
			      size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = n ? open_memstream(&text, &size) : NULL;
	int rc = 0;

	if (n == 0)
		return 0;
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "%s", tasks[i]->comm);
		for (char *c = comm; *c; c++)
			if (*c == ';')
				*c = ',';
		fprintf(out, "%" PRIu32 "|%s;", tasks[i]->tid, comm);
	}
	if (fclose(out) || eta_defs_property(trace, "SCI::UNTRACED_TASKS", text) == ETA_NONE)
		rc = -ENOMEM;
	free(text);
	return rc;
}

/* Those that were waited for longest; a long trace may have met every compiler of a large build. */
static int add_all_untraced(struct eta_trace *trace, struct spool_index *index)
{
	const struct index_task **tasks = calloc(index->n_tasks + 1, sizeof(*tasks));
	size_t n = 0;
	int rc = tasks ? 0 : -ENOMEM;

	for (size_t i = 0; tasks && i < index->n_tasks; i++)
		if (index->tasks[i].untraced && !index->tasks[i].located)
			tasks[n++] = &index->tasks[i];
	if (n)
		qsort(tasks, n, sizeof(*tasks), by_waited);
	for (size_t i = 0; rc == 0 && i < n && i < MAX_UNTRACED; i++)
		rc = add_untraced(trace, index, tasks[i]);
	if (rc == 0 && n > MAX_UNTRACED) {
		n -= MAX_UNTRACED;
		rc = add_untraced_names(trace, tasks + MAX_UNTRACED,
					n < MAX_UNTRACED_NAMES ? n : MAX_UNTRACED_NAMES);
	}
	free(tasks);
	return rc;
}

/* One location per lifetime of a (pid, tid): the TASK records say when each began. */
static int add_lives(struct eta_trace *trace, struct spool_index *index,
		     const struct index_group *group)
{
	struct index_task *task = find_task(index, group->pid, group->tid);
	const struct index_task *end = index->tasks + index->n_tasks;
	uint64_t from_ns = 0;
	int rc = 0;

	if (task == end || task->pid != group->pid || task->tid != group->tid)
		return add_life(trace, index, group, NULL, 0, UINT64_MAX);
	for (; rc == 0 && task < end && task->pid == group->pid && task->tid == group->tid;
	     task++) {
		const struct index_task *next = task + 1;
		bool again = next < end && next->pid == task->pid && next->tid == task->tid;
		uint64_t to_ns = again ? next->start_ns : UINT64_MAX;

		rc = add_life(trace, index, group, task, from_ns, to_ns);
		from_ns = to_ns;
	}
	return rc;
}

int spool_kernel_open(struct eta_trace *trace)
{
	struct spool *spool = trace->data;
	struct spool_index *index = spool->index = calloc(1, sizeof(*index));
	int rc;

	if (!index) {
		eta_error("%s: not enough memory to open it", trace->path);
		return -ENOMEM;
	}
	rc = index_build(trace, index);
	if (rc == 0)
		rc = expand_define(trace, index);
	for (size_t i = 0; rc == 0 && i < index->n_groups; i++) {
		if (index->groups[i].device)
			rc = add_device(trace, index, &index->groups[i]);
		else
			rc = add_lives(trace, index, &index->groups[i]);
	}
	return rc ? rc : add_all_untraced(trace, index);
}

uint64_t spool_kernel_begin(struct eta_trace *trace, uint64_t begin_ns)
{
	struct spool_index *index = ((struct spool *)trace->data)->index;

	for (size_t i = 0; i < index->n_locations; i++) {
		struct index_location *where = &index->locations[i];
		const struct index_location all = *where;

		if (where->device)
			continue; /* by time of completion: its cursor looks at each */
		where->operations = part(index, all.operations, begin_ns + 1, UINT64_MAX);
		where->bios = part(index, all.bios, begin_ns + 1, UINT64_MAX);
		where->owned = part(index, all.owned, begin_ns + 1, UINT64_MAX);
		index->left_out +=
			all.operations.n - where->operations.n + all.bios.n - where->bios.n;
	}
	return index->left_out;
}

void spool_kernel_close(struct eta_trace *trace)
{
	struct spool *spool = trace->data;

	index_free(spool->index);
	for (uint32_t i = 0; i < spool->n_files; i++)
		if (spool->files[i].view.path)
			spool_view_close(&spool->files[i].view);
}

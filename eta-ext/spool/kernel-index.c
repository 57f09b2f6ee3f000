/* The index of a kernel spool: one pass that counts, one that places, then each task is sorted. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "kernel-index.h"
#include "kernel-names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum {
	WINDOW_BYTES = 64 << 10,
	MAX_OPEN = 32, /* files whose descriptors are kept as long as the trace */
	RECENT = 256,  /* groups that are found without the table */
};

struct table_group {
	UT_hash_handle hh;
	struct group_key {
		uint32_t pid, tid, track, dev, device;
	} key;
	struct index_group group; /* while placing, n counts what is placed */
};

struct build {
	struct eta_trace *trace;
	struct spool *spool;
	struct spool_index *index;
	struct table_group *groups;
	struct table_group *recent[RECENT]; /* by thread or device: the last one of it */
	struct kernel_names names;
};

static int out_of_memory(const struct build *build)
{
	eta_error("%s: not enough memory for its index", build->trace->path);
	return -ENOMEM;
}

static struct table_group *group_of(struct build *build, struct group_key key)
{
	struct table_group **recent = &build->recent[(key.tid + key.dev) % RECENT],
			   *group = *recent;

	if (group && memcmp(&group->key, &key, sizeof(key)) == 0)
		return group;
	HASH_FIND(hh, build->groups, &key, sizeof(key), group);
	if (group)
		return *recent = group;
	group = calloc(1, sizeof(*group));
	if (!group)
		return NULL;
	group->key = key;
	group->group = (struct index_group){ .pid = key.pid,
					     .tid = key.tid,
					     .track = key.track,
					     .dev = key.dev,
					     .device = key.device };
	HASH_ADD(hh, build->groups, key, sizeof(key), group);
	if (group->hh.tbl)
		return *recent = group;
	free(group);
	return NULL;
}

static struct table_group *task_group(struct build *build, uint32_t pid, uint32_t tid)
{
	return group_of(build, (struct group_key){ .pid = pid, .tid = tid });
}

/* The group of an operation: its thread, or one of its tracks. */
static struct table_group *operation_group(struct build *build, const struct eta_kernel_op *op)
{
	struct group_key key = { .pid = op->pid, .tid = op->head.id };

	if (op->head.type == ETA_RECORD_ASYNC_OP)
		key.track = op->track;
	return group_of(build, key);
}

/* The group of a request: its submitter, or the operation that it is for. */
static struct table_group *bio_group(struct build *build, const struct eta_bio_record *bio)
{
	if (bio->track)
		return group_of(build, (struct group_key){ .pid = bio->owner_pid,
							   .tid = bio->owner_tid,
							   .track = bio->track });
	return task_group(build, bio->pid, bio->head.id);
}

static struct table_group *device_group(struct build *build, uint32_t dev)
{
	return group_of(build, (struct group_key){ .dev = dev, .device = 1 });
}

const struct index_fs *index_find_fs(const struct spool_index *index, uint32_t dev)
{
	for (size_t i = 0; i < index->n_fs; i++)
		if (index->fs[i].dev == dev)
			return &index->fs[i];
	return NULL;
}

/* The entry of DEV, made when it is new. */
static struct index_fs *fs_of(struct build *build, uint32_t dev)
{
	struct spool_index *index = build->index;
	struct index_fs *fs = (struct index_fs *)index_find_fs(index, dev);

	if (fs)
		return fs;
	fs = reallocarray(index->fs, index->n_fs + 1, sizeof(*fs));
	if (!fs)
		return NULL;
	index->fs = fs;
	fs += index->n_fs++;
	*fs = (struct index_fs){ .dev = dev };
	return fs;
}

/* ---- first pass: what there is ---- */

static int count_operation(struct build *build, const struct eta_kernel_op *op)
{
	const struct eta_span *spans = (const void *)(op + 1);
	struct table_group *group = operation_group(build, op);
	struct spool_index *index = build->index;
	struct index_fs *fs = fs_of(build, op->dev);

	if (!group || !fs)
		return out_of_memory(build);
	group->group.operations.n++;
	for (size_t i = 0; i + 2 < op->head.units; i++)
		if (spans[i].kind < ETA_N_SPANS)
			fs->span_kinds |= 1u << spans[i].kind;
	if (op->head.type == ETA_RECORD_ASYNC_OP)
		index->has_tracks = true;
	else
		index->spans_lost += op->spans_lost;
	return 0;
}

/* Does the request carry what another thread wrote? */
static bool is_owned(const struct eta_bio_record *bio)
{
	return bio->owner_tid && bio->owner_tid != bio->head.id && !bio->track;
}

static int count_bio(struct build *build, const struct eta_bio_record *bio)
{
	struct table_group *group = bio_group(build, bio);
	struct table_group *device = device_group(build, bio->dev);

	if (!group || !device)
		return out_of_memory(build);
	group->group.bios.n++;
	device->group.bios.n += bio->head.end_ns != 0;
	if (is_owned(bio)) {
		group = task_group(build, bio->owner_pid, bio->owner_tid);
		if (!group)
			return out_of_memory(build);
		group->group.owned.n++;
	}
	return 0;
}

/* A call to a server is no event of its own: it splits the waits of the thread that it is for. */
static int count_rpc(struct build *build, const struct eta_rpc_record *rpc)
{
	struct table_group *group = task_group(build, rpc->pid, rpc->head.id);

	if (!group)
		return out_of_memory(build);
	group->group.owned.n++;
	build->index->has_rpcs = true;
	return 0;
}

static int take_task(struct build *build, const struct eta_task_record *record)
{
	struct spool_index *index = build->index;
	struct index_task *task;

	if (!ARRAY_FITS(index->tasks, index->n_tasks + 1, index->task_room))
		return out_of_memory(build);
	task = &index->tasks[index->n_tasks++];
	*task = (struct index_task){
		.start_ns = record->head.time_ns,
		.pid = record->pid,
		.tid = record->head.id,
		.ppid = record->ppid,
		.ns_pid = record->ns_pid,
		.ns_tid = record->ns_tid,
		.pid_ns = record->pid_ns,
		.cgroup = record->cgroup_id,
		.noted_ns = record->noted_ns,
		.kernel_thread = record->head.flags & ETA_TASK_KERNEL_THREAD,
		.end_ns = record->head.end_ns,
		.waited_ns = record->waited_ns,
		.untraced = record->head.flags & ETA_TASK_UNTRACED,
	};
	memcpy(task->comm, record->comm, sizeof(task->comm));
	task->comm[sizeof(task->comm) - 1] = '\0';
	return 0;
}

static int take_file(struct build *build, const struct eta_file_record *record)
{
	struct index_fs *fs = fs_of(build, record->dev);
	uint32_t file;

	if (!fs)
		return out_of_memory(build);
	if (record->fs_magic)
		fs->magic = record->fs_magic;
	file = spool_file_def(build->trace, record, false);
	if (file == ETA_NONE)
		return -ENOMEM;
	return names_note(&build->names, build->trace, file, record) ? out_of_memory(build) : 0;
}

static int count_record(struct build *build, const struct eta_record_head *record)
{
	struct eta_counts *counts = &build->trace->counts;

	counts->records++;
	switch (record->type) {
	case ETA_RECORD_KERNEL_OP:
	case ETA_RECORD_ASYNC_OP:
	case ETA_RECORD_WAIT:
		return count_operation(build, (const void *)record);
	case ETA_RECORD_BIO:
		return count_bio(build, (const void *)record);
	case ETA_RECORD_RPC:
		return count_rpc(build, (const void *)record);
	case ETA_RECORD_TASK:
		return take_task(build, (const void *)record);
	case ETA_RECORD_FILE:
		return take_file(build, (const void *)record);
	case ETA_RECORD_LOSS:
		counts->lost += ((const struct eta_loss_record *)record)->lost;
		return 0;
	case ETA_RECORD_NAME:
	case ETA_RECORD_PROPERTY:
		return spool_define(build->trace, 0, record);
	case ETA_RECORD_SKIP:
		return 0;
	default:
		counts->bad++;
		return 0;
	}
}

/* N_FILES: how many the kernel has. */
static int count_file(struct build *build, struct spool_file *file, size_t n_files)
{
	const struct eta_record_head *record;
	int rc = spool_view_open(&file->view, file->path, WINDOW_BYTES, &file->damage);
	uint64_t at = file->view.first;

	if (rc)
		return rc;
	if (build->trace->options.stable)
		spool_view_map(&file->view);
	while ((rc = spool_view_record(&file->view, at, &record)) > 0) {
		at += record_bytes(record);
		rc = count_record(build, record);
		if (rc)
			return rc;
	}
	/* the second pass and the cursors need not find out again where it ends */
	file->view.size = at;
	build->trace->counts.bad += file->view.damaged && !file->counted;
	if (n_files > MAX_OPEN)
		spool_view_rest(&file->view);
	return rc;
}

/* ---- second pass: places, all CPUs together in order of completion ---- */

struct head {
	struct spool_file *file;
	uint64_t at;
	uint64_t order_ns;
};

static void place(struct build *build, struct index_slice *slice, uint64_t time_ns, uint64_t unit)
{
	build->index->entries[slice->first + slice->n++] =
		(struct index_entry){ .time_ns = time_ns, .unit = unit };
}

static int place_record(struct build *build, const struct head *head,
			const struct eta_record_head *record)
{
	uint64_t unit = head->file->first_unit + head->at / ETA_UNIT_BYTES;
	struct table_group *group, *device;

	if (record->type == ETA_RECORD_KERNEL_OP || record->type == ETA_RECORD_ASYNC_OP ||
	    record->type == ETA_RECORD_WAIT) {
		const struct eta_kernel_op *op = (const void *)record;

		group = operation_group(build, op);
		if (!group)
			return out_of_memory(build);
		place(build, &group->group.operations, op->head.time_ns, unit);
		if (op->inode && op->head.end_ns > op->head.time_ns)
			names_spent(&build->names, op->dev, op->inode, op->head.end_ns,
				    op->head.end_ns - op->head.time_ns);
	} else if (record->type == ETA_RECORD_BIO) {
		const struct eta_bio_record *bio = (const void *)record;

		group = bio_group(build, bio);
		device = device_group(build, bio->dev);
		if (!group || !device)
			return out_of_memory(build);
		place(build, &group->group.bios, bio->head.time_ns, unit);
		if (bio->head.end_ns)
			place(build, &device->group.bios, bio->head.end_ns, unit);
		if (is_owned(bio)) {
			group = task_group(build, bio->owner_pid, bio->owner_tid);
			if (!group)
				return out_of_memory(build);
			place(build, &group->group.owned, bio->head.time_ns, unit);
		}
	} else if (record->type == ETA_RECORD_RPC) {
		const struct eta_rpc_record *rpc = (const void *)record;

		group = task_group(build, rpc->pid, rpc->head.id);
		if (!group)
			return out_of_memory(build);
		place(build, &group->group.owned, rpc->head.time_ns, unit);
	}
	return 0;
}

/* The record HEAD stands at: 1, 0 at the end, -errno. */
static int look(struct head *head, const struct eta_record_head **record)
{
	int rc = spool_view_record(&head->file->view, head->at, record);

	if (rc > 0)
		head->order_ns = (*record)->end_ns ? (*record)->end_ns : (*record)->time_ns;
	return rc;
}

/*
 * All files together by completion, so that what one task did on several CPUs is nearly sorted
 * already. N_HEADS is the number of CPUs.
 */
static int place_all(struct build *build, struct head *heads, size_t n_heads)
{
	const struct eta_record_head *record;
	int rc = 0;

	for (size_t i = 0; i < n_heads;) {
		rc = look(&heads[i], &record);
		if (rc < 0)
			return rc;
		if (rc == 0)
			heads[i] = heads[--n_heads];
		else
			i++;
	}
	while (n_heads > 0) {
		struct head *first = heads;
		uint64_t until_ns = UINT64_MAX;

		for (struct head *head = heads + 1; head < heads + n_heads; head++)
			if (head->order_ns < first->order_ns)
				first = head;
		for (struct head *head = heads; head < heads + n_heads; head++)
			if (head != first && head->order_ns < until_ns)
				until_ns = head->order_ns;
		do {
			rc = look(first, &record);
			if (rc < 0)
				return rc;
			if (rc == 0) {
				*first = heads[--n_heads];
				break;
			}
			if (first->order_ns > until_ns)
				break;
			rc = place_record(build, first, record);
			if (rc)
				return rc;
			first->at += record_bytes(record);
		} while (true);
	}
	return 0;
}

/* ---- sorting ---- */

/* Records of one task: the one of its exit last, else the newest (exec gives a new name). */
static int by_task(const void *left, const void *right)
{
	const struct index_task *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (!a->end_ns != !b->end_ns)
		return !b->end_ns - !a->end_ns;
	return (a->noted_ns > b->noted_ns) - (a->noted_ns < b->noted_ns);
}

/* Sorts the tasks and keeps the last record of each. */
static void sort_tasks(struct spool_index *index)
{
	struct index_task *tasks = index->tasks;
	size_t n = 0;

	if (index->n_tasks)
		qsort(tasks, index->n_tasks, sizeof(*tasks), by_task);
	for (size_t i = 0; i < index->n_tasks; i++)
		if (i + 1 == index->n_tasks || tasks[i].pid != tasks[i + 1].pid ||
		    tasks[i].tid != tasks[i + 1].tid || tasks[i].start_ns != tasks[i + 1].start_ns)
			tasks[n++] = tasks[i];
	index->n_tasks = n;
}

static int by_key(const void *left, const void *right)
{
	const struct index_group *a = left, *b = right;

	if (a->device != b->device)
		return a->device - b->device;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	return (a->dev > b->dev) - (a->dev < b->dev);
}

/* Gives each group its place in the entries; n begins to count again what is placed. */
static void make_slices(struct build *build)
{
	struct table_group *group, *next;
	uint64_t first = 0;

	HASH_ITER (hh, build->groups, group, next) {
		struct index_slice *slices[] = { &group->group.operations, &group->group.bios,
						 &group->group.owned };

		for (int i = 0; i < 3; i++) {
			slices[i]->first = first;
			first += slices[i]->n;
			slices[i]->n = 0;
		}
	}
	build->index->n_entries = first;
}

static int take_groups(struct build *build)
{
	struct spool_index *index = build->index;
	struct table_group *group, *next;

	index->groups = calloc(HASH_COUNT(build->groups) + 1, sizeof(*index->groups));
	if (!index->groups)
		return out_of_memory(build);
	HASH_ITER (hh, build->groups, group, next) {
		index->groups[index->n_groups++] = group->group;
		index_sort(index, group->group.operations);
		index_sort(index, group->group.bios);
		index_sort(index, group->group.owned);
	}
	qsort(index->groups, index->n_groups, sizeof(*index->groups), by_key);
	return 0;
}

int index_build(struct eta_trace *trace, struct spool_index *index)
{
	struct build build = { .trace = trace, .spool = trace->data, .index = index };
	struct table_group *group, *next;
	struct head *heads;
	size_t n_heads = 0, n_files = 0;
	int rc = 0;

	heads = calloc(build.spool->n_files + 1, sizeof(*heads));
	if (!heads)
		return out_of_memory(&build);
	for (uint32_t i = 0; i < build.spool->n_files; i++)
		n_files += build.spool->files[i].kind == ETA_SPOOL_KERNEL;
	for (uint32_t i = 0; rc == 0 && i < build.spool->n_files; i++) {
		struct spool_file *file = &build.spool->files[i];

		if (file->kind != ETA_SPOOL_KERNEL)
			continue;
		rc = count_file(&build, file, n_files);
		heads[n_heads++] = (struct head){ .file = file, .at = file->view.first };
	}
	if (rc == 0 && names_sort(&build.names, trace))
		rc = out_of_memory(&build);
	if (rc == 0) {
		make_slices(&build);
		rc = index_map(trace, index);
	}
	if (rc == 0)
		rc = place_all(&build, heads, n_heads);
	if (rc == 0)
		names_choose(&build.names, trace);
	if (rc == 0)
		rc = take_groups(&build);
	/* of none, too, there is a first and an end */
	if (rc == 0 && !ARRAY_FITS(index->tasks, index->n_tasks + 1, index->task_room))
		rc = out_of_memory(&build);
	sort_tasks(index);
	/* no event is missing and every nanosecond counts, so this is no loss in the counts */
	if (rc == 0 && index->spans_lost)
		eta_warn("%s: %" PRIu64
			 " intervals inside operations were not recorded: their time "
			 "counts as that of the level around them",
			 trace->path, index->spans_lost);
	HASH_ITER (hh, build.groups, group, next) {
		HASH_DEL(build.groups, group);
		free(group);
	}
	names_free(&build.names);
	free(heads);
	return rc;
}

void index_free(struct spool_index *index)
{
	if (!index)
		return;
	index_unmap(index);
	free(index->groups);
	free(index->tasks);
	free(index->fs);
	free(index->locations);
	free(index->devices);
	free(index->places);
	free(index);
}

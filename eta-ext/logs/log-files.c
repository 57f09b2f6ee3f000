/* Logs: which file a descriptor stands for, and where its position is. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "log-defs.h"
#include "log-files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/*
 * More than programs have open. A log of many forks that does not report their ends must not make
 * us copy tables without end.
 */
enum { DESCRIPTORS_MAX = 1 << 20 };

struct descriptor {
	UT_hash_handle hh;
	int fd;
	struct log_open_file *open;
};

struct table {
	uint32_t users; /* tasks that share it */
	struct descriptor *descriptors;
};

struct task {
	UT_hash_handle hh;
	uint32_t tid;
	struct table *table;
};

struct log_files {
	struct task *tasks;
	uint32_t n_descriptors;
	struct log_open_file *unplaced; /* the last one that found no place; NULL: all did */
	int64_t *sizes;			/* by file, ETA_OFFSET_NONE: unknown */
	uint32_t n_sizes;
};

static struct log_files *files_of(struct log *log)
{
	if (!log->files)
		log->files = calloc(1, sizeof(*log->files));
	return log->files;
}

static void drop_open(struct log_open_file *open)
{
	if (--open->users == 0)
		free(open);
}

static void drop_descriptor(struct log_files *files, struct table *table, struct descriptor *d)
{
	HASH_DEL(table->descriptors, d);
	drop_open(d->open);
	free(d);
	files->n_descriptors--;
}

static void drop_table(struct log_files *files, struct table *table)
{
	struct descriptor *d, *next;

	if (--table->users > 0)
		return;
	HASH_ITER (hh, table->descriptors, d, next)
		drop_descriptor(files, table, d);
	free(table);
}

/* The task TID, made with an empty table, or with TABLE, when it is new. */
static struct task *task_of(struct log *log, uint32_t tid, struct table *table)
{
	struct log_files *files = files_of(log);
	struct task *task = NULL;

	if (!files)
		goto out;
	HASH_FIND(hh, files->tasks, &tid, sizeof(tid), task);
	if (task)
		return task;
	task = calloc(1, sizeof(*task));
	if (!task)
		goto out;
	task->tid = tid;
	task->table = table ? table : calloc(1, sizeof(*table));
	if (task->table) {
		HASH_ADD(hh, files->tasks, tid, sizeof(task->tid), task);
		if (task->hh.tbl) {
			task->table->users++;
			return task;
		}
		if (!table)
			free(task->table);
	}
	free(task);
	task = NULL;
out:
	log_no_memory(log, "its files");
	return task;
}

static struct descriptor *find(const struct task *task, int fd)
{
	struct descriptor *d;

	HASH_FIND_INT(task->table->descriptors, &fd, d);
	return d;
}

/* OPEN may be used until there is no room for the next one. */
static void leave_unplaced(struct log *log, struct log_open_file *open)
{
	struct log_files *files = log->files;

	if (files->unplaced)
		drop_open(files->unplaced);
	else
		eta_warn("%s:%" PRIu64 ": more than %d descriptors are open: which files others "
			 "stand for is not followed",
			 log->trace->path, log->line, DESCRIPTORS_MAX);
	files->unplaced = open;
}

/* FD of TABLE stands for OPEN, which it shares, from now on. */
static int put(struct log *log, struct table *table, int fd, struct log_open_file *open)
{
	struct log_files *files = log->files;
	struct descriptor *d;

	HASH_FIND_INT(table->descriptors, &fd, d);
	open->users++;
	if (d) {
		drop_open(d->open);
		d->open = open;
		return 0;
	}
	if (files->n_descriptors >= DESCRIPTORS_MAX) {
		leave_unplaced(log, open);
		return 0;
	}
	d = calloc(1, sizeof(*d));
	if (d) {
		d->fd = fd;
		d->open = open;
		HASH_ADD_INT(table->descriptors, fd, d);
		if (d->hh.tbl) {
			files->n_descriptors++;
			return 0;
		}
		free(d);
	}
	drop_open(open);
	return log_no_memory(log, "its files");
}

struct log_open_file *log_fd_set_file(struct log *log, uint32_t tid, int fd, uint32_t file,
				      uint32_t flags, int64_t at)
{
	struct task *task = task_of(log, tid, NULL);
	struct log_open_file *open = task ? calloc(1, sizeof(*open)) : NULL;
	bool placed;

	if (!open) {
		if (task)
			log_no_memory(log, "its files");
		return NULL;
	}
	open->users = 1; /* ours, until it has its place */
	open->flags = flags;
	open->at = at;
	open->file = file;
	open->handle = file == ETA_NONE ? ETA_NONE : log_handle(log, file, flags);
	placed = open->handle != ETA_NONE && put(log, task->table, fd, open) == 0;
	drop_open(open);
	return placed ? open : NULL;
}

struct log_open_file *log_fd_set(struct log *log, uint32_t tid, int fd, const char *path,
				 uint32_t flags, int64_t at)
{
	return log_fd_set_file(log, tid, fd, log_file(log, path, 0), flags, at);
}

struct log_open_file *log_fd_open(struct log *log, uint32_t tid, int fd, const char *path,
				  uint32_t flags)
{
	struct log_open_file *open = log_fd_set(log, tid, fd, path, flags, 0);

	if (open && (flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL)) &&
	    log_file_set_size(log, open->file, 0) < 0)
		return NULL;
	return open;
}

struct log_open_file *log_fd_get(struct log *log, uint32_t tid, int fd)
{
	struct task *task = task_of(log, tid, NULL);
	struct descriptor *d = task ? find(task, fd) : NULL;

	return d ? d->open : NULL;
}

void log_fd_close(struct log *log, uint32_t tid, int fd)
{
	struct task *task = task_of(log, tid, NULL);
	struct descriptor *d = task ? find(task, fd) : NULL;

	if (d)
		drop_descriptor(log->files, task->table, d);
}

int log_fd_dup(struct log *log, uint32_t tid, int from, int to)
{
	struct task *task = task_of(log, tid, NULL);
	struct descriptor *d;

	if (!task)
		return -ENOMEM;
	if (from == to)
		return 0;
	d = find(task, from);
	if (d)
		return put(log, task->table, to, d->open);
	log_fd_close(log, tid, to);
	return 0;
}

int log_fd_fork(struct log *log, uint32_t parent_tid, uint32_t child_tid, bool shared)
{
	struct task *parent = task_of(log, parent_tid, NULL), *child;
	struct descriptor *d, *next;
	int rc = 0;

	if (!parent || parent_tid == child_tid)
		return parent ? 0 : -ENOMEM;
	/* the child's lines may come before the parent's call is reported: it keeps its table */
	HASH_FIND(hh, log->files->tasks, &child_tid, sizeof(child_tid), child);
	if (child)
		return 0;
	child = task_of(log, child_tid, shared ? parent->table : NULL);
	if (!child)
		return -ENOMEM;
	if (!shared)
		HASH_ITER (hh, parent->table->descriptors, d, next)
			if (rc == 0)
				rc = put(log, child->table, d->fd, d->open);
	return rc;
}

void log_fd_exit(struct log *log, uint32_t tid)
{
	struct log_files *files = log->files;
	struct task *task = NULL;

	if (files)
		HASH_FIND(hh, files->tasks, &tid, sizeof(tid), task);
	if (!task)
		return;
	drop_table(files, task->table);
	HASH_DEL(files->tasks, task);
	free(task);
}

/* The size of a file as far as the log said it, ETA_OFFSET_NONE: it did not. */
static int64_t size_of_file(struct log *log, uint32_t file)
{
	return log->files && file < log->files->n_sizes ? log->files->sizes[file] : ETA_OFFSET_NONE;
}

int log_file_set_size(struct log *log, uint32_t file, int64_t bytes)
{
	struct log_files *files = files_of(log);

	if (!files)
		return log_no_memory(log, "its files");
	if (file >= files->n_sizes) {
		uint32_t n = file + 64;
		int64_t *sizes = reallocarray(files->sizes, n, sizeof(*sizes));

		if (!sizes)
			return log_no_memory(log, "its files");
		for (uint32_t i = files->n_sizes; i < n; i++)
			sizes[i] = ETA_OFFSET_NONE;
		files->sizes = sizes;
		files->n_sizes = n;
	}
	files->sizes[file] = bytes;
	return 0;
}

int64_t log_file_transfer(struct log *log, struct log_open_file *open, bool write, int64_t wanted,
			  int64_t transferred)
{
	bool own = wanted == ETA_OFFSET_NONE; /* read, write: at the position, which moves */
	int64_t size = size_of_file(log, open->file), begin = own ? open->at : wanted, end;

	if (write && own && open->flags & O_APPEND)
		begin = size;
	if (begin == ETA_OFFSET_NONE || __builtin_add_overflow(begin, transferred, &end)) {
		if (own)
			open->at = ETA_OFFSET_NONE;
		return begin;
	}
	if (transferred <= 0)
		return begin;
	if (own)
		open->at = end;
	if (write && size != ETA_OFFSET_NONE && end > size)
		log_file_set_size(log, open->file, end);
	return begin;
}

void log_files_free(struct log *log)
{
	struct log_files *files = log->files;
	struct task *task, *next;

	if (!files)
		return;
	HASH_ITER (hh, files->tasks, task, next) {
		drop_table(files, task->table);
		HASH_DEL(files->tasks, task);
		free(task);
	}
	if (files->unplaced)
		drop_open(files->unplaced);
	free(files->sizes);
	free(files);
	log->files = NULL;
}

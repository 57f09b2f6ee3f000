/* Where the CPUs' files keep their last records: what those refer to, in a file of its own. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/fnv.h"
#include "eta-ext/format/spool-budget.h"
#include "internal.h"

#define WINDOW_BYTES ((size_t)64 << 10)
#define N_KNOWN ((size_t)1 << 16)
/*
 * What the file may take: this part of the size of --last, and so much at least. The rings fill
 * while it is trimmed: so much at most.
 */
#define PART_OF_BUDGET 4
#define LEAST_BYTES ((uint64_t)1 << 20)
#define MOST_BYTES ((uint64_t)64 << 20)
/* For so many bytes of it one file or task is known to be in use: less than half with their names.
 */
#define BYTES_PER_USED 512

struct definitions {
	struct spool spool;
	/* hashes of what was stored, each at a place of its own: what takes the place of another is
	 * stored once more */
	uint64_t known[N_KNOWN];
	/* the same of files and tasks of which something was recorded lately */
	uint64_t *used;
	size_t n_used;
	uint64_t most_bytes, trim_bytes; /* that it may have; with how many it is trimmed */
	pthread_mutex_t lock;		 /* of putting another file in its place, */
	bool fixed;			 /* which is not done any more */
};

int definitions_new(struct kernelio *k, struct definitions **out)
{
	struct eta_spool_header header;
	char path[PATH_MAX + 32];
	int rc;

	*out = NULL;
	if (!k->options.budget || !k->options.budget->keeps_last)
		return 0;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	pthread_mutex_init(&(*out)->lock, NULL);
	(*out)->most_bytes = k->options.budget->left / PART_OF_BUDGET;
	if ((*out)->most_bytes < LEAST_BYTES)
		(*out)->most_bytes = LEAST_BYTES;
	if ((*out)->most_bytes > MOST_BYTES)
		(*out)->most_bytes = MOST_BYTES;
	(*out)->trim_bytes = (*out)->most_bytes;
	(*out)->n_used = (*out)->most_bytes / BYTES_PER_USED;
	(*out)->used = calloc((*out)->n_used, sizeof(*(*out)->used));
	if (!(*out)->used)
		return -ENOMEM;
	meta_header(&header, ETA_SPOOL_KERNEL);
	header.flags = ETA_SPOOL_DEFINITIONS;
	snprintf(path, sizeof(path), "%s/cpu.definitions", k->directory);
	rc = spool_create(&(*out)->spool, path, &header, WINDOW_BYTES, WINDOW_BYTES);
	if (rc)
		eta_error("%s/cpu.definitions: cannot create (%s)", k->options.name, strerror(-rc));
	return rc;
}

void definitions_free(struct definitions *definitions)
{
	if (definitions) {
		spool_close(&definitions->spool);
		pthread_mutex_destroy(&definitions->lock);
		free(definitions->used);
	}
	free(definitions);
}

struct spool *definitions_spool(struct definitions *definitions)
{
	return &definitions->spool;
}

bool definitions_take(const struct eta_record_head *head)
{
	return head->type == ETA_RECORD_FILE || head->type == ETA_RECORD_TASK ||
	       head->type == ETA_RECORD_LOSS;
}

bool definitions_known(struct definitions *definitions, const struct eta_record_head *head,
		       const void *rest, size_t rest_bytes)
{
	struct {
		struct eta_record_head head;
		unsigned char rest[KERNELIO_PATH_BYTES * 2 + sizeof(struct eta_file_record)];
	} record = { .head = *head };
	struct eta_file_record *file = (void *)&record;
	struct eta_task_record *task = (void *)&record;
	uint64_t hash, *place;

	if (head->type == ETA_RECORD_LOSS || rest_bytes > sizeof(record.rest))
		return false;
	memcpy(record.rest, rest, rest_bytes);
	/* when it was met says nothing new */
	if (head->type == ETA_RECORD_FILE) {
		record.head.time_ns = record.head.end_ns = 0;
		file->prev = 0;
	} else {
		task->noted_ns = 0;
	}
	hash = fnv_add(FNV_BEGIN, &record, sizeof(record.head) + rest_bytes);
	place = &definitions->known[hash % N_KNOWN];
	if (*place == hash)
		return true;
	*place = hash;
	return false;
}

/* ---- what is not needed any more ---- */

/* Of a file, or of a task; not 0. For each operation: by multiplication, as Fibonacci hashing. */
static uint64_t file_key(uint32_t dev, uint64_t inode)
{
	const uint64_t hash = (inode ^ (uint64_t)dev << 32) * 0x9e3779b97f4a7c15;

	return (hash ^ hash >> 32) | 1;
}

static uint64_t task_key(uint32_t tid)
{
	return file_key(UINT32_MAX, tid);
}

static size_t used_place(const struct definitions *definitions, uint64_t key)
{
	return (size_t)(key / 2 % definitions->n_used);
}

static void use(struct definitions *definitions, uint64_t key)
{
	definitions->used[used_place(definitions, key)] = key;
}

void definitions_used(struct definitions *definitions, const struct eta_record_head *head)
{
	const struct eta_kernel_op *op = (const void *)head;
	const struct eta_bio_record *bio = (const void *)head;

	switch (head->type) {
	case ETA_RECORD_KERNEL_OP:
	case ETA_RECORD_ASYNC_OP:
		use(definitions, file_key(op->dev, op->inode));
		use(definitions, task_key(head->id));
		break;
	case ETA_RECORD_BIO:
		use(definitions, file_key(bio->file_dev, bio->inode));
		use(definitions, task_key(bio->owner_tid));
		break;
	default:
		break;
	}
}

/* All records of the file, which the caller frees; NULL: they cannot be read. *BYTES of them. */
static unsigned char *read_back(const struct spool *spool, size_t *bytes)
{
	size_t stored = (size_t)(spool->base_offset - ETA_SPOOL_HEADER_BYTES), done = 0;
	size_t window = (size_t)(spool->next - spool->base);
	unsigned char *records = calloc(1, stored + window + 1);
	int fd = records ? spool_reopen(spool) : -1;

	while (fd >= 0 && done < stored) {
		ssize_t n = pread(fd, records + done, stored - done,
				  (off_t)(spool_place(spool, ETA_SPOOL_HEADER_BYTES) + done));

		if (n <= 0 && !(n < 0 && errno == EINTR))
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (fd < 0 || done < stored) {
		free(records);
		return NULL;
	}
	memcpy(records + stored, spool->base, window);
	*bytes = stored + window;
	return records;
}

static uint64_t key_of(const struct eta_record_head *head)
{
	const struct eta_file_record *file = (const void *)head;

	return head->type == ETA_RECORD_FILE ? file_key(file->dev, file->inode)
					     : task_key(head->id);
}

/* Where the records begin, in a list that the caller frees. *N of them. NULL: no memory. */
static size_t *places_of(const unsigned char *records, size_t bytes, size_t *n)
{
	size_t *at = malloc((bytes / ETA_UNIT_BYTES + 1) * sizeof(*at));

	if (!at)
		return NULL;
	*n = 0;
	for (size_t next = 0; next < bytes;) {
		const struct eta_record_head *head = (const void *)(records + next);

		if (!head->units)
			break;
		at[(*n)++] = next;
		next += (size_t)head->units * ETA_UNIT_BYTES;
	}
	return at;
}

/*
 * Which of the N records at AT stay: of each file and task that is in use the last one, what was
 * lost, and of the rest the last ones, up to MOST bytes in all.
 */
static void choose(struct definitions *definitions, const unsigned char *records, const size_t *at,
		   size_t n, uint64_t most, bool *stays)
{
	uint64_t bytes = 0;

	for (size_t i = n; i-- > 0;) {
		const struct eta_record_head *head = (const void *)(records + at[i]);
		uint64_t key = key_of(head),
			 *used = &definitions->used[used_place(definitions, key)];

		stays[i] = *used == key || head->type == ETA_RECORD_LOSS;
		if (*used == key)
			*used = 0; /* those before have a name from before */
		bytes += stays[i] ? (uint64_t)head->units * ETA_UNIT_BYTES : 0;
	}
	for (size_t i = n; i-- > 0 && bytes < most;) {
		const struct eta_record_head *head = (const void *)(records + at[i]);

		if (stays[i])
			continue;
		stays[i] = true;
		bytes += (uint64_t)head->units * ETA_UNIT_BYTES;
	}
}

/* Puts HEAD's record into TO. False: there is no room. */
static bool put(struct spool *to, const struct eta_record_head *head)
{
	size_t bytes = (size_t)head->units * ETA_UNIT_BYTES;
	unsigned char *at = spool_take(to, bytes);

	if (!at)
		return false;
	memcpy(at + sizeof(*head), head + 1, bytes - sizeof(*head));
	if (head->type == ETA_RECORD_FILE) {
		((struct eta_file_record *)at)->prev = to->header->last_file;
		to->header->last_file = spool_offset(to, at);
	}
	spool_put_head(at, head);
	return true;
}

/* A file with those that stay takes the place of the file. */
static bool replace(struct definitions *definitions, const unsigned char *records, const size_t *at,
		    size_t n, const bool *stays)
{
	struct spool *old = &definitions->spool, fresh;
	char path[PATH_MAX];
	bool ok;

	snprintf(path, sizeof(path), "%.*s" KERNELIO_DEFINITIONS_NEW,
		 (int)(strrchr(old->path, '/') + 1 - old->path), old->path);
	if (spool_create(&fresh, path, old->header, WINDOW_BYTES, WINDOW_BYTES))
		return false;
	/* it is that of another place */
	fresh.header->last_file = fresh.header->stored = 0;
	ok = true;
	for (size_t i = 0; ok && i < n; i++)
		ok = !stays[i] || put(&fresh, (const void *)(records + at[i]));
	ok = ok && rename(path, old->path) == 0;
	if (!ok) {
		spool_abandon(&fresh);
		unlink(path);
		return false;
	}
	strcpy(fresh.path, old->path);
	spool_abandon(old);
	*old = fresh;
	memset(definitions->known, 0, sizeof(definitions->known));
	return true;
}

static void trim(struct definitions *definitions)
{
	size_t bytes = 0, n = 0;
	unsigned char *records = read_back(&definitions->spool, &bytes);
	size_t *at = records ? places_of(records, bytes, &n) : NULL;
	bool *stays = at ? calloc(n + 1, sizeof(*stays)) : NULL;

	if (stays) {
		choose(definitions, records, at, n, definitions->most_bytes / 2, stays);
		replace(definitions, records, at, n, stays);
	}
	free(stays);
	free(at);
	free(records);
}

static uint64_t bytes_of(const struct spool *spool)
{
	return spool->base_offset + (uint64_t)(spool->next - spool->base);
}

void definitions_trim(struct definitions *definitions)
{
	if (bytes_of(&definitions->spool) < definitions->trim_bytes)
		return;
	pthread_mutex_lock(&definitions->lock);
	if (!definitions->fixed)
		trim(definitions);
	/* also if that failed: it is tried again later */
	definitions->trim_bytes = bytes_of(&definitions->spool) + definitions->most_bytes / 2;
	pthread_mutex_unlock(&definitions->lock);
}

void definitions_fix(struct definitions *definitions)
{
	pthread_mutex_lock(&definitions->lock);
	definitions->fixed = true;
	pthread_mutex_unlock(&definitions->lock);
}

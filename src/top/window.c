/* The records of the last seconds, of a kernel tracer that goes on recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "window.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/record.h"
#include "eta-ext/spool/live.h"

/* More than that, and those of files, and of tasks not traced, are forgotten, the oldest first. */
#define MAX_NAMES (1U << 12)
#define MAX_TRIES 64 /* while the tracer moves its window on */

/* Records that were read at one time. */
struct chunk {
	struct chunk *next;
	uint64_t taken_ns;
	size_t bytes;
	unsigned char records[];
};

/* A file of the spool. */
struct source {
	char name[32];
	int fd;
	bool is_meta;  /* names and places: all of it is kept */
	uint64_t done; /* offset of the next record */
	struct eta_spool_header header;
	struct chunk *first, **last;
};

/* The last record that names a task or a file, whenever that was. */
struct name {
	struct {
		uint64_t a, b; /* of a task pid and tid, start; of a file dev, inode */
		uint64_t type;
	} key;
	size_t bytes;
	UT_hash_handle hh;
	struct eta_record_head record[];
};

struct window {
	int spool;
	bool consumes;
	struct source *sources;
	size_t n_sources;
	struct name *names;
	unsigned char *buffer;
	size_t room;
};

static int no_memory(void)
{
	eta_error("not enough memory for what was recorded: give a shorter --window");
	return -ENOMEM;
}

struct window *window_new(int spool, bool consumes)
{
	struct window *w = calloc(1, sizeof(*w));

	if (w)
		*w = (struct window){ .spool = spool, .consumes = consumes };
	else
		no_memory();
	return w;
}

void window_free(struct window *w)
{
	struct name *name, *next_name;

	if (!w)
		return;
	for (size_t i = 0; i < w->n_sources; i++) {
		for (struct chunk *c = w->sources[i].first, *next; c; c = next) {
			next = c->next;
			free(c);
		}
		close(w->sources[i].fd);
	}
	HASH_ITER (hh, w->names, name, next_name) {
		HASH_DEL(w->names, name);
		free(name);
	}
	free(w->sources);
	free(w->buffer);
	free(w);
}

static int find_sources(struct window *w)
{
	int fd = openat(w->spool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	int rc = dir ? 0 : -errno;

	/* analyzer: without a folder RC is an error */
	for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
		bool is_meta = strcmp(entry->d_name, "meta") == 0;
		struct source *sources;

		if (!is_meta && strncmp(entry->d_name, "cpu.", 4) != 0)
			continue;
		sources = reallocarray(w->sources, w->n_sources + 1, sizeof(*sources));
		if (!sources) {
			rc = no_memory();
			break;
		}
		w->sources = sources;
		sources += w->n_sources;
		*sources = (struct source){ .is_meta = is_meta, .done = ETA_SPOOL_HEADER_BYTES };
		snprintf(sources->name, sizeof(sources->name), "%.31s", entry->d_name);
		sources->fd = openat(w->spool, entry->d_name, O_RDWR | O_CLOEXEC);
		if (sources->fd < 0)
			rc = -errno;
		else
			w->n_sources++;
	}
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < w->n_sources; i++)
		w->sources[i].last = &w->sources[i].first;
	if (rc && rc != -ENOMEM)
		eta_error("what was recorded cannot be opened: %s", strerror(-rc));
	return rc;
}

/* ---- from the spool ---- */

static int read_at(const struct source *s, void *to, size_t bytes, uint64_t at, size_t *got)
{
	ssize_t n = pread(s->fd, to, bytes, (off_t)at);

	*got = n < 0 ? 0 : (size_t)n;
	return n < 0 ? -errno : 0;
}

/*
 * What is new, into the buffer: what was appended to the file, then the window, which is cut where
 * its records end. 1: the tracer moved the window on meanwhile; 0 or -errno.
 */
static int read_once(struct window *w, struct source *s, size_t *bytes)
{
	struct eta_spool_header *h = &s->header, after;
	uint64_t window_at, window_bytes, from;
	size_t stored = 0, got;
	ssize_t whole;
	struct stat st;
	int rc = read_at(s, h, sizeof(*h), 0, &got);

	*bytes = 0;
	if (rc || got < sizeof(*h) || memcmp(h->magic, ETA_SPOOL_MAGIC, sizeof(h->magic)) != 0)
		return rc;
	if (fstat(s->fd, &st) < 0)
		return -errno;
	window_at = h->stored ? h->window_at : ETA_SPOOL_HEADER_BYTES;
	window_bytes = h->stored ? h->window_bytes : (uint64_t)st.st_size - ETA_SPOOL_HEADER_BYTES;
	if (h->stored > s->done)
		stored = (size_t)(h->stored - s->done);
	if (stored + window_bytes > w->room) {
		unsigned char *buffer = realloc(w->buffer, stored + window_bytes);

		if (!buffer)
			return no_memory();
		w->buffer = buffer;
		w->room = stored + window_bytes;
	}
	rc = read_at(s, w->buffer, stored, s->done + h->window_bytes, bytes);
	from = s->done + stored;
	if (rc == 0 && *bytes == stored && from >= window_at && from < window_at + window_bytes) {
		const uint64_t at = from - window_at + ETA_SPOOL_HEADER_BYTES;

		rc = read_at(s, w->buffer + stored, window_bytes - (from - window_at), at, &got);
		whole = live_records(s->fd, w->buffer + stored, got, at);
		if (rc == 0 && whole < 0)
			rc = (int)whole;
		else
			*bytes += (size_t)whole;
	}
	if (rc == 0)
		rc = read_at(s, &after, sizeof(after), 0, &got);
	return rc ? rc : after.stored != h->stored || after.window_at != h->window_at;
}

/* Remembers what RECORD names; 0 or -ENOMEM. */
static int learn(struct window *w, const struct eta_record_head *record)
{
	size_t bytes = (size_t)record->units * ETA_UNIT_BYTES;
	struct name *name = calloc(1, sizeof(*name) + bytes), *older;

	if (!name)
		return no_memory();
	name->bytes = bytes;
	memcpy(name->record, record, bytes);
	name->key.type = record->type;
	if (record->type == ETA_RECORD_TASK) {
		const struct eta_task_record *task = (const void *)record;

		name->key.a = (uint64_t)task->pid << 32 | record->id;
		name->key.b = record->time_ns;
	} else {
		const struct eta_file_record *file = (const void *)record;

		name->key.a = file->dev;
		name->key.b = file->inode;
	}
	/* the list is in the order of their last records */
	HASH_FIND(hh, w->names, &name->key, sizeof(name->key), older);
	if (older) {
		HASH_DEL(w->names, older);
		free(older);
	}
	HASH_ADD(hh, w->names, key, sizeof(name->key), name);
	return 0;
}

/* The records in the BYTES of the buffer: how many bytes they have. */
static int walk(struct window *w, const struct source *s, size_t bytes, size_t *whole)
{
	int rc = 0;

	for (*whole = 0; rc == 0 && bytes - *whole >= ETA_UNIT_BYTES;) {
		const struct eta_record_head *head = (const void *)(w->buffer + *whole);
		size_t length = (size_t)head->units * ETA_UNIT_BYTES;

		if (head->type == ETA_RECORD_END || length == 0 || length > bytes - *whole)
			break;
		if (!s->is_meta && (head->type == ETA_RECORD_TASK || head->type == ETA_RECORD_FILE))
			rc = learn(w, head);
		*whole += length;
	}
	return rc;
}

static int read_source(struct window *w, struct source *s, uint64_t now_ns)
{
	struct chunk *chunk;
	size_t bytes = 0;
	int rc = 1;

	for (int tries = 0; rc == 1 && tries < MAX_TRIES; tries++)
		rc = read_once(w, s, &bytes);
	if (rc == 1) /* next time: nothing is lost */
		return 0;
	if (rc == 0)
		rc = walk(w, s, bytes, &bytes);
	if (rc || bytes == 0)
		return rc;
	chunk = malloc(sizeof(*chunk) + bytes);
	if (!chunk)
		return no_memory();
	chunk->next = NULL;
	chunk->taken_ns = now_ns;
	chunk->bytes = bytes;
	memcpy(chunk->records, w->buffer, bytes);
	*s->last = chunk;
	s->last = &chunk->next;
	s->done += bytes;
	/* the tracer never reads it again; the memory is what there is to lose */
	if (w->consumes && !s->is_meta && s->header.stored > ETA_SPOOL_HEADER_BYTES)
		(void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)(ETA_SPOOL_HEADER_BYTES + s->header.window_bytes),
				(off_t)(s->header.stored - ETA_SPOOL_HEADER_BYTES));
	return 0;
}

static void forget(struct window *w, uint64_t since_ns)
{
	unsigned left = HASH_COUNT(w->names);
	struct name *name, *next;

	for (size_t i = 0; i < w->n_sources; i++) {
		struct source *s = &w->sources[i];

		while (s->first && s->first->taken_ns < since_ns && !s->is_meta) {
			struct chunk *chunk = s->first;

			s->first = chunk->next;
			free(chunk);
		}
		if (!s->first)
			s->last = &s->first;
	}
	HASH_ITER (hh, w->names, name, next) {
		const struct eta_record_head *r = name->record;
		bool traced = r->type == ETA_RECORD_TASK && !(r->flags & ETA_TASK_UNTRACED);
		bool ended = traced && r->end_ns && r->end_ns < since_ns;

		if (!ended && (traced || left <= MAX_NAMES))
			continue;
		left--;
		HASH_DEL(w->names, name);
		free(name);
	}
}

int window_read(struct window *w, uint64_t now_ns, uint64_t since_ns)
{
	int rc = w->n_sources ? 0 : find_sources(w);

	for (size_t i = 0; rc == 0 && i < w->n_sources; i++) {
		rc = read_source(w, &w->sources[i], now_ns);
		if (rc && rc != -ENOMEM)
			eta_error("what was recorded cannot be read: %s", strerror(-rc));
	}
	if (rc == 0)
		forget(w, since_ns);
	return rc;
}

/* ---- to a spool of its own ---- */

static bool put_source(const struct window *w, const struct source *s, bool with_names, FILE *out)
{
	static const unsigned char zeros[ETA_SPOOL_HEADER_BYTES];
	struct eta_spool_header header = s->header;
	bool ok;

	/* records one behind the other, no window */
	header.stored = header.window_at = header.window_bytes = 0;
	header.last_file = header.last_thread = 0;
	ok = fwrite(&header, sizeof(header), 1, out) == 1 &&
	     fwrite(zeros, ETA_SPOOL_HEADER_BYTES - sizeof(header), 1, out) == 1;
	for (const struct name *name = with_names ? w->names : NULL; ok && name;
	     name = name->hh.next)
		ok = fwrite(name->record, name->bytes, 1, out) == 1;
	for (const struct chunk *c = s->first; ok && c; c = c->next)
		ok = fwrite(c->records, c->bytes, 1, out) == 1;
	return ok;
}

int window_write(const struct window *w, int folder)
{
	bool with_names = true;

	for (size_t i = 0; i < w->n_sources; i++) {
		const struct source *s = &w->sources[i];
		int fd = openat(folder, s->name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
		int rc = out ? 0 : -errno;

		if (out && !put_source(w, s, with_names && !s->is_meta, out))
			rc = -errno;
		/* the memory of the one before is used again: it need not be given back first */
		if (rc == 0 && (fflush(out) == EOF || ftruncate(fd, ftello(out)) < 0))
			rc = -errno;
		if (out && fclose(out) != 0 && rc == 0)
			rc = -errno;
		else if (!out && fd >= 0)
			close(fd);
		with_names = with_names && s->is_meta;
		if (rc) {
			eta_error("what was recorded cannot be put together: %s", strerror(-rc));
			return rc;
		}
	}
	return 0;
}

/* A copy of a recording while it goes on. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"
#include "snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/format/record.h"
#include "eta-ext/spool/live.h"
#include "plugins/kernelio/kernelio.h"
#include "recording-folder.h"
#include "watch.h"

#define TRIES 1000		       /* at a window that is appended meanwhile */
#define WINDOW_MOST ((size_t)64 << 20) /* no tracer has more than one MiB */
#define PIECE ((size_t)1 << 20)

/* ---- a file ---- */

/* What a file of a spool holds while its writer goes on. */
struct copy {
	int from, to;
	union {
		struct eta_spool_header header;
		unsigned char bytes[ETA_SPOOL_HEADER_BYTES];
	} head;
	unsigned char *window;
	size_t n; /* bytes of it */
};

/* Reads BYTES at PLACE, as far as the file goes; how many, or -errno. */
static ssize_t read_at(int fd, void *to, size_t bytes, uint64_t place)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(fd, (char *)to + done, bytes - done, (off_t)(place + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static int write_at(int fd, const void *from, size_t bytes, uint64_t place)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n =
			pwrite(fd, (const char *)from + done, bytes - done, (off_t)(place + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

static bool is_same_place(const struct eta_spool_header *a, const struct eta_spool_header *b)
{
	return a->stored == b->stored && a->window_at == b->window_at && a->kept == b->kept &&
	       a->ring_bytes == b->ring_bytes;
}

/*
 * The header was read before the window: threads and files may have come to its WHOLE bytes of
 * records since.
 */
static void find_newest(struct copy *c, size_t whole)
{
	struct eta_spool_header *header = &c->head.header;
	const uint64_t first = header->stored ? header->window_at : ETA_SPOOL_HEADER_BYTES;

	for (size_t at = 0; at < whole;) {
		const struct eta_record_head *head = (const void *)(c->window + at);

		if (head->type == ETA_RECORD_THREAD && first + at > header->last_thread)
			header->last_thread = first + at;
		if (head->type == ETA_RECORD_FILE && first + at > header->last_file)
			header->last_file = first + at;
		at += (size_t)head->units * ETA_UNIT_BYTES;
	}
}

/* The header and the window of one moment: none was appended while they were read. 0, -errno. */
static int read_window(struct copy *c)
{
	struct eta_spool_header after;
	struct stat st;

	for (unsigned i = 0; i < TRIES; i++) {
		const struct eta_spool_header *header = &c->head.header;
		ssize_t n = read_at(c->from, c->head.bytes, sizeof(c->head.bytes), 0);
		size_t room, whole;

		if (n < 0 || fstat(c->from, &st) != 0)
			return n < 0 ? (int)n : -errno;
		c->n = 0;
		if (n < (ssize_t)sizeof(c->head.bytes))
			return 0; /* its writer has not come further, or was cut off */
		room = (size_t)(st.st_size - ETA_SPOOL_HEADER_BYTES);
		if (header->stored && room > header->window_bytes)
			room = header->window_bytes;
		if (room > WINDOW_MOST)
			return -EBADMSG;
		free(c->window);
		c->window = malloc(room + 1);
		if (!c->window)
			return -ENOMEM;
		n = read_at(c->from, c->window, room, ETA_SPOOL_HEADER_BYTES);
		if (n < 0)
			return (int)n;
		c->n = (size_t)n;
		n = live_records(c->from, c->window, c->n, ETA_SPOOL_HEADER_BYTES);
		if (n < 0)
			return (int)n;
		whole = (size_t)n;
		n = read_at(c->from, &after, sizeof(after), 0);
		if (n < 0)
			return (int)n;
		if (is_same_place(header, &after)) {
			find_newest(c, whole);
			return 0;
		}
	}
	return -EBUSY;
}

/* Copies BYTES from PLACE on, to the same place. */
static int copy_rest(const struct copy *c, uint64_t place, uint64_t bytes)
{
	unsigned char *piece = malloc(PIECE);
	int rc = piece ? 0 : -ENOMEM;

	while (rc == 0 && bytes > 0) {
		ssize_t n = read_at(c->from, piece, bytes < PIECE ? (size_t)bytes : PIECE, place);

		if (n <= 0) {
			rc = (int)n; /* shorter than it should be: so is the copy */
			break;
		}
		rc = write_at(c->to, piece, (size_t)n, place);
		place += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	free(piece);
	return rc;
}

/*
 * The windows that were appended. Where they go round, the oldest may have been written over
 * meanwhile: those are gone from the copy, too. 0, -errno; 1: so have all of them.
 */
static int copy_appended(struct copy *c)
{
	struct eta_spool_header *header = &c->head.header, after;
	uint64_t bytes = header->stored ? header->stored - ETA_SPOOL_HEADER_BYTES : 0;
	ssize_t n;
	int rc;

	if (header->ring_bytes && bytes > header->ring_bytes)
		bytes = header->ring_bytes;
	rc = copy_rest(c, ETA_SPOOL_HEADER_BYTES + header->window_bytes, bytes);
	if (rc || !header->ring_bytes)
		return rc;
	n = read_at(c->from, &after, sizeof(after), 0);
	if (n < 0)
		return (int)n;
	if (after.kept > header->stored)
		return 1;
	header->kept = after.kept;
	header->overwritten_ns = after.overwritten_ns;
	memcpy(header->overwritten, after.overwritten, sizeof(header->overwritten));
	return 0;
}

static int copy_open(struct copy *c)
{
	int rc;

	for (unsigned i = 0; i < TRIES; i++) {
		rc = read_window(c);
		if (rc == 0)
			rc = copy_appended(c);
		if (rc <= 0)
			break;
	}
	if (rc == 0)
		rc = write_at(c->to, c->window, c->n, ETA_SPOOL_HEADER_BYTES);
	/* last: without it the rest is nothing */
	return rc ? rc : write_at(c->to, c->head.bytes, sizeof(c->head.bytes), 0);
}

/* File NAME of folder FROM as AS in TO; one that has gone meanwhile is none. */
static int copy_file(int from, const char *name, int to, const char *as)
{
	struct copy c = { .to = -1 };
	struct stat st;
	int rc = 0;

	c.from = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (c.from < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(c.from, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(c.from);
		return 0; /* nothing that a reader would look at */
	}
	c.to = openat(to, as, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	rc = c.to < 0 ? -errno : copy_open(&c);
	if (c.to >= 0 && close(c.to) != 0 && rc == 0)
		rc = -errno;
	close(c.from);
	free(c.window);
	return rc;
}

/* ---- a spool ---- */

/* All files of FROM whose names begin with PREFIX. */
static int copy_like(int from, const char *prefix, int to)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	while (rc == 0 && (entry = readdir(dir)))
		if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			rc = copy_file(from, entry->d_name, to, entry->d_name);
	closedir(dir);
	return rc;
}

/* What the tracer has written of the present, and without one what it left. */
static int copy_meta(int from, int to)
{
	struct stat st;
	bool now = fstatat(from, KERNELIO_SNAPSHOT, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int rc = copy_file(from, now ? KERNELIO_SNAPSHOT : "meta", to, "meta");

	if (now)
		unlinkat(from, KERNELIO_SNAPSHOT, 0);
	return rc;
}

static int copy_kernel(int from, int to)
{
	int rc = copy_like(from, "cpu.", to);

	return rc ? rc : copy_meta(from, to);
}

/* What threads did, then what that refers to. */
static int copy_user(int from, int to)
{
	int rc = copy_like(from, "user.", to);

	return rc ? rc : copy_like(from, "process.", to);
}

/* Spool NAME of folder FROM, if it has one, into folder TO, which is called SHOWN. */
static int copy_spool(int from, const char *name, const struct folder *to, const char *shown,
		      int (*copy)(int from, int to), unsigned *n)
{
	int spool = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int made, rc;
	bool is_new;

	if (spool < 0)
		return errno == ENOENT ? 0 : -errno;
	made = folder_take_below(to->fd, shown, name, 0700, &is_new);
	rc = made < 0 ? made : is_new ? copy(spool, made) : -EEXIST;
	++*n;
	if (made >= 0)
		close(made);
	close(spool);
	return rc;
}

/* ---- a recording ---- */

static int copy_both(const char *directory, int from, const struct folder *to, const char *shown)
{
	unsigned n = 0;
	int rc = watch_snapshot(directory);

	/* one soon after the other, the kernel's side last: it has all that the calls did */
	if (rc == 0)
		rc = copy_spool(from, USER_SPOOL, to, shown, copy_user, &n);
	if (rc == 0)
		rc = copy_spool(from, KERNEL_SPOOL, to, shown, copy_kernel, &n);
	if (rc == 0 && n == 0) {
		eta_error("%s: holds no recording (" USER_SPOOL ", " KERNEL_SPOOL ")", directory);
		return -ENOENT;
	}
	if (rc)
		eta_error("%s: cannot be copied to %s (%s)", directory, shown, strerror(-rc));
	return rc;
}

static void undo(const struct folder *to, const char *shown)
{
	static const char *const files[] = { "cpu.*", "meta", "user.*", "process.*", NULL };

	folder_remove(to->fd, USER_SPOOL, shown, 1, files);
	folder_remove(to->fd, KERNEL_SPOOL, shown, 1, files);
	if (to->made)
		unlinkat(to->parent, to->name, AT_REMOVEDIR);
}

/* Whoever may read the recording may read its copy. */
static void set_mode(const struct folder *to, mode_t mode)
{
	static const char *const spools[] = { USER_SPOOL, KERNEL_SPOOL };

	for (size_t i = 0; mode != 0600 && i < sizeof(spools) / sizeof(*spools); i++) {
		int fd = openat(to->fd, spools[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 &&
		    (folder_set_modes(fd, mode) != 0 || fchmod(fd, folder_mode(mode)) != 0))
			eta_warn("%s: cannot be given mode %03o", spools[i], (unsigned)mode);
		if (fd >= 0)
			close(fd);
	}
}

/* Is there a spool in TO already? It is somebody's recording. */
static bool is_taken(const struct folder *to)
{
	struct stat st;

	return fstatat(to->fd, USER_SPOOL, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       fstatat(to->fd, KERNEL_SPOOL, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int snapshot_take(const char *directory, const char *output, mode_t mode)
{
	int from = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;
	struct folder to;
	char *name = NULL;
	size_t n = strlen(directory);

	if (from < 0) {
		rc = -errno;
		eta_error("%s: cannot be opened (%s)", directory, strerror(-rc));
		return rc;
	}
	while (n > 1 && directory[n - 1] == '/')
		n--;
	if (!output && asprintf(&name, "%.*s.snapshot", (int)n, directory) < 0) {
		close(from);
		return -ENOMEM;
	}
	if (!output)
		output = name;
	rc = folder_take(output, folder_mode(mode), &to);
	if (rc == 0) {
		if (is_taken(&to)) {
			rc = -EEXIST;
			eta_error("%s: a recording is there already (-o names another folder)",
				  output);
		} else {
			rc = copy_both(directory, from, &to, output);
			if (rc)
				undo(&to, output);
			else
				set_mode(&to, mode);
		}
		if (rc == 0)
			eta_note("snapshot: %s (sci-merge %s -o X.otf2)", output, output);
		folder_close(&to);
	}
	close(from);
	free(name);
	return rc;
}

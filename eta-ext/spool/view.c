/* Reading one spool file. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"

#define MAX_NAMED 4 /* damaged files of a spool that are reported by name */
#define MAX_WINDOW_BYTES ((uint64_t)1 << 30) /* no tracer has more than one MiB */

/* The least a record of a type must hold, in units; 0: nothing is known of the type. */
static const uint8_t least_units[] = {
	[ETA_RECORD_USER_OP] = 2, [ETA_RECORD_KERNEL_OP] = 2, [ETA_RECORD_BIO] = 3,
	[ETA_RECORD_WAIT] = 2,	  [ETA_RECORD_FILE] = 2,      [ETA_RECORD_TASK] = 3,
	[ETA_RECORD_NAME] = 1,	  [ETA_RECORD_PROPERTY] = 1,  [ETA_RECORD_LOSS] = 2,
	[ETA_RECORD_THREAD] = 2,  [ETA_RECORD_MODULE] = 2,    [ETA_RECORD_STACK] = 1,
	[ETA_RECORD_RPC] = 2,
};

static int out_of_memory(const struct spool_view *view)
{
	eta_error("%s: not enough memory to read it", view->path);
	return -ENOMEM;
}

int spool_view_damage(struct spool_view *view, const char *what, uint64_t offset)
{
	uint32_t n;

	view->damaged = true;
	if (__atomic_exchange_n(&view->damage->found, true, __ATOMIC_RELAXED))
		return 0;
	n = __atomic_fetch_add(view->damage->files, 1, __ATOMIC_RELAXED);
	if (n < MAX_NAMED)
		eta_warn("%s: %s at byte %" PRIu64 ": what is behind is left out", view->path, what,
			 offset);
	else if (n == MAX_NAMED)
		eta_warn("%s: more of its files are damaged (the counts have them as bad)",
			 view->path);
	return 0;
}

/* The file cannot be read at all, by errno ERROR. */
static int unreadable(struct spool_view *view, int error)
{
	char what[128];

	if (error == EMFILE || error == ENFILE) {
		eta_error("%s: cannot open: %s (ulimit -n N allows more)", view->path,
			  strerror(error));
		return -error;
	}
	snprintf(what, sizeof(what), "cannot be read (%s)", strerror(error));
	view->size = 0;
	return spool_view_damage(view, what, 0);
}

bool spool_version_is_known(uint32_t version)
{
	return version == ETA_SPOOL_VERSION || version == ETA_SPOOL_VERSION_LAST;
}

bool spool_is_swapped(uint32_t version)
{
	return spool_version_is_known(__builtin_bswap32(version));
}

/* Can what HEADER says of windows that go round be so? */
static bool is_ring(const struct eta_spool_header *header)
{
	const uint64_t kept = header->kept ? header->kept : ETA_SPOOL_HEADER_BYTES;

	if (header->version != ETA_SPOOL_VERSION_LAST)
		return !header->ring_bytes && !header->kept;
	return header->ring_bytes % header->window_bytes == 0 &&
	       (header->stored - ETA_SPOOL_HEADER_BYTES) % header->window_bytes == 0 &&
	       (kept - ETA_SPOOL_HEADER_BYTES) % header->window_bytes == 0 &&
	       kept >= ETA_SPOOL_HEADER_BYTES && kept <= header->stored &&
	       (header->ring_bytes ? header->stored - kept <= header->ring_bytes
				   : kept == ETA_SPOOL_HEADER_BYTES);
}

/*
 * Where the file's records lie, as its header says; a file without one that is ours has none,
 * which reading its header will say.
 */
static void find_parts(struct spool_view *view)
{
	const uint64_t file_bytes = view->size;
	struct eta_spool_header header;
	uint64_t together;

	if (pread(view->fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.magic, ETA_SPOOL_MAGIC, sizeof(header.magic)) != 0 ||
	    !spool_version_is_known(header.version) || !header.stored)
		return;
	if (header.window_bytes < ETA_UNIT_BYTES || header.window_bytes > MAX_WINDOW_BYTES ||
	    header.stored > INT64_MAX || header.window_at < ETA_SPOOL_HEADER_BYTES ||
	    header.window_at > header.stored ||
	    header.stored - header.window_at > header.window_bytes || !is_ring(&header)) {
		view->size = ETA_SPOOL_HEADER_BYTES;
		spool_view_damage(view, "wrong place of records in the header",
				  offsetof(struct eta_spool_header, window_bytes));
		return;
	}
	view->stored = header.stored;
	view->shift = header.window_bytes;
	view->window_at = header.window_at;
	view->size = header.window_at + header.window_bytes;
	view->ring = header.ring_bytes;
	view->first = header.kept ? header.kept : ETA_SPOOL_HEADER_BYTES;
	together = header.ring_bytes && header.ring_bytes < header.stored - ETA_SPOOL_HEADER_BYTES
			   ? header.ring_bytes
			   : header.stored - ETA_SPOOL_HEADER_BYTES;
	if (file_bytes >= ETA_SPOOL_HEADER_BYTES + header.window_bytes + together)
		return;
	spool_view_damage(view, "truncated file", file_bytes);
	if (view->first > ETA_SPOOL_HEADER_BYTES) {
		/* the oldest and the newest are side by side: what is left is the window */
		if (file_bytes < ETA_SPOOL_HEADER_BYTES + header.window_bytes)
			view->size = ETA_SPOOL_HEADER_BYTES;
		view->first = view->stored;
	} else {
		view->size = file_bytes < ETA_SPOOL_HEADER_BYTES + header.window_bytes
				     ? ETA_SPOOL_HEADER_BYTES
				     : file_bytes - header.window_bytes;
		view->stored = view->size;
	}
}

/* Where in the file the record of OFFSET is, and how many bytes on from there follow it. */
static uint64_t place_of(const struct spool_view *view, uint64_t offset, uint64_t *bytes)
{
	if (offset >= ETA_SPOOL_HEADER_BYTES && offset < view->stored) {
		const uint64_t at = offset - ETA_SPOOL_HEADER_BYTES;
		const uint64_t in = view->ring ? at % view->ring : at;

		*bytes = view->stored - offset;
		if (view->ring && view->ring - in < *bytes)
			*bytes = view->ring - in;
		return ETA_SPOOL_HEADER_BYTES + view->shift + in;
	}
	*bytes = offset < ETA_SPOOL_HEADER_BYTES ? ETA_SPOOL_HEADER_BYTES - offset
						 : UINT64_MAX - offset;
	return offset < ETA_SPOOL_HEADER_BYTES ? offset
					       : offset - view->window_at + ETA_SPOOL_HEADER_BYTES;
}

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

int spool_view_open(struct spool_view *view, const char *path, size_t window_bytes,
		    struct spool_damage *damage)
{
	struct stat st;
	int rc = 0;

	*view = (struct spool_view){ .path = path,
				     .damage = damage,
				     .room = window_bytes,
				     .window_at = ETA_SPOOL_HEADER_BYTES,
				     .first = ETA_SPOOL_HEADER_BYTES };
	view->fd = open_file(path);
	if (view->fd < 0 || fstat(view->fd, &st) < 0) {
		rc = unreadable(view, errno);
	} else if (!S_ISREG(st.st_mode)) {
		spool_view_damage(view, "is not a regular file", 0);
	} else {
		view->size = (uint64_t)st.st_size;
		find_parts(view);
	}
	view->window = malloc(window_bytes);
	if (rc == 0 && !view->window)
		rc = out_of_memory(view);
	if (rc)
		spool_view_close(view);
	return rc;
}

void spool_view_map(struct spool_view *view)
{
	void *map = MAP_FAILED;

	/* records in two places do not follow one another */
	if (view->fd >= 0 && view->size && !view->stored)
		map = mmap(NULL, view->size, PROT_READ, MAP_PRIVATE, view->fd, 0);
	if (map == MAP_FAILED)
		return;
	free(view->window);
	view->window = map;
	view->mapped = true;
	view->at = 0;
	view->n = view->room = view->size;
}

int spool_view_share(struct spool_view *view, const struct spool_view *of, size_t window_bytes)
{
	*view = *of;
	if (of->mapped)
		return 0;
	view->n = 0;
	view->room = window_bytes;
	view->window = malloc(window_bytes);
	return view->window ? 0 : out_of_memory(view);
}

void spool_view_unshare(struct spool_view *view)
{
	if (!view->mapped)
		free(view->window);
	view->window = NULL;
	view->n = 0;
}

void spool_view_rest(struct spool_view *view)
{
	if (view->fd >= 0)
		close(view->fd);
	view->fd = -1;
}

void spool_view_close(struct spool_view *view)
{
	if (view->mapped)
		munmap(view->window, view->room);
	spool_view_unshare(view);
	if (view->path && view->fd >= 0)
		close(view->fd);
	view->fd = -1;
}

/* Fills the window from `at` on, as far as there is room and more of the file. 0 or -errno. */
static int read_window(struct spool_view *view, int fd)
{
	ssize_t got = 1;

	while (view->n < view->room && view->at + view->n < view->size && got > 0) {
		uint64_t together, place = place_of(view, view->at + view->n, &together);
		size_t room = view->room - view->n;

		got = pread(fd, view->window + view->n, together < room ? together : room,
			    (off_t)place);
		if (got < 0)
			return -errno;
		view->n += (size_t)got;
	}
	return 0;
}

/* Makes [OFFSET, OFFSET + BYTES) part of the window as far as the file has it: bytes there. */
static ssize_t fill(struct spool_view *view, uint64_t offset, size_t bytes)
{
	int fd, rc;

	if (offset >= view->at && offset + bytes <= view->at + view->n)
		return (ssize_t)bytes;
	if (view->mapped)
		return offset < view->n ? (ssize_t)(view->n - offset) : 0;
	if (bytes > view->room) {
		unsigned char *larger = realloc(view->window, bytes);

		if (!larger)
			return out_of_memory(view);
		view->window = larger;
		view->room = bytes;
	}
	view->at = offset;
	view->n = 0;
	fd = view->fd >= 0 ? view->fd : open_file(view->path);
	rc = fd < 0 ? -errno : read_window(view, fd);
	if (fd >= 0 && fd != view->fd)
		close(fd);
	if (rc == -EMFILE || rc == -ENFILE)
		return unreadable(view, -rc);
	if (rc) {
		char what[128];

		snprintf(what, sizeof(what), "cannot be read (%s)", strerror(-rc));
		return spool_view_damage(view, what, offset);
	}
	if (offset >= view->size)
		return 0;
	if (view->n > view->size - offset)
		view->n = view->size - offset;
	return (ssize_t)(view->n < bytes ? view->n : bytes);
}

/* Are the N bytes but zeros? */
static bool is_zero(const unsigned char *bytes, size_t n)
{
	return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

int spool_view_header(struct spool_view *view, struct eta_spool_header *header)
{
	ssize_t n = fill(view, 0, ETA_SPOOL_HEADER_BYTES + ETA_UNIT_BYTES);

	memset(header, 0, sizeof(*header));
	if (n < 0 || (n == 0 && view->damaged))
		return (int)n;
	/* offset 0 begins a window; the magic is stored last, and before any record */
	if (n < ETA_SPOOL_HEADER_BYTES)
		return is_zero(view->window, (size_t)n)
			       ? 0
			       : spool_view_damage(view, "truncated header", (uint64_t)n);
	memcpy(header, view->window, sizeof(*header));
	if (is_zero((const unsigned char *)header->magic, sizeof(header->magic)) &&
	    is_zero(view->window + ETA_SPOOL_HEADER_BYTES, (size_t)n - ETA_SPOOL_HEADER_BYTES))
		return 0;
	if (memcmp(header->magic, ETA_SPOOL_MAGIC, sizeof(header->magic)) != 0)
		return spool_view_damage(view, "no header of a spool file", 0);
	if (spool_is_swapped(header->version))
		return spool_view_damage(view, "file of a machine of the other byte order", 8);
	if (!spool_version_is_known(header->version)) {
		char what[128];

		snprintf(what, sizeof(what),
			 "spool version %" PRIu32 ", this program reads versions %d to %d",
			 header->version, ETA_SPOOL_VERSION, ETA_SPOOL_VERSION_LAST);
		return spool_view_damage(view, what, 8);
	}
	if (header->kind < ETA_SPOOL_META || header->kind > ETA_SPOOL_KERNEL)
		return spool_view_damage(view, "header of an unknown kind", 12);
	header->host[sizeof(header->host) - 1] = '\0';
	header->boot[sizeof(header->boot) - 1] = '\0';
	header->comm[sizeof(header->comm) - 1] = '\0';
	header->exe[sizeof(header->exe) - 1] = '\0';
	return 1;
}

int spool_view_record(struct spool_view *view, uint64_t offset,
		      const struct eta_record_head **record)
{
	const struct eta_record_head *head;
	ssize_t n;

	if (offset >= view->size)
		return 0;
	n = fill(view, offset, ETA_UNIT_BYTES);
	if (n <= 0)
		return (int)n;
	head = (const void *)(view->window + (offset - view->at));
	/* less than a unit: nothing, where it is zeros; a record's type is in its first 24 bytes */
	if (n < ETA_UNIT_BYTES) {
		if (n > (ssize_t)offsetof(struct eta_record_head, type) &&
		    head->type == ETA_RECORD_END)
			return 0;
		return spool_view_damage(view, "truncated record", offset);
	}
	if (head->type == ETA_RECORD_END) /* where more were stored it is damage */
		return offset < view->stored
			       ? spool_view_damage(view, "records end too early", offset)
			       : 0;
	if (head->units == 0)
		return spool_view_damage(view, "record without a length", offset);
	if (head->type < sizeof(least_units) && head->units < least_units[head->type])
		return spool_view_damage(view, "record shorter than its type", offset);
	n = fill(view, offset, (size_t)record_bytes(head));
	if (n <= 0)
		return (int)n;
	head = (const void *)(view->window + (offset - view->at));
	if (n < (ssize_t)record_bytes(head))
		return spool_view_damage(view, "truncated record", offset);
	*record = head;
	return 1;
}

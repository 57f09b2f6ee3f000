/* Reading one spool file: records at any offset through a small window, with all checks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_SPOOL_VIEW_H
#define ETA_SPOOL_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "eta-ext/format/record.h"

/*
 * What is not whole of a spool's files. A tracer may be cut off at any moment: killed, locked out,
 * its disk full, and files may be lost later. So a file is read as far as it is good, and the
 * others with it; what is not good is named and counted.
 */
struct spool_damage {
	bool found;	 /* in this file; atomic */
	uint32_t *files; /* in how many of the spool; atomic */
};

/*
 * Mostly read with pread rather than mapped: resident memory stays at the window, and a file that
 * is cut meanwhile is an error and not a SIGBUS.
 */
struct spool_view {
	const char *path; /* for messages; the caller's */
	int fd;		  /* -1: it is opened for each reading */
	/* end of what can be a record; a reader that found damage may lower it to keep what is
	 * before */
	uint64_t size;
	uint64_t stored;    /* records before lie `shift` bytes behind their offset, */
	uint64_t shift;	    /* the others in the window, from offset */
	uint64_t window_at; /* on, that is behind the header (see struct eta_spool_header) */
	uint64_t ring;	    /* those before `stored` go round in as many bytes; 0: they do not */
	uint64_t first;	    /* offset of the first record that is there */
	struct spool_damage *damage;
	bool damaged; /* damage was found: the records end there */

	unsigned char *window;
	bool mapped; /* the window is all of the file, and not of this view's memory */
	size_t room, n;
	uint64_t at; /* offset of the window */
};

/*
 * Opens PATH, with windows of WINDOW_BYTES. A file that cannot be read is damage, all of it. 0 or
 * -errno, reported: out of memory or of descriptors.
 */
int spool_view_open(struct spool_view *view, const char *path, size_t window_bytes,
		    struct spool_damage *damage);
/* Maps the file of a view that was opened: only where nobody cuts it short. */
void spool_view_map(struct spool_view *view);
/* A second view of the same open file, with the descriptor of the first, which outlives it. */
int spool_view_share(struct spool_view *view, const struct spool_view *of, size_t window_bytes);
/*
 * Keeps no descriptor from here on: of hundreds of files that are open as long as their trace. A
 * view that shares it has none either.
 */
void spool_view_rest(struct spool_view *view);
/* Both take a view of zeros. */
void spool_view_close(struct spool_view *view);
void spool_view_unshare(struct spool_view *view);

/*
 * The header: 1; 0 for a file whose tracer was cut off before it wrote one, and where it is
 * damaged. -errno, reported.
 */
int spool_view_header(struct spool_view *view, struct eta_spool_header *header);
/* Is VERSION, of a header, one of a machine of the other byte order? */
bool spool_is_swapped(uint32_t version);

/*
 * The record at OFFSET, whole; valid until the next call. 1, 0 at the end of the records or of what
 * is good of them, -errno reported.
 */
int spool_view_record(struct spool_view *view, uint64_t offset,
		      const struct eta_record_head **record);

/* Does this program read spool files of VERSION? */
bool spool_version_is_known(uint32_t version);

/* The file is read no further than to byte OFFSET; WHAT says why. 0. */
int spool_view_damage(struct spool_view *view, const char *what, uint64_t offset);

static inline uint64_t record_bytes(const struct eta_record_head *record)
{
	return (uint64_t)record->units * ETA_UNIT_BYTES;
}

#endif

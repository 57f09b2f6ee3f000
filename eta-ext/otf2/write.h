/* Inside of the OTF2 writer: its parts share this. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_WRITE_OTF2_H
#define ETA_WRITE_OTF2_H

#include "eta-ext/format/archive.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/trace/source.h"
#include "index.h"

/* What was written of a location. */
struct written {
	uint64_t events;
	uint64_t first_ns, last_ns; /* where events > 0 */
	uint64_t out_of_order;
};

struct archive_writer {
	struct eta_trace *trace;
	const char *anchor; /* as the user named it, for messages */
	const struct eta_write_options *options;
	OTF2_Archive *archive;
	const char *folder, *name;  /* of the archive while it is written */
	struct written *written;    /* per location */
	uint8_t *created;	    /* per handle: has an IO_CREATE event; set by several threads */
	struct archive_index index; /* what is found for it while the events are written */
	uint32_t *order;	    /* locations, those with most events first */
	uint32_t next;		    /* in order; atomic */
	pthread_mutex_t lock;	    /* rc, events_done, progress */
	uint64_t events_done;
	int rc;		  /* the first failure of a thread */
	bool reported;	  /* a failure; atomic */
	bool broken;	  /* libotf2 met it in the middle of a file: see write_archive(); atomic */
	bool long_files;  /* some are written in several pieces; atomic */
	bool has_runs;	  /* some locations have runs; atomic */
	unsigned threads; /* that write at a time */
	char **paths;	  /* of linked archives, below the folder of this one; NULL: copies */
	size_t n_paths;
	uint32_t *first_of; /* of linked archives: the first location */
};

enum { WRITE_CHUNK_BYTES = 1 << 20 };

/*
 * Where an archive goes, and where it is while it is written: beside that, in a hidden folder that
 * only its writer has locked, so that who comes later knows what one that was killed has left. All
 * by descriptors: others who may write to the place can put nothing into the archive's way.
 */
struct write_place {
	int at;		   /* the folder that the archive goes to, -1: none yet */
	char *name;	   /* "unified" */
	const char *older; /* what an archive that it replaces is called in the hidden folder */
	char *prefix;	   /* of hidden folders for it */
	char *temporary;   /* the hidden folder, NULL: none yet */
	int folder;	   /* the same, locked; -1: none */
	char path[FOLDER_PATH_BYTES]; /* the same for libotf2, which takes paths */
};

/*
 * Checks whether ANCHOR may be written (in FOLDER, a descriptor, if that is not NULL), cleans up
 * after a writer that was killed there, makes the folder.
 */
int write_place_make(const char *anchor, const int *folder, struct write_place *place);
/* Is there an anchor of ours in the folder? It is the last file of an archive. */
bool write_place_is_complete(const struct write_place *place);
/* Gives its files MODE and moves the archive to its place, and an older one out of it. */
int write_place_fill(const char *anchor, const struct write_place *place, mode_t mode);
/* Removes the folder with all that is in it; also after a failure of the others. */
void write_place_end(const char *anchor, struct write_place *place);

static inline bool write_otf2_links(const struct archive_writer *writer)
{
	return writer->options && writer->options->links != ETA_NO_LINKS;
}

/* The events of every location, by several threads. */
int write_otf2_events(struct archive_writer *writer, unsigned threads);

/*
 * TEXT as the archive has it: no longer than fits a definition, and in UTF-8, as readers expect. It
 * is TEXT itself, or *OWN, which the caller frees; NULL without memory.
 */
const char *write_otf2_text(const char *text, char **own);

/* Properties of the trace, as far as they are the anchor file's. LINKS: the archive has such. */
OTF2_ErrorCode write_otf2_properties(OTF2_Archive *archive, const struct eta_defs *defs,
				     bool links);
/* Which readers know all that is in it; VERSION again once it is known. */
OTF2_ErrorCode write_otf2_version(OTF2_Archive *archive, int version);

/* All definitions; after the events, because they hold their numbers. */
int write_otf2_definitions(struct archive_writer *writer);

/*
 * Is the closed file NAME + SUFFIX as long as it should be? EVENTS: how many a file of events
 * holds, NULL for other files. Reports.
 */
int write_otf2_check_file(struct archive_writer *writer, const char *suffix,
			  const uint64_t *events);

/* Is there room for what libotf2 writes at a time? 0 or -errno, reported. */
int write_otf2_check_room(struct archive_writer *writer);

/* Reports what libotf2 said about CODE while doing WHAT; -errno. */
int write_otf2_failed(struct archive_writer *writer, OTF2_ErrorCode code, const char *what);
/* The same for a file that is not libotf2's, which met ERROR. */
int write_otf2_file_failed(struct archive_writer *writer, int error, const char *what);

#endif

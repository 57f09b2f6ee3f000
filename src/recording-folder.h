/* The folder of a recording: its own, its spools, what it is made of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_RECORDING_FOLDER_H
#define SCI_RECORDING_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "eta-ext/base/folder.h"

#define USER_SPOOL "user.spool"
#define KERNEL_SPOOL "kernel.spool"
#define ARCHIVE "unified.otf2"
#define TRACER_LINK ".tracer" /* see preload.h */
/* A file that is there while the spools are removed: the archive has all that they had. */
#define SPOOLS_MERGED ".spools-merged"
#define JOB_LINK "job" /* see recording_folder_job */

struct recording_folder {
	struct folder folder;
	char *path;	  /* absolute, where it is now */
	char *user_spool; /* the same of it, for the traced program */
	mode_t mode;	  /* of files; folders have x where there is r */
	int user, kernel; /* descriptors of the spools, -1: none */
};

/*
 * Makes folder DIR, or takes one of this user's that holds no recording (or may lose it: FORCE);
 * DIR NULL: a new one named after PROGRAM in the working directory. 0 or -errno, reported.
 */
int recording_folder_open(struct recording_folder *r, const char *dir, const char *program,
			  bool force, mode_t mode);

/*
 * Marks the folder as that of JOB, by a link whose target is that text: made at once, or not at all
 * where another one has. 0 or -errno (-EEXIST), reported but for that.
 */
int recording_folder_job(struct recording_folder *r, const char *job);
/* The text that recording_folder_job left in DIR; "" where it left none. */
enum { RECORDING_JOB_BYTES = 160 };
void recording_folder_whose(const char *dir, char job[RECORDING_JOB_BYTES]);

/* Makes a spool, USER_SPOOL or KERNEL_SPOOL: its descriptor, in R. -errno, reported. */
int recording_folder_spool(struct recording_folder *r, const char *name);

/* Takes note of where the folder is, which may have been renamed. -errno, reported. */
int recording_folder_find(struct recording_folder *r);

/* Removes a spool; one without files only, with EMPTY: then -ENOTEMPTY is not reported. */
int recording_folder_remove(struct recording_folder *r, const char *name, bool empty);
/* Removes both spools, which the archive has the content of: at any moment the folder has it all.
 */
void recording_folder_drop_spools(struct recording_folder *r);

/* Removes both spools, and the folder itself where it was made by us and nothing is in it. */
void recording_folder_undo(struct recording_folder *r);

/* Gives the spools, which stay, the mode. */
void recording_folder_widen(const struct recording_folder *r);

/* Closes its descriptors; the folder's contents are kept. */
void recording_folder_close(struct recording_folder *r);

#endif

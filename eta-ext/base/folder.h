/* Folders that outputs go to: looked at once, then used by descriptor, never through a link. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ETA_FOLDER_H
#define ETA_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Somebody else may put links at any name of a folder that he may write to, or another folder in
 * its place, at any moment. So what is written goes below a descriptor, under names that are new.
 * All functions act as the user whose files this process makes (setfsuid(2)). Descriptors are
 * O_CLOEXEC; 0 or a descriptor, -errno on failure, which has been reported where the comment says
 * so, with SHOWN as the name.
 */

/* The user whose files this process makes. */
uid_t folder_user(void);

/* "alice", or "uid 1234" where that has no name; the next call with TEXT overwrites it. */
enum { FOLDER_OWNER_BYTES = 64 };
const char *folder_owner(uid_t uid, char text[FOLDER_OWNER_BYTES]);

/*
 * Opens the folder that the last part of PATH is in, for what is below it (O_PATH), of any length;
 * NAME is that part, in PATH. -EINVAL where it has none ("/", "..", "x/"). On the way no link is
 * followed but root's and this user's own: another's may lead somewhere else the next time.
 * Reported.
 */
int folder_of(const char *path, const char **name);

/* A folder to write to, and how to take it away again. */
struct folder {
	int fd;	    /* of it, -1: none */
	int parent; /* of the folder that it is in */
	char *name; /* in that */
	bool made;  /* it was not there before */
};

/*
 * Makes folder PATH with MODE, or takes one that is there: a folder (not a link to one) of this
 * user, that nobody else may write to. Reported, with the remedy.
 */
int folder_take(const char *path, mode_t mode, struct folder *folder);
/*
 * The same of NAME in folder AT, which is called SHOWN; the descriptor. MADE: it was not there
 * before.
 */
int folder_take_below(int at, const char *shown, const char *name, mode_t mode, bool *made);
void folder_close(struct folder *folder);

/*
 * Makes something new in folder AT, called PREFIX and 8 letters, and gives that name, the
 * caller's to free: an empty file for reading and writing; a folder with mode 0700.
 */
int folder_new_file(int at, const char *prefix, char **name);
int folder_new_folder(int at, const char *prefix, char **name);

/*
 * Removes NAME in folder AT: a file, a link as such, or a folder with what is in it, DEPTH folders
 * deep (0: none is entered), on the same file system. In the outermost folder nothing is touched if
 * one of its entries is like none of PATTERNS (fnmatch(3); NULL: all are): -ENOTEMPTY, and its name
 * is reported. What is not there is as good as removed. Other failures are reported too.
 */
int folder_remove(int at, const char *name, const char *shown, int depth,
		  const char *const *patterns);
/* The first entry of folder NAME in AT that is like none of PATTERNS, the caller's; NULL: none. */
char *folder_stranger(int at, const char *name, const char *const *patterns);

/* Gives the files in folder FD this MODE, its folders (one deep) that and x where there is r. */
int folder_set_modes(int fd, mode_t mode);
static inline mode_t folder_mode(mode_t mode)
{
	return mode | (mode & 0444) >> 2;
}

/*
 * A path by which this process reaches NAME (NULL: the folder itself) below descriptor FD, for
 * libraries that take paths only; it stays right whatever happens to the folder's own path.
 */
enum { FOLDER_PATH_BYTES = 320 };
const char *folder_path(int fd, const char *name, char path[FOLDER_PATH_BYTES]);

/* Does such a path lead there? Not where /proc is not mounted. */
bool folder_has_path(int fd);

/* Where the folder of FD is now, absolute; the caller's to free, NULL: with errno. */
char *folder_place(int fd);

/* An empty file without a name in TMPDIR, else in USUAL; DIR: which one it was. Not reported. */
int folder_temporary(const char *usual, const char **dir);

#endif

/* OTF2 writer: the archive beside its place, moved there when it is complete. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-otf2.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Anchor last: without it there is no archive. */
static const char *const parts[] = { "", ".def", ".otf2" };
enum { N_PARTS = sizeof(parts) / sizeof(*parts), ANCHOR = N_PARTS - 1 };

#define UNFINISHED ".unfinished." /* the hidden folder is ".NAME" UNFINISHED "XXXXXX" */
#define OLDER ".older"		  /* behind NAME: no part of the new archive is called so */

static int place_of(const char *anchor, struct write_place *place)
{
	const char *slash = strrchr(anchor, '/'), *base = slash ? slash + 1 : anchor;
	size_t n = strlen(base);

	if (n <= 5 || strcmp(base + n - 5, ".otf2") != 0) {
		eta_error("\"%s\": an archive has a name that ends in .otf2", anchor);
		return -EINVAL;
	}
	place->name = strndup(base, n - 5);
	place->folder = slash ? strndup(anchor, slash == anchor ? 1 : (size_t)(slash - anchor))
			      : strdup(".");
	place->older = malloc(n + sizeof(OLDER));
	if (place->name && place->older)
		sprintf(place->older, "%s" OLDER, place->name);
	if (!place->name || !place->folder || !place->older) {
		eta_error("%s: not enough memory to write it", anchor);
		return -ENOMEM;
	}
	return 0;
}

static bool part_path(char *path, const char *folder, const char *name, int part)
{
	int n = snprintf(path, PATH_MAX, "%s/%s%s", folder, name, parts[part]);

	return n > 0 && n < PATH_MAX;
}

static bool part_is_there(const char *folder, const char *name, int part)
{
	char path[PATH_MAX];

	return part_path(path, folder, name, part) &&
	       faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is the archive at ANCHOR one that this writer made? */
static bool is_ours(const char *anchor)
{
	OTF2_Reader *reader = OTF2_Reader_Open(anchor);
	char *creator = NULL;
	bool ours = reader && OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS &&
		    strncmp(creator, ARCHIVE_CREATOR, strlen(ARCHIVE_CREATOR)) == 0;

	free(creator);
	if (reader)
		OTF2_Reader_Close(reader);
	return ours;
}

/* What stands at the place already must be an archive of ours. */
static int check_place(const char *anchor, const struct write_place *place)
{
	char path[PATH_MAX];
	struct stat st;

	for (int part = ANCHOR; part >= 0; part--) {
		if (!part_path(path, place->folder, place->name, part)) {
			eta_error("%s: name too long", anchor);
			return -ENAMETOOLONG;
		}
		if (lstat(path, &st) < 0)
			continue;
		if (part == ANCHOR && S_ISREG(st.st_mode) && is_ours(path))
			return 0;
		eta_error("%s: %s exists and is no archive of %s: remove it or choose another name",
			  anchor, path, ARCHIVE_CREATOR);
		return -EEXIST;
	}
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	/* What cannot be removed stays: there is nothing better to do, and the rest can go. */
	(void)remove(path);
	return 0;
}

static void remove_folder(const char *path)
{
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- the folder ---- */

/* PATH open and locked by nobody else: the descriptor; -EWOULDBLOCK: its writer is at work. */
static int lock_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		rc = -errno;
	else if (fstat(fd, &st) < 0 || st.st_nlink == 0)
		rc = -ENOENT; /* removed meanwhile */
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

static int make_folder(const char *anchor, struct write_place *place)
{
	const size_t room = strlen(place->folder) + strlen(place->name) + 32;
	int rc = 0;

	place->temporary = malloc(room);
	if (!place->temporary) {
		eta_error("%s: not enough memory to write it", anchor);
		return -ENOMEM;
	}
	do {
		snprintf(place->temporary, room, "%s/.%s" UNFINISHED "XXXXXX", place->folder,
			 place->name);
		if (!mkdtemp(place->temporary)) {
			rc = -errno;
			eta_error("%s: cannot write in %s: %s", anchor, place->folder,
				  strerror(errno));
			free(place->temporary);
			place->temporary = NULL;
			return rc;
		}
		/* another writer may have come in between, and taken it for left */
		place->lock = lock_folder(place->temporary);
	} while (place->lock == -EWOULDBLOCK || place->lock == -ENOENT);
	return 0; /* a file system without locks: nobody will take it for left */
}

/* Moves the parts of an archive between folders; absent ones are passed over. */
static int move_parts(const char *from_folder, const char *from_name, const char *to_folder,
		      const char *to_name)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (int part = 0; part < N_PARTS; part++) {
		if (!part_path(from, from_folder, from_name, part) ||
		    !part_path(to, to_folder, to_name, part))
			return -ENAMETOOLONG;
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* ---- what a writer that was killed has left ---- */

/* Did it move already? Then its archive is whole, and some parts of it or of the older one gone. */
static bool was_moving(const struct write_place *place, const char *left)
{
	bool moving = !part_is_there(left, place->name, 0);

	for (int part = 0; part < N_PARTS; part++)
		moving = moving || part_is_there(left, place->older, part);
	return moving && part_is_there(left, place->name, ANCHOR);
}

/* Goes on where it was: what is not moved yet takes the place of what is not moved away yet. */
static int move_rest(const struct write_place *place, const char *left)
{
	char new[PATH_MAX], old[PATH_MAX], to[PATH_MAX];

	for (int part = 0; part < N_PARTS; part++) {
		if (!part_is_there(left, place->name, part))
			continue;
		if (!part_path(new, left, place->name, part) ||
		    !part_path(old, left, place->older, part) ||
		    !part_path(to, place->folder, place->name, part))
			return -ENAMETOOLONG;
		if ((rename(to, old) < 0 && errno != ENOENT) || rename(new, to) < 0)
			return -errno;
	}
	return 0;
}

static void clear_one(const char *anchor, const struct write_place *place, const char *left)
{
	int lock = lock_folder(left), rc = 0;

	if (lock < 0) {
		if (lock != -EWOULDBLOCK && lock != -ENOENT)
			eta_warn("%s: %s may be left of a merge that was killed, and cannot be "
				 "removed: %s",
				 anchor, left, strerror(-lock));
		return;
	}
	if (was_moving(place, left)) {
		rc = move_rest(place, left);
		if (rc < 0)
			eta_warn("%s: a merge was killed when it put its archive in place, the "
				 "parts of it are in %s: %s",
				 anchor, left, strerror(-rc));
		else
			eta_note("%s: put in its place the archive of a merge that was killed when "
				 "it did that",
				 anchor);
	} else {
		eta_note("%s: removed %s, left of a merge that was killed", anchor, left);
	}
	if (rc == 0)
		remove_folder(left);
	close(lock);
}

static void clear_up(const char *anchor, const struct write_place *place)
{
	DIR *dir = opendir(place->folder);
	struct dirent *entry;
	char begin[NAME_MAX + 1], left[PATH_MAX];
	int n = snprintf(begin, sizeof(begin), ".%s" UNFINISHED, place->name);

	while (dir && n > 0 && n < (int)sizeof(begin) && (entry = readdir(dir)))
		if (strncmp(entry->d_name, begin, (size_t)n) == 0 &&
		    snprintf(left, sizeof(left), "%s/%s", place->folder, entry->d_name) <
			    (int)sizeof(left))
			clear_one(anchor, place, left);
	if (dir)
		closedir(dir);
}

/* ---- from outside ---- */

int write_place_make(const char *anchor, struct write_place *place)
{
	int rc = place_of(anchor, place);

	if (rc == 0) {
		clear_up(anchor, place);
		rc = check_place(anchor, place);
	}
	return rc ? rc : make_folder(anchor, place);
}

bool write_place_is_whole(const struct write_place *place)
{
	char path[PATH_MAX];

	return part_path(path, place->temporary, place->name, ANCHOR) && is_ours(path);
}

int write_place_fill(const char *anchor, const struct write_place *place)
{
	int rc = move_parts(place->folder, place->name, place->temporary, place->older);

	if (rc == 0)
		rc = move_parts(place->temporary, place->name, place->folder, place->name);
	if (rc < 0) {
		eta_error("%s: cannot put the new archive in its place: %s", anchor, strerror(-rc));
		move_parts(place->temporary, place->older, place->folder, place->name);
	}
	return rc;
}

void write_place_end(struct write_place *place)
{
	if (place->temporary)
		remove_folder(place->temporary);
	if (place->lock >= 0)
		close(place->lock);
	free(place->folder);
	free(place->name);
	free(place->older);
	free(place->temporary);
	*place = (struct write_place){ .lock = -1 };
}

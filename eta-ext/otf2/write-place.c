/* OTF2 writer: the archive beside its place, moved there when it is complete. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "runs.h"
#include "write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/folder.h"

/* Anchor last: without it there is no archive. */
static const char *const parts[] = { "", ".def", ".otf2" };
enum { N_PARTS = sizeof(parts) / sizeof(*parts), ANCHOR = N_PARTS - 1 };

/* What lies in the folder of an archive of ours. */
static const char *const part_files[] = { "*.evt", "*.def", ("*" RUN_SUFFIX), INDEX_NAME, NULL };
enum { DEPTH = 2 }; /* of folders, in the hidden one: that of an archive */

#define UNFINISHED ".unfinished." /* the hidden folder is ".NAME" UNFINISHED and 8 letters */

/* What an archive that is replaced is called in the hidden folder, which holds NAME, too. */
static const char *older_name(const char *name)
{
	return strcmp(name, "older") ? "older" : "earlier";
}

/* The hidden folder has a name that fits, whatever NAME is. */
static char *hidden_prefix(const char *name)
{
	const int longest = 200;
	uint64_t hash = 14695981039346656037U; /* FNV-1a */
	char *prefix = NULL;
	int n;

	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 1099511628211U;
	if (strlen(name) <= (size_t)longest)
		n = asprintf(&prefix, ".%s" UNFINISHED, name);
	else
		n = asprintf(&prefix, ".%.*s.%016llx" UNFINISHED, longest, name,
			     (unsigned long long)hash);
	return n < 0 ? NULL : prefix;
}

static int place_of(const char *anchor, const int *folder, struct write_place *place)
{
	const char *slash = strrchr(anchor, '/'), *base = slash ? slash + 1 : anchor;
	size_t n = strlen(base);

	if (n <= 5 || strcmp(base + n - 5, ".otf2") != 0) {
		eta_error("\"%s\": an archive has a name that ends in .otf2", anchor);
		return -EINVAL;
	}
	if (folder)
		place->at = fcntl(*folder, F_DUPFD_CLOEXEC, 0);
	else
		place->at = folder_of(anchor, &base);
	if (place->at < 0 && folder)
		eta_error("%s: cannot write it: %s", anchor, strerror(errno));
	if (place->at < 0)
		return folder ? -errno : place->at;
	place->name = strndup(base, n - 5);
	place->prefix = place->name ? hidden_prefix(place->name) : NULL;
	if (!place->prefix) {
		eta_error("%s: not enough memory to write it", anchor);
		return -ENOMEM;
	}
	place->older = older_name(place->name);
	return 0;
}

/* The name of a part; false: it has more letters than a name may have. */
static bool part_name(char part_of[NAME_MAX + 1], const char *name, int part)
{
	int n = snprintf(part_of, NAME_MAX + 1, "%s%s", name, parts[part]);

	return n > 0 && n <= NAME_MAX;
}

/* Whether it is there, and what it is. */
static bool part_stat(int at, const char *name, int part, struct stat *st)
{
	char entry[NAME_MAX + 1];

	return part_name(entry, name, part) && fstatat(at, entry, st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool part_is_there(int at, const char *name, int part)
{
	struct stat st;

	return part_stat(at, name, part, &st);
}

/* Is the archive NAME in folder AT one that this writer made? */
static bool is_ours(int at, const char *name)
{
	char entry[NAME_MAX + 1], path[FOLDER_PATH_BYTES], *creator = NULL;
	OTF2_Reader *reader = NULL;
	bool ours;

	if (part_name(entry, name, ANCHOR))
		reader = OTF2_Reader_Open(folder_path(at, entry, path));
	ours = reader && OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS &&
	       strncmp(creator, ARCHIVE_CREATOR, strlen(ARCHIVE_CREATOR)) == 0;
	free(creator);
	if (reader)
		OTF2_Reader_Close(reader);
	return ours;
}

/* An archive goes with all that is in its folder: nothing else may be there. */
static int check_older(const char *anchor, const struct write_place *place)
{
	char *stranger = folder_stranger(place->at, place->name, part_files);

	if (!stranger)
		return 0;
	eta_error("%s: the folder of the archive that is there holds \"%s\", which is no part of "
		  "it: move that away or choose another name",
		  anchor, stranger);
	free(stranger);
	return -EEXIST;
}

/* What stands at the place already must be an archive of ours, made by this user. */
static int check_place(const char *anchor, const struct write_place *place)
{
	char entry[NAME_MAX + 1], owner[FOLDER_OWNER_BYTES];
	struct stat st;

	for (int part = ANCHOR; part >= 0; part--) {
		if (!part_name(entry, place->name, part)) {
			eta_error("%.64s...: the name is too long", place->name);
			return -ENAMETOOLONG;
		}
		if (!part_stat(place->at, place->name, part, &st))
			continue;
		if (st.st_uid != folder_user()) {
			eta_error("%s: %s is there already and belongs to %s: choose another name",
				  anchor, entry, folder_owner(st.st_uid, owner));
			return -EEXIST;
		}
		if (part == ANCHOR && S_ISREG(st.st_mode) && is_ours(place->at, place->name))
			return check_older(anchor, place);
		eta_error("%s: %s exists and is no archive of %s: choose another name", anchor,
			  entry, ARCHIVE_CREATOR);
		return -EEXIST;
	}
	return 0;
}

/* ---- the folder ---- */

/* 0: FD is locked, -EWOULDBLOCK: by its writer, who is at work; -ENOENT: it was removed. */
static int lock_folder(int fd)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return fstat(fd, &st) < 0 || st.st_nlink == 0 ? -ENOENT : 0;
}

static int make_folder(const char *anchor, struct write_place *place)
{
	int rc;

	do {
		free(place->temporary);
		if (place->folder >= 0)
			close(place->folder);
		place->folder = folder_new_folder(place->at, place->prefix, &place->temporary);
		if (place->folder < 0) {
			rc = place->folder;
			eta_error("%s: cannot write there: %s", anchor, strerror(-rc));
			return rc;
		}
		/* another writer may have come in between, and taken it for left */
		rc = lock_folder(place->folder);
	} while (rc == -EWOULDBLOCK || rc == -ENOENT);
	if (!folder_has_path(place->folder)) {
		eta_error("%s: cannot be written without /proc (mount it)", anchor);
		return -ENOENT;
	}
	/* without locks (some file systems) nobody will take it for left */
	folder_path(place->folder, NULL, place->path);
	return 0;
}

/* Moves the parts of an archive between folders; absent ones are passed over. */
static int move_parts(int from, const char *from_name, int to, const char *to_name)
{
	char old[NAME_MAX + 1], new[NAME_MAX + 1];

	for (int part = 0; part < N_PARTS; part++) {
		if (!part_name(old, from_name, part) || !part_name(new, to_name, part))
			return -ENAMETOOLONG;
		if (renameat(from, old, to, new) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* ---- what a writer that was killed has left ---- */

/* Did it move already? Then its archive is whole, and some parts of it or of the older one gone. */
static bool was_moving(const struct write_place *place, int left)
{
	bool moving = !part_is_there(left, place->name, 0);

	for (int part = 0; part < N_PARTS; part++)
		moving = moving || part_is_there(left, place->older, part);
	return moving && part_is_there(left, place->name, ANCHOR);
}

/* Goes on where it was: what is not moved yet takes the place of what is not moved away yet. */
static int move_rest(const struct write_place *place, int left)
{
	char new[NAME_MAX + 1], old[NAME_MAX + 1];

	for (int part = 0; part < N_PARTS; part++) {
		if (!part_is_there(left, place->name, part))
			continue;
		if (!part_name(new, place->name, part) || !part_name(old, place->older, part))
			return -ENAMETOOLONG;
		if ((renameat(place->at, new, left, old) < 0 && errno != ENOENT) ||
		    renameat(left, new, place->at, new) < 0)
			return -errno;
	}
	return 0;
}

/* LEFT: descriptor of folder NAME. */
static void clear_one(const char *anchor, const struct write_place *place, int left,
		      const char *name)
{
	int rc = lock_folder(left);

	if (rc < 0) {
		if (rc != -EWOULDBLOCK && rc != -ENOENT)
			eta_warn("%s: %s may be left of a merge that was killed, and cannot be "
				 "removed: %s",
				 anchor, name, strerror(-rc));
		return;
	}
	if (was_moving(place, left)) {
		rc = move_rest(place, left);
		if (rc < 0)
			eta_warn("%s: a merge was killed when it put its archive in place, the "
				 "parts of it are in %s: %s",
				 anchor, name, strerror(-rc));
		else
			eta_note("%s: put in its place the archive of a merge that was killed when "
				 "it did that",
				 anchor);
	} else {
		eta_note("%s: removed %s, left of a merge that was killed", anchor, name);
	}
	if (rc == 0)
		folder_remove(place->at, name, anchor, DEPTH, NULL);
}

/* One that this user's writer made: others may make folders of such names, with what they like. */
static bool is_of_this_user(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == folder_user() && !(st.st_mode & 022);
}

static void clear_up(const char *anchor, const struct write_place *place)
{
	int fd = openat(place->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int left;

		if (strncmp(entry->d_name, place->prefix, strlen(place->prefix)) != 0)
			continue;
		left = openat(place->at, entry->d_name,
			      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (left < 0)
			continue;
		if (is_of_this_user(left))
			clear_one(anchor, place, left, entry->d_name);
		close(left);
	}
	if (dir)
		closedir(dir);
	else if (fd >= 0)
		close(fd);
}

/* ---- from outside ---- */

int write_place_make(const char *anchor, const int *folder, struct write_place *place)
{
	int rc = place_of(anchor, folder, place);

	if (rc == 0) {
		clear_up(anchor, place);
		rc = check_place(anchor, place);
	}
	return rc ? rc : make_folder(anchor, place);
}

bool write_place_is_complete(const struct write_place *place)
{
	return is_ours(place->folder, place->name);
}

int write_place_fill(const char *anchor, const struct write_place *place, mode_t mode)
{
	int rc = folder_set_modes(place->folder, mode);

	if (rc == 0)
		rc = move_parts(place->at, place->name, place->folder, place->older);
	if (rc == 0)
		rc = move_parts(place->folder, place->name, place->at, place->name);
	if (rc < 0) {
		eta_error("%s: cannot put the new archive in its place: %s", anchor, strerror(-rc));
		move_parts(place->folder, place->older, place->at, place->name);
	}
	return rc;
}

void write_place_end(const char *anchor, struct write_place *place)
{
	if (place->temporary)
		folder_remove(place->at, place->temporary, anchor, DEPTH, NULL);
	if (place->folder >= 0)
		close(place->folder);
	if (place->at >= 0)
		close(place->at);
	free(place->name);
	free(place->prefix);
	free(place->temporary);
	*place = (struct write_place){ .at = -1, .folder = -1 };
}

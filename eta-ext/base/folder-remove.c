/* Folders that outputs go to: taking away what is in them, and its modes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta.h"
#include "folder.h"

/* Folder NAME in AT, to be read; NULL with errno. A link is none, nor is what is mounted there. */
static DIR *open_below(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), error = EXDEV;
	struct stat here, there;
	DIR *dir = NULL;

	if (fd < 0)
		return NULL;
	if (fstat(at, &here) == 0 && fstat(fd, &there) == 0 && here.st_dev == there.st_dev) {
		dir = fdopendir(fd);
		error = errno;
	}
	if (!dir) {
		close(fd);
		errno = error;
	}
	return dir;
}

/* The next entry that is not the folder itself or the one above. */
static const char *next_entry(DIR *dir)
{
	const struct dirent *entry;

	do
		entry = readdir(dir);
	while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

static bool is_like(const char *name, const char *const *patterns)
{
	for (; *patterns; patterns++)
		if (fnmatch(*patterns, name, 0) == 0)
			return true;
	return false;
}

char *folder_stranger(int at, const char *name, const char *const *patterns)
{
	DIR *dir = open_below(at, name);
	const char *entry = NULL;
	char *found = NULL;

	while (dir && (entry = next_entry(dir)) && is_like(entry, patterns))
		;
	if (entry)
		found = strdup(entry);
	if (dir)
		closedir(dir);
	return found;
}

static int remove_below(int at, const char *name, int depth);

/* 0 also where something stays: the folder then cannot be removed, which reports it. */
static int remove_entries(DIR *dir, int depth)
{
	unsigned removed;

	/* what is read while entries go away may leave some out */
	do {
		const char *entry;

		removed = 0;
		rewinddir(dir);
		while ((entry = next_entry(dir)))
			removed += remove_below(dirfd(dir), entry, depth) == 0;
	} while (removed);
	return 0;
}

static int remove_below(int at, const char *name, int depth)
{
	DIR *dir;
	int rc;

	if (unlinkat(at, name, 0) == 0)
		return 0;
	rc = -errno;
	if ((rc != -EISDIR && rc != -EPERM) || depth == 0)
		return rc;
	dir = open_below(at, name);
	if (!dir)
		return errno == ENOTDIR || errno == ELOOP ? rc : -errno;
	remove_entries(dir, depth - 1);
	closedir(dir);
	return unlinkat(at, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
}

int folder_remove(int at, const char *name, const char *shown, int depth,
		  const char *const *patterns)
{
	char *stranger = patterns ? folder_stranger(at, name, patterns) : NULL;
	int rc = stranger ? -ENOTEMPTY : remove_below(at, name, depth);

	if (rc == -ENOENT)
		rc = 0;
	if (stranger)
		eta_error("%s/%s: holds \"%s\", which is not ours to remove: move it away", shown,
			  name, stranger);
	else if (rc)
		eta_error("%s/%s: cannot be removed: %s", shown, name, strerror(-rc));
	free(stranger);
	return rc;
}

/* One file; a link has no mode. Folders are reported by -EISDIR. */
static int set_mode(int at, const char *name, mode_t mode)
{
	int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = 0;
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return 0;
	if (fd < 0 || fstat(fd, &st) != 0)
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = -EISDIR;
	else if (S_ISREG(st.st_mode) && fchmod(fd, mode) != 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int set_modes(DIR *dir, mode_t mode, int depth)
{
	const char *entry;
	int rc = 0;

	while (rc == 0 && (entry = next_entry(dir))) {
		DIR *below;

		rc = set_mode(dirfd(dir), entry, mode);
		if (rc != -EISDIR || depth == 0)
			continue;
		below = open_below(dirfd(dir), entry);
		if (!below)
			return -errno;
		rc = set_modes(below, mode, depth - 1);
		if (rc == 0 && fchmod(dirfd(below), folder_mode(mode)) != 0)
			rc = -errno;
		closedir(below);
	}
	return rc;
}

int folder_set_modes(int fd, mode_t mode)
{
	DIR *dir = open_below(fd, ".");
	int rc;

	if (!dir)
		return -errno;
	rc = set_modes(dir, mode, 1);
	closedir(dir);
	return rc;
}

/* Folders that outputs go to: looked at once, then used by descriptor, never through a link. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta.h"

enum { MAX_LINKS = 40 }; /* as the kernel */

uid_t folder_user(void)
{
	return (uid_t)setfsuid((uid_t)-1); /* returns the present one, and changes nothing */
}

const char *folder_owner(uid_t uid, char text[FOLDER_OWNER_BYTES])
{
	const struct passwd *user = getpwuid(uid);

	if (user)
		snprintf(text, FOLDER_OWNER_BYTES, "%.40s", user->pw_name);
	else
		snprintf(text, FOLDER_OWNER_BYTES, "uid %lu", (unsigned long)uid);
	return text;
}

/* ---- the way there ---- */

/* Root's, or this user's. In a user namespace without root, "/" is whose it is. */
static bool is_trusted(uid_t uid)
{
	struct stat root;

	return uid == 0 || uid == folder_user() || (stat("/", &root) == 0 && uid == root.st_uid);
}

/* The way on behind a link: what it says, and what was left of the path. -errno. */
static int follow(int link, const char *rest, char **way)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(link, "", target, sizeof(target) - 1);
	char *longer = NULL;

	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (asprintf(&longer, "%s/%s", target, rest) < 0)
		return -ENOMEM;
	free(*way);
	*way = longer;
	return 0;
}

/* Opens the next part of the way, N letters at AT, below FD. */
static int step(int fd, const char *at, size_t n, struct stat *st)
{
	char name[NAME_MAX + 1];
	int next;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, at, n);
	name[n] = '\0';
	next = openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	if (fstat(next, st) == 0)
		return next;
	close(next);
	return -EIO;
}

/* LINK: set to the owner of the link that was not followed, where that is why it failed. */
static int walk(const char *path, uid_t *link)
{
	int fd = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC), rc = 0;
	char *way = strdup(path), *at = way;
	unsigned links = 0;

	if (fd < 0 || !way)
		rc = fd < 0 ? -errno : -ENOMEM;
	/* analyzer: without memory for the way RC is not 0 */
	while (rc == 0 && *(at += strspn(at, "/"))) {
		size_t n = strcspn(at, "/");
		struct stat st;
		int next = step(fd, at, n, &st);

		at += n;
		if (next < 0) {
			rc = next;
		} else if (S_ISDIR(st.st_mode)) {
			close(fd);
			fd = next;
		} else if (!S_ISLNK(st.st_mode)) {
			rc = -ENOTDIR;
		} else if (!is_trusted(st.st_uid)) {
			*link = st.st_uid;
			rc = -ELOOP;
		} else {
			rc = ++links > MAX_LINKS ? -ELOOP : follow(next, at, &way);
			at = way;
			if (rc == 0 && *way == '/') {
				close(fd);
				fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
				rc = fd < 0 ? -errno : 0;
			}
		}
		if (next >= 0 && next != fd)
			close(next);
	}
	free(way);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int walk_to(const char *path, const char *shown)
{
	char owner[FOLDER_OWNER_BYTES];
	uid_t link = (uid_t)-1;
	int fd = walk(path, &link);

	if (fd == -ELOOP && link != (uid_t)-1)
		eta_error("%s: leads through a link of %s's, who may change it: name the folder "
			  "itself",
			  shown, folder_owner(link, owner));
	else if (fd < 0)
		eta_error("%s: cannot open its folder: %s", shown, strerror(-fd));
	return fd;
}

int folder_of(const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	char *above;
	int fd;

	*name = slash ? slash + 1 : path;
	if (!**name || strcmp(*name, ".") == 0 || strcmp(*name, "..") == 0) {
		eta_error("\"%s\": has no name at its end", path);
		return -EINVAL;
	}
	above = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	if (!above) {
		eta_error("%s: not enough memory", path);
		return -ENOMEM;
	}
	fd = walk_to(above, path);
	free(above);
	return fd;
}

/* ---- a folder of one's own ---- */

/* Does the folder of FD belong to this user, and to nobody else to write to? Reported. */
static int folder_check(int fd, const char *shown)
{
	char owner[FOLDER_OWNER_BYTES];
	struct stat st;

	if (fstat(fd, &st) != 0) {
		int rc = -errno;

		eta_error("%s: %s", shown, strerror(-rc));
		return rc;
	}
	if (st.st_uid != folder_user()) {
		eta_error("%s: belongs to %s: what is written there needs a folder of your own (-o "
			  "names another)",
			  shown, folder_owner(st.st_uid, owner));
		return -EPERM;
	}
	if (st.st_mode & 022) {
		eta_error(
			"%s: others may write to it (mode %04o): chmod go-w it, or choose another "
			"folder with -o",
			shown, (unsigned)st.st_mode & 07777);
		return -EPERM;
	}
	return 0;
}

static int take(int at, const char *name, const char *shown, mode_t mode, bool *made)
{
	int fd = -1, rc = 0;

	*made = mkdirat(at, name, mode) == 0;
	if (!*made && errno != EEXIST) {
		rc = -errno;
		eta_error("%s: cannot make the folder: %s", shown, strerror(-rc));
		return rc;
	}
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		struct stat st;

		rc = -errno;
		if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
			eta_error("%s: is a link: name the folder itself", shown);
		else if (rc == -ENOTDIR)
			eta_error("%s: exists and is no folder (choose another with -o)", shown);
		else
			eta_error("%s: cannot open the folder: %s (-o names another)", shown,
				  strerror(-rc));
		return rc;
	}
	rc = folder_check(fd, shown);
	/* whatever the umask says */
	if (rc == 0 && *made && fchmod(fd, mode) != 0) {
		rc = -errno;
		eta_error("%s: cannot set its mode: %s", shown, strerror(-rc));
	}
	if (rc == 0)
		return fd;
	close(fd);
	if (*made)
		unlinkat(at, name, AT_REMOVEDIR);
	return rc;
}

int folder_take_below(int at, const char *shown, const char *name, mode_t mode, bool *made)
{
	char *path;
	int fd;

	if (asprintf(&path, "%s/%s", shown, name) < 0)
		path = NULL;
	fd = take(at, name, path ? path : name, mode, made);
	free(path);
	return fd;
}

/* PATH without slashes at its end, the caller's. */
static char *without_end(const char *path)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	return strndup(path, n);
}

int folder_take(const char *path, mode_t mode, struct folder *folder)
{
	char *own = without_end(path);
	const char *name = own ? strrchr(own, '/') : NULL;
	int rc;

	*folder = (struct folder){ .fd = -1, .parent = -1 };
	if (!own) {
		eta_error("%s: not enough memory", path);
		return -ENOMEM;
	}
	name = name ? name + 1 : own;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		/* "/", ".", "..": it is there, and its name is in no folder that is known */
		folder->parent = walk_to(own, path);
		name = ".";
	} else {
		folder->parent = folder_of(own, &name);
	}
	rc = folder->parent < 0 ? folder->parent : 0;
	if (rc == 0) {
		folder->name = strdup(name);
		folder->fd = take(folder->parent, name, path, mode, &folder->made);
		rc = folder->fd < 0 ? folder->fd : 0;
	}
	free(own);
	if (rc)
		folder_close(folder);
	return rc;
}

void folder_close(struct folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	if (folder->parent >= 0)
		close(folder->parent);
	free(folder->name);
	*folder = (struct folder){ .fd = -1, .parent = -1 };
}

/* ---- something new ---- */

/* Tries names until MAKE succeeds with one that is not there. */
static int make_new(int at, const char *prefix, char **name, int (*make)(int at, const char *name))
{
	int rc;

	*name = NULL;
	do {
		uint32_t number;

		free(*name);
		*name = NULL;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		if (asprintf(name, "%s%08x", prefix, number) < 0) {
			*name = NULL;
			return -ENOMEM;
		}
		rc = make(at, *name);
	} while (rc == -EEXIST);
	if (rc < 0) {
		free(*name);
		*name = NULL;
	}
	return rc;
}

static int make_file(int at, const char *name)
{
	int fd = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : fd;
}

static int make_folder(int at, const char *name)
{
	int fd, rc;

	if (mkdirat(at, name, 0700) != 0)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = fd < 0 ? -errno : fd;
	if (fd < 0)
		unlinkat(at, name, AT_REMOVEDIR);
	return rc;
}

int folder_new_file(int at, const char *prefix, char **name)
{
	return make_new(at, prefix, name, make_file);
}

int folder_new_folder(int at, const char *prefix, char **name)
{
	return make_new(at, prefix, name, make_folder);
}

int folder_temporary(const char *usual, const char **dir)
{
	const char *given = getenv("TMPDIR");
	char *name;
	int at, fd;

	*dir = given && *given ? given : usual;
	fd = open(*dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* not every file system has them */
	at = open(*dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (at < 0)
		return -errno;
	fd = folder_new_file(at, "sci.", &name);
	if (fd >= 0)
		/* analyzer: what was made has a name */
		unlinkat(at, name, 0);
	free(name);
	close(at);
	return fd;
}

/* ---- paths ---- */

const char *folder_path(int fd, const char *name, char path[FOLDER_PATH_BYTES])
{
	snprintf(path, FOLDER_PATH_BYTES, "/proc/self/fd/%d%s%s", fd, name ? "/" : "",
		 name ? name : "");
	return path;
}

bool folder_has_path(int fd)
{
	char path[FOLDER_PATH_BYTES];
	struct stat own, there;

	return fstat(fd, &own) == 0 && stat(folder_path(fd, NULL, path), &there) == 0 &&
	       own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

char *folder_place(int fd)
{
	char link[FOLDER_PATH_BYTES], place[PATH_MAX];
	ssize_t n = readlink(folder_path(fd, NULL, link), place, sizeof(place));

	if (n >= (ssize_t)sizeof(place)) {
		errno = ENAMETOOLONG;
		n = -1;
	}
	return n < 0 ? NULL : strndup(place, (size_t)n);
}

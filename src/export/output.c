/* A file that appears under its name when it is complete, or standard output. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/base/folder.h"

/* A file without a name: who is killed leaves nothing. Else one that will be renamed. */
static int open_file(struct output *o)
{
	/* it gets its name by /proc */
	int fd = folder_has_path(o->folder)
			 ? openat(o->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
			 : -1;

	o->unnamed = fd >= 0;
	return fd >= 0 ? fd : folder_new_file(o->folder, ".sci-output.", &o->temporary);
}

static bool is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == folder_user();
}

/*
 * What is no file (a pipe, /dev/null) is written to as it is, if it is this user's or root's, or if
 * a link of theirs says so (/dev/stdout): another's would lead what the trace says to them. -ENXIO:
 * it is to be a file.
 */
static int open_as_it_is(const struct output *o)
{
	struct stat st, end = { 0 };
	int fd;

	if (fstatat(o->folder, o->name, &st, AT_SYMLINK_NOFOLLOW) != 0 || S_ISREG(st.st_mode))
		return -ENXIO;
	if (!is_trusted(&st)) {
		char owner[FOLDER_OWNER_BYTES];

		eta_error("%s: is there already and belongs to %s: choose another name", o->path,
			  folder_owner(st.st_uid, owner));
		return -EPERM;
	}
	if (S_ISLNK(st.st_mode) &&
	    (fstatat(o->folder, o->name, &end, 0) != 0 || S_ISREG(end.st_mode))) {
		/* /dev/stdout, where that is a file */
		if (fstat(STDOUT_FILENO, &st) == 0 && st.st_dev == end.st_dev &&
		    st.st_ino == end.st_ino)
			return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
		eta_error("%s: is a link: name the file itself", o->path);
		return -ELOOP;
	}
	fd = openat(o->folder, o->name, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fd = -errno;
	eta_error("%s: cannot write: %s", o->path, strerror(-fd));
	return fd;
}

/* A file of another user's is not replaced. */
static int check_older(const struct output *o)
{
	char owner[FOLDER_OWNER_BYTES];
	struct stat st;

	if (fstatat(o->folder, o->name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    st.st_uid == folder_user())
		return 0;
	eta_error("%s: is there already and belongs to %s: choose another name", o->path,
		  folder_owner(st.st_uid, owner));
	return -EEXIST;
}

static void let_go(struct output *o)
{
	if (o->temporary)
		unlinkat(o->folder, o->temporary, 0);
	free(o->temporary);
	o->temporary = NULL;
	if (o->folder >= 0)
		close(o->folder);
	o->folder = -1;
}

int output_open(struct output *o, const char *path, mode_t mode)
{
	int fd;

	*o = (struct output){ .file = stdout, .path = path, .folder = -1, .mode = mode };
	if (!path)
		return 0;
	o->folder = folder_of(path, &o->name);
	if (o->folder < 0)
		return o->folder;
	fd = open_as_it_is(o);
	/* that its reader goes is an error like a full disk; of standard output it ends us */
	if (fd >= 0)
		signal(SIGPIPE, SIG_IGN);
	if (fd == -ENXIO) {
		fd = check_older(o);
		if (fd == 0) {
			fd = open_file(o);
			if (fd < 0)
				eta_error("%s: cannot write: %s", path, strerror(-fd));
		}
	}
	o->file = fd < 0 ? NULL : fdopen(fd, "w");
	if (o->file)
		return 0;
	if (fd >= 0) {
		close(fd);
		fd = -ENOMEM;
		eta_error("%s: not enough memory to write it", path);
	}
	let_go(o);
	return fd;
}

/* Gives the file a name: its own, or where there is an older one, one to be moved from. */
static int name_it(struct output *o)
{
	char self[FOLDER_PATH_BYTES];
	int rc;

	folder_path(fileno(o->file), NULL, self);
	if (linkat(AT_FDCWD, self, o->folder, o->name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	/* a new name, and instead of the file that took it the one that is written */
	rc = folder_new_file(o->folder, ".sci-output.", &o->temporary);
	if (rc < 0)
		return rc;
	close(rc);
	unlinkat(o->folder, o->temporary, 0);
	return linkat(AT_FDCWD, self, o->folder, o->temporary, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

int output_close(struct output *o, int rc)
{
	int named = 0, before = rc == -EIO ? errno : 0;
	bool failed;

	errno = 0; /* what is left in the buffer fails again, and says why */
	failed = fflush(o->file) != 0 || ferror(o->file);
	/* that a trace cannot be read is -EIO as well, and has been said */
	if (failed && (rc == 0 || rc == -EIO)) {
		eta_error("%s: cannot write: %s", o->path ? o->path : "standard output",
			  strerror(errno    ? errno
				   : before ? before
					    : EIO));
		rc = -EIO;
	}
	if (rc == 0 && (o->unnamed || o->temporary) && fchmod(fileno(o->file), o->mode) != 0)
		named = -errno;
	if (rc == 0 && named == 0 && o->unnamed)
		named = name_it(o);
	if (o->file != stdout && fclose(o->file) != 0 && rc == 0)
		named = -errno;
	if (rc == 0 && named == 0 && o->temporary &&
	    renameat(o->folder, o->temporary, o->folder, o->name) < 0)
		named = -errno;
	if (rc == 0 && named < 0) {
		rc = named;
		eta_error("%s: cannot put it in its place: %s", o->path, strerror(-rc));
	}
	if (rc == 0) {
		free(o->temporary);
		o->temporary = NULL;
	}
	let_go(o);
	return rc;
}

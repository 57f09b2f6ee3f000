/* A file that appears under its name when it is complete, or standard output. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/eta.h"

/* A file without a name in the folder of PATH: who is killed leaves nothing. */
static int open_unnamed(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int n = slash ? snprintf(folder, sizeof(folder), "%.*s", (int)(slash - path) + 1, path)
		      : snprintf(folder, sizeof(folder), ".");

	if (n < 0 || n >= (int)sizeof(folder)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
}

/* The same where the file system has no such files. */
static int open_temporary(struct output *o)
{
	mode_t mask = umask(0);
	int fd;

	umask(mask);
	if (asprintf(&o->temporary, "%s.XXXXXX", o->path) < 0) {
		o->temporary = NULL;
		errno = ENOMEM;
		return -1;
	}
	fd = mkostemp(o->temporary, O_CLOEXEC);
	if (fd >= 0)
		(void)fchmod(fd, 0666 & ~mask);
	return fd;
}

int output_open(struct output *o, const char *path)
{
	struct stat st;
	int fd = -1, rc;

	*o = (struct output){ .file = stdout, .path = path };
	if (!path)
		return 0;
	/* what is no file (a pipe, /dev/null) is written to as it is */
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
		o->file = fopen(path, "we");
	} else {
		fd = open_unnamed(path);
		o->unnamed = fd >= 0;
		if (fd < 0)
			fd = open_temporary(o);
		o->file = fd < 0 ? NULL : fdopen(fd, "w");
	}
	if (o->file)
		return 0;
	rc = -errno;
	eta_error("%s: cannot write: %s", path, strerror(-rc));
	if (fd >= 0) {
		close(fd);
		if (o->temporary)
			unlink(o->temporary);
	}
	free(o->temporary);
	o->temporary = NULL;
	return rc;
}

/* Gives the file a name: its own, or where there is an older one, one to be moved from. */
static int name_it(struct output *o)
{
	char self[64];
	int rc;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fileno(o->file));
	if (linkat(AT_FDCWD, self, AT_FDCWD, o->path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (asprintf(&o->temporary, "%s.%d", o->path, (int)getpid()) < 0) {
		o->temporary = NULL;
		return -ENOMEM;
	}
	rc = linkat(AT_FDCWD, self, AT_FDCWD, o->temporary, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
	if (rc) { /* so that name is not ours */
		free(o->temporary);
		o->temporary = NULL;
	}
	return rc;
}

int output_close(struct output *o, int rc)
{
	bool failed;
	int named = 0;

	errno = 0; /* what is left in the buffer fails again, and says why */
	failed = fflush(o->file) != 0 || ferror(o->file);
	/* that a trace cannot be read is -EIO as well, and has been said */
	if (failed && (rc == 0 || rc == -EIO)) {
		eta_error("%s: cannot write: %s", o->path ? o->path : "standard output",
			  strerror(errno ? errno : EIO));
		rc = -EIO;
	}
	if (rc == 0 && o->unnamed)
		named = name_it(o);
	if (o->file != stdout && fclose(o->file) != 0 && rc == 0)
		named = -errno;
	if (rc == 0 && named == 0 && o->temporary && rename(o->temporary, o->path) < 0)
		named = -errno;
	if (rc == 0 && named < 0) {
		rc = named;
		eta_error("%s: cannot put it in its place: %s", o->path, strerror(-rc));
	}
	if (o->temporary && rc)
		unlink(o->temporary);
	free(o->temporary);
	return rc;
}

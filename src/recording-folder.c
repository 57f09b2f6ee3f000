/* The folder of a recording: its own, its spools, what it is made of. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "recording-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/spool-budget.h"
#include "watch.h"

/* The program's own files: "DIR/user.spool/user.PID.TID.TIME" has to be a path. */
enum { ROOM_BELOW = 96 };

/* What a recording is made of, and of what its folders are. */
static const struct member {
	const char *name;
	const char *const *files; /* NULL: it is no folder */
} members[] = {
	{ ARCHIVE, NULL },
	{ "unified.def", NULL },
	{ "unified", (const char *const[]){ "*.evt", "*.def", "*.runs", "times.index", NULL } },
	{ USER_SPOOL, (const char *const[]){ "process.*", "user.*", SPOOL_BUDGET_FILE, NULL } },
	{ KERNEL_SPOOL, (const char *const[]){ KERNEL_SPOOL_FILES, NULL } },
	{ JOB_LINK, NULL },
	{ SPOOLS_MERGED, NULL }, /* the last: until then it says what the others are */
};
#define N_MEMBERS (sizeof(members) / sizeof(*members))

static const struct member *find_member(const char *name)
{
	for (size_t i = 0; i < N_MEMBERS; i++)
		if (strcmp(members[i].name, name) == 0)
			return &members[i];
	return NULL;
}

static int remove_member(int at, const char *shown, const struct member *member)
{
	/* analyzer: who looks for a member names one of them */
	return folder_remove(at, member->name, shown, member->files ? 1 : 0, member->files);
}

/* An older recording is removed completely or not at all. */
static int make_room(int at, const char *shown, bool force)
{
	struct stat st;
	bool found = false;
	int rc = 0;

	for (size_t i = 0; i < N_MEMBERS; i++)
		found |= fstatat(at, members[i].name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!found)
		return 0;
	if (!force) {
		eta_error("%s: a recording is there already (--force replaces it)", shown);
		return -EEXIST;
	}
	for (size_t i = 0; rc == 0 && i < N_MEMBERS; i++) {
		char *stranger = members[i].files
					 ? folder_stranger(at, members[i].name, members[i].files)
					 : NULL;

		if (!stranger)
			continue;
		eta_error("%s/%s: holds \"%s\", which is no part of a recording: move it away or "
			  "choose another folder",
			  shown, members[i].name, stranger);
		free(stranger);
		rc = -ENOTEMPTY;
	}
	for (size_t i = 0; rc == 0 && i < N_MEMBERS; i++)
		rc = remove_member(at, shown, &members[i]);
	return rc;
}

int recording_folder_find(struct recording_folder *r)
{
	struct stat own, found;
	char *path = folder_place(r->folder.fd);
	int rc = path ? 0 : -errno;

	if (rc == 0 && (fstat(r->folder.fd, &own) != 0 || stat(path, &found) != 0 ||
			own.st_dev != found.st_dev || own.st_ino != found.st_ino))
		rc = -ENOENT;
	if (rc == 0 && strlen(path) + ROOM_BELOW > PATH_MAX)
		rc = -ENAMETOOLONG;
	if (rc) {
		eta_error("%.64s%s: the folder of the recording cannot be reached by its path: %s "
			  "(-o names another)",
			  path ? path : "", path && strlen(path) > 64 ? "..." : "", strerror(-rc));
		free(path);
		return rc;
	}
	free(r->path);
	r->path = path;
	free(r->user_spool);
	if (asprintf(&r->user_spool, "%s/" USER_SPOOL, path) < 0) {
		r->user_spool = NULL;
		rc = -ENOMEM;
	}
	return rc;
}

/* A new folder PROGRAM_sci, PROGRAM_sci.2, ... in the working directory. */
static int open_new(struct recording_folder *r, const char *program, mode_t mode)
{
	const char *slash = strrchr(program, '/');
	char dir[NAME_MAX + 1];
	struct stat st;

	if (slash)
		program = slash + 1;
	for (unsigned n = 1; n < 10000; n++) {
		int rc;

		if (n == 1)
			snprintf(dir, sizeof(dir), "%.200s_sci", program);
		else
			snprintf(dir, sizeof(dir), "%.200s_sci.%u", program, n);
		if (lstat(dir, &st) == 0)
			continue;
		rc = folder_take(dir, folder_mode(mode), &r->folder);
		if (rc == 0 && !r->folder.made) {
			/* of somebody who came in between */
			folder_close(&r->folder);
			continue;
		}
		return rc;
	}
	eta_error("%s: too many recordings here (-o names another)", dir);
	return -EEXIST;
}

int recording_folder_open(struct recording_folder *r, const char *dir, const char *program,
			  bool force, mode_t mode)
{
	int rc;

	*r = (struct recording_folder){ .mode = mode, .user = -1, .kernel = -1 };
	rc = dir ? folder_take(dir, folder_mode(mode), &r->folder) : open_new(r, program, mode);
	if (rc)
		return rc;
	/* absolute: the program may change its working directory */
	rc = recording_folder_find(r);
	if (rc == 0 && !r->folder.made)
		rc = make_room(r->folder.fd, dir ? dir : r->path, force);
	if (rc) {
		if (r->folder.made)
			unlinkat(r->folder.parent, r->folder.name, AT_REMOVEDIR);
		recording_folder_close(r);
	}
	return rc;
}

int recording_folder_job(struct recording_folder *r, const char *job)
{
	int rc = symlinkat(job, r->folder.fd, JOB_LINK) == 0 ? 0 : -errno;

	if (rc && rc != -EEXIST)
		eta_error("%s/" JOB_LINK ": cannot be made: %s", r->path, strerror(-rc));
	return rc;
}

void recording_folder_whose(const char *dir, char job[RECORDING_JOB_BYTES])
{
	char path[PATH_MAX];
	ssize_t n = -1;

	if (snprintf(path, sizeof(path), "%s/" JOB_LINK, dir) < (int)sizeof(path))
		n = readlink(path, job, RECORDING_JOB_BYTES - 1);
	job[n < 0 ? 0 : n] = '\0';
}

int recording_folder_spool(struct recording_folder *r, const char *name)
{
	int *fd = strcmp(name, USER_SPOOL) == 0 ? &r->user : &r->kernel;
	bool made;

	*fd = folder_take_below(r->folder.fd, r->path, name, 0700, &made);
	return *fd;
}

int recording_folder_remove(struct recording_folder *r, const char *name, bool empty)
{
	if (empty)
		return unlinkat(r->folder.fd, name, AT_REMOVEDIR) == 0 ? 0 : -errno;
	return remove_member(r->folder.fd, r->path, find_member(name));
}

void recording_folder_drop_spools(struct recording_folder *r)
{
	int fd = openat(r->folder.fd, SPOOLS_MERGED, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			r->mode);
	int rc;

	/* without it they stay: half of them would be taken for all */
	if (fd < 0) {
		eta_warn("%s: the tracers' files are kept: %s", r->path, strerror(errno));
		return;
	}
	close(fd);
	rc = recording_folder_remove(r, USER_SPOOL, false);
	if (rc == 0)
		rc = recording_folder_remove(r, KERNEL_SPOOL, false);
	if (rc == 0)
		unlinkat(r->folder.fd, SPOOLS_MERGED, 0);
}

void recording_folder_undo(struct recording_folder *r)
{
	if (r->user >= 0)
		recording_folder_remove(r, USER_SPOOL, false);
	if (r->kernel >= 0)
		recording_folder_remove(r, KERNEL_SPOOL, false);
	unlinkat(r->folder.fd, TRACER_LINK, 0);
	unlinkat(r->folder.fd, JOB_LINK, 0);
	if (r->folder.made)
		unlinkat(r->folder.parent, r->folder.name, AT_REMOVEDIR);
}

void recording_folder_widen(const struct recording_folder *r)
{
	const int spools[] = { r->user, r->kernel };
	int rc = 0;

	for (size_t i = 0; i < sizeof(spools) / sizeof(*spools); i++) {
		if (spools[i] < 0 || r->mode == 0600)
			continue;
		rc = folder_set_modes(spools[i], r->mode);
		if (rc == 0 && fchmod(spools[i], folder_mode(r->mode)) != 0)
			rc = -errno;
		if (rc)
			eta_warn("%s: its spools cannot be given mode %03o: %s", r->path,
				 (unsigned)r->mode, strerror(-rc));
	}
}

void recording_folder_close(struct recording_folder *r)
{
	folder_close(&r->folder);
	if (r->user >= 0)
		close(r->user);
	if (r->kernel >= 0)
		close(r->kernel);
	free(r->path);
	free(r->user_spool);
	*r = (struct recording_folder){ .folder = { .fd = -1, .parent = -1 },
					.user = -1,
					.kernel = -1 };
}

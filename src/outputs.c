/* What a command may write to. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "outputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/format/record.h"

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool ends_in(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && strcmp(path + n - m, suffix) == 0;
}

/* The first bytes of a file, a '\0' behind them; how many, 0 of what is none. */
static size_t read_head(const char *path, char head[OUTPUT_HEAD_BYTES + 1])
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, head, OUTPUT_HEAD_BYTES);

	if (fd >= 0)
		close(fd);
	n = n < 0 ? 0 : n;
	head[n] = '\0';
	return (size_t)n;
}

/* Any file of an OTF2 archive begins with a chunk and its byte order, an anchor also with OTF2. */
static bool is_archive_file(const char *head, size_t n)
{
	return n > 6 && head[0] == 3 &&
	       (head[1] == 'B' || head[1] == '#' || memcmp(head + 2, "OTF2", 4) == 0);
}

static bool is_spool_file(const char *head, size_t n)
{
	return n >= sizeof(ETA_SPOOL_MAGIC) - 1 &&
	       memcmp(head, ETA_SPOOL_MAGIC, sizeof(ETA_SPOOL_MAGIC) - 1) == 0;
}

/* ---- folders that are a trace ---- */

/* Is there a file FOLDER + SUFFIX? */
static bool has_beside(const char *folder, const char *suffix)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s%s", folder, suffix) < (int)sizeof(path) &&
	       access(path, F_OK) == 0;
}

static bool has_spool_name(const char *name)
{
	static const char *const beginnings[] = { "user.", "process.", "cpu.", "meta" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static bool holds_spool(const char *folder)
{
	char path[PATH_MAX], head[OUTPUT_HEAD_BYTES + 1];
	struct dirent *entry;
	DIR *dir = opendir(folder);
	bool found = false;
	int looks = 16; /* all of a spool's files begin alike, but one may be damaged */

	while (dir && !found && looks > 0 && (entry = readdir(dir))) {
		if (!has_spool_name(entry->d_name) || snprintf(path, sizeof(path), "%s/%s", folder,
							       entry->d_name) >= (int)sizeof(path))
			continue;
		found = is_spool_file(head, read_head(path, head));
		looks--;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* What trace FOLDER, a name without links, is the inside of; NULL: none. */
static const char *trace_of(const char *folder)
{
	struct stat st;

	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return NULL;
	/* as the tracers call them: nothing may be in it yet */
	if (ends_in(folder, "/user.spool") || ends_in(folder, "/kernel.spool") ||
	    ends_in(folder, "/children.spool") || holds_spool(folder))
		return "a spool";
	return has_beside(folder, ".otf2") ? "an archive" : NULL;
}

/* The folder that PATH lies in, without links. */
static bool real_folder(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	char named[PATH_MAX];

	if (!slash)
		return realpath(".", folder);
	if (slash - path >= PATH_MAX)
		return false; /* who opens it says so */
	snprintf(named, sizeof(named), "%.*s", (int)(slash == path ? 1 : slash - path), path);
	return realpath(named, folder);
}

static int check_around(const char *path)
{
	char folder[PATH_MAX];
	const char *trace = real_folder(path, folder) ? trace_of(folder) : NULL;

	if (!trace)
		return 0;
	eta_error("%s: lies in %s: choose another name for the output", path, trace);
	return -EINVAL;
}

int output_check_folder(const char *folder)
{
	char real[PATH_MAX];
	const char *trace = realpath(folder, real) ? trace_of(real) : NULL;

	if (!trace)
		return check_around(folder);
	eta_error("%s: is the inside of %s: choose another folder", folder, trace);
	return -EINVAL;
}

/* ---- one file against the inputs ---- */

/* The parts of an archive, as numbers of files: X.otf2, X.def, X. Others have the first alone. */
enum { PARTS = 3 };

static void stat_parts(const char *path, struct stat parts[PARTS], bool there[PARTS])
{
	char part[PATH_MAX];
	int stem = (int)strlen(path) - 5;

	memset(there, 0, PARTS * sizeof(*there));
	there[0] = stat(path, &parts[0]) == 0;
	if (!ends_in(path, ".otf2") || stem + 5 >= PATH_MAX)
		return;
	snprintf(part, sizeof(part), "%.*s.def", stem, path);
	there[1] = stat(part, &parts[1]) == 0;
	snprintf(part, sizeof(part), "%.*s", stem, path);
	there[2] = stat(part, &parts[2]) == 0;
}

static int is_input(const char *name, const char *archive)
{
	if (archive)
		eta_error("%s: is a part of the input %s: choose another name for the output", name,
			  archive);
	else
		eta_error("%s: is an input: choose another name for the output", name);
	return -EINVAL;
}

static int check_inputs(const struct output_place *place, const struct stat *out)
{
	struct stat ours[PARTS] = { { 0 } }, its[PARTS];
	bool has[PARTS] = { false }, there[PARTS];
	const char *name = place->path ? place->path : "standard output";

	if (place->path) {
		stat_parts(place->path, ours, has);
	} else {
		ours[0] = *out;
		has[0] = true;
	}
	for (size_t i = 0; i < place->n_inputs; i++) {
		stat_parts(place->inputs[i], its, there);
		for (int a = 0; a < PARTS; a++)
			for (int b = 0; b < PARTS; b++)
				if (has[a] && there[b] && same_file(&ours[a], &its[b]))
					return is_input(name, b ? place->inputs[i] : NULL);
	}
	return 0;
}

/* What is at a name already: a trace's file is kept, and what this command has not made. */
static int check_content(const struct output_place *place, const char *name)
{
	char head[OUTPUT_HEAD_BYTES + 1];
	size_t n = read_head(name, head);
	bool trace = is_archive_file(head, n) || is_spool_file(head, n);

	if (trace)
		eta_error("%s: is a part of %s: choose another name for the output", name,
			  is_spool_file(head, n) ? "a spool" : "an archive");
	else if (n == 0 || !place->is_own(place->arg, head, n))
		eta_error("%s: is there already and no %s: choose another name for the output",
			  name, place->what);
	else
		return 0;
	return -EEXIST;
}

/* A name of what a process has open, in whose place no file could be put. */
static bool is_descriptor(const char *path)
{
	static const char *const folders[] = { "/dev/std", "/dev/fd/", "/proc/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	return false;
}

bool output_is_stdout(const char *path)
{
	struct stat named, out;

	return strcmp(path, "-") == 0 ||
	       (is_descriptor(path) && stat(path, &named) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
		same_file(&named, &out));
}

int output_check(const struct output_place *place)
{
	const char *path = place->path;
	struct stat st;
	int rc;

	if (!path)
		return fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode)
			       ? check_inputs(place, &st)
			       : 0;
	rc = check_inputs(place, NULL);
	if (rc == 0)
		rc = check_around(path);
	if (rc || !place->is_own || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return rc;
	if (is_descriptor(path)) {
		eta_error("%s: is an open file: choose another name for the output", path);
		return -EINVAL;
	}
	return st.st_size ? check_content(place, path) : 0;
}

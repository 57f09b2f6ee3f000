/* The list of sources, and opening a path with the one that knows it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/folder.h"
#include "eta-ext/trace/machines.h"
#include "eta-ext/trace/source.h"

static const struct eta_source_ops *const sources[] = {
#define X(name) &eta_source_##name,
	ETA_SOURCES(X)
#undef X
		NULL,
};

/* What another user left is read, but it is theirs to say. */
static void note_owner(const char *path, const struct stat *st)
{
	char owner[FOLDER_OWNER_BYTES];

	if (st->st_uid != folder_user())
		eta_note("%s: belongs to %s, who says what is in it", path,
			 folder_owner(st->st_uid, owner));
}

/* The first bytes of PATH, for the probes; none for a directory. */
static int read_head(const char *path, unsigned char *head, size_t room, size_t *n, bool *directory)
{
	struct stat st;
	ssize_t got = 0;
	int rc = 0;
	/* A fifo without a writer would block here for ever. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &st) < 0) {
		rc = -errno;
		goto out;
	}
	note_owner(path, &st);
	*directory = S_ISDIR(st.st_mode);
	if (!*directory)
		got = pread(fd, head, room, 0);
	if (got < 0)
		rc = -errno;
	*n = got > 0 ? (size_t)got : 0;
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

static void report_unknown(const char *path, bool directory, size_t head_bytes)
{
	if (directory)
		eta_error("%s: is a directory but not a spool (an OTF2 archive is named by its "
			  "anchor file, X.otf2)",
			  path);
	else if (head_bytes == 0)
		eta_error("%s: is empty, so it is no trace", path);
	else
		eta_error("%s: unknown format (an OTF2 archive is named by its anchor file, "
			  "X.otf2; a spool by its directory; sci-import(1) lists the logs)",
			  path);
}

const char *eta_source_name(size_t i, const char **what)
{
	if (i >= sizeof(sources) / sizeof(*sources) - 1)
		return NULL;
	if (what)
		*what = sources[i]->what;
	return sources[i]->name;
}

/* The source that OPTIONS name, else the first that knows PATH; NULL: none, reported. */
static const struct eta_source_ops *find_source(const char *path, const struct eta_options *options,
						bool directory, const unsigned char *head,
						size_t head_bytes)
{
	const char *format = options ? options->format : NULL;

	for (size_t i = 0; sources[i]; i++)
		if (format ? strcmp(sources[i]->name, format) == 0
			   : sources[i]->probe(path, directory, head, head_bytes))
			return sources[i];
	if (format)
		eta_error("%s: there is no format \"%s\" (sci-import --list-formats)", path,
			  format);
	else
		report_unknown(path, directory, head_bytes);
	return NULL;
}

/* What helps, where a trace cannot be opened. */
static const char *remedy_of(int error)
{
	switch (error) {
	case ENOENT:
		return " (sci-record -o DIR leaves its trace in DIR: name that)";
	case EACCES:
		return " (of another user? sudo, or have it given to you)";
	case ESPIPE:
		return " (a pipe can be read once: write it to a file first)";
	default:
		return "";
	}
}

int eta_open(const char *path, const struct eta_options *options, struct eta_trace **out)
{
	unsigned char head[4096];
	size_t head_bytes = 0;
	bool directory = false;
	const struct eta_source_ops *source;
	struct eta_trace *trace;
	int rc = read_head(path, head, sizeof(head), &head_bytes, &directory);

	*out = NULL;
	if (rc < 0) {
		eta_error("%s: cannot open: %s%s", path, strerror(-rc), remedy_of(-rc));
		return rc;
	}
	source = find_source(path, options, directory, head, head_bytes);
	if (!source)
		return -EINVAL;
	trace = eta_trace_new(source, path, options);
	if (!trace)
		return -ENOMEM;
	rc = source->open(trace);
	if (rc == 0)
		machines_settle(&trace->defs);
	if (rc < 0)
		eta_close(trace);
	else
		*out = trace;
	return rc;
}

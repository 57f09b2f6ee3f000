/* One input for a source of eta-ext: opened, read whole, checked. For libFuzzer and for replay. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/base/eta.h"
#include "fuzz.h"

bool fuzz_calls_fail;

static const char *format;
static char folder[64]; /* of a format that is one */

/* What the parts of an input are called where a trace is several files. */
static const char *const archive_files[] = { "x.otf2",	 "x.def",	  "x/0.evt", "x/0.def",
					     "x/0.runs", "x/times.index", NULL };
static const char *const spool_files[] = { "meta", "process.7.1", "user.7.8.1", "cpu.0", NULL };
static const char *const ctf_files[] = { "metadata", "stream_0", "stream_1", NULL };
/* two archives and one that may have its events in theirs */
static const char *const merge_files[] = { "x.otf2",  "x.def",	 "x/0.evt",  "x/1.evt", "y.otf2",
					   "y.def",   "y/0.evt", "y/1.evt",  "z.otf2",	"z.def",
					   "z/0.def", "z/1.def", "x/0.runs", NULL };
/* two recordings of one run, or of two machines */
static const char *const spools_files[] = { "x/meta",	    "x/process.7.1", "x/user.7.8.1",
					    "x/cpu.0",	    "y/meta",	     "y/process.7.1",
					    "y/user.7.8.1", "y/cpu.0",	     NULL };

/* LTTng's traces of two machines */
static const char *const ctfs_files[] = { "x/metadata", "x/stream_0", "x/stream_1", "y/metadata",
					  "y/stream_0", "y/stream_1", NULL };

/* where those of z are */
static const struct {
	const char *name, *to;
} links[] = { { "z/0.evt", "../x/0.evt" }, { "z/1.evt", "../y/0.evt" } };

enum { FOLDERS = 3, ANCHORS = 3 };

/* The formats that are folders. */
static const struct folder_format {
	const char *name;
	const char *const *files;
	bool ordered;
	const char *below[FOLDERS + 1];	  /* folders of files in it */
	const char *anchors[ANCHORS + 1]; /* what is opened, each, and several as one */
	bool reported;			  /* what they make as one is exported and analysed, too */
} folder_formats[] = {
	{ "otf2", archive_files, false, { "/x" }, { "/x.otf2" } },
	{ "spool", spool_files, false, { NULL }, { "" } },
	{ "ctf", ctf_files, true, { NULL }, { "" } },
	{ "merge", merge_files, false, { "/x", "/y", "/z" }, { "/x.otf2", "/y.otf2", "/z.otf2" } },
	{ "spools", spools_files, false, { "/x", "/y" }, { "/x", "/y" } },
	{ "merge-reports",
	  merge_files,
	  false,
	  { "/x", "/y", "/z" },
	  { "/x.otf2", "/y.otf2", "/z.otf2" },
	  true },
	{ "spools-reports", spools_files, false, { "/x", "/y" }, { "/x", "/y" }, true },
	{ "ctfs", ctfs_files, true, { "/x", "/y" }, { "/x", "/y" } },
};
static const struct folder_format *folder_format; /* NULL: a file */

static void no_message(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	(void)severity;
	(void)text;
}

static void die(const char *what)
{
	fprintf(stderr, "fuzz %s: %s: %s\n", format, what, strerror(errno));
	abort();
}

/* The times of a location's events. */
struct times {
	uint64_t first_ns, last_ns;
};

/* The trace's times never run backwards, whatever the log did. */
static struct times read_cursor(struct eta_cursor *cursor, bool ordered)
{
	struct times times = { .first_ns = UINT64_MAX };
	const struct eta_event *batch;
	ssize_t n;

	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (ordered && batch[i].time_ns < times.last_ns)
				die("events out of order");
			times.last_ns = batch[i].time_ns;
			if (batch[i].time_ns < times.first_ns)
				times.first_ns = batch[i].time_ns;
		}
	return times;
}

/* The middle third of what TIMES say, by an index, where there is one that fits. */
static void read_part(struct eta_trace *trace, uint32_t location, struct times times, bool ordered)
{
	uint64_t third_ns = (times.last_ns - times.first_ns) / 3;
	struct eta_cursor *cursor;
	struct eta_whole whole;

	if (times.first_ns > times.last_ns || eta_cursor_open(trace, location, &cursor) < 0)
		return;
	if (eta_cursor_part(cursor, times.first_ns + third_ns, times.last_ns - third_ns, &whole))
		read_cursor(cursor, ordered);
	eta_cursor_close(cursor);
}

static void read_location(struct eta_trace *trace, uint32_t location, bool ordered)
{
	struct eta_cursor *cursor;
	struct times times;

	if (eta_cursor_open(trace, location, &cursor) < 0)
		return;
	times = read_cursor(cursor, ordered);
	eta_cursor_close(cursor);
	read_part(trace, location, times, ordered);
}

static void read_all(struct eta_trace *trace, bool ordered)
{
	for (uint32_t i = 0; i < eta_trace_defs(trace)->n_locations; i++)
		read_location(trace, i, ordered);
}

static void read_trace(const char *path, const struct eta_options *options)
{
	struct eta_trace *trace, *merged;

	if (eta_open(path, options, &trace) < 0)
		return;
	read_all(trace, !folder_format || folder_format->ordered);
	/* the check stage and the union of definitions, on the same input */
	if (eta_merge(&trace, 1, &merged) < 0)
		return;
	read_all(merged, true);
	eta_close(merged);
}

#define LONGEST_NS (1ull << 50)

struct seen {
	uint64_t start_ns, last_ns; /* of all, of the location */
	uint64_t end_ns;
	uint32_t location;
};

static int in_order(void *arg, uint32_t location, const struct eta_event *event)
{
	struct seen *seen = arg;

	if (location != seen->location)
		seen->last_ns = seen->start_ns;
	seen->location = location;
	if (event->time_ns < seen->last_ns)
		die("events out of order");
	seen->last_ns = event->time_ns;
	if (seen->end_ns < event->time_ns)
		seen->end_ns = event->time_ns;
	return 0;
}

/* Several inputs of one run: their threads, clocks and machines are found in what they hold. */
static void read_as_one(char *const *paths, size_t n, const struct eta_options *options)
{
	struct eta_trace *merged;
	struct seen seen = { .location = ETA_NONE };

	if (eta_open_merged(paths, n, options, &merged) < 0)
		return;
	if (eta_trace_start(merged, &seen.start_ns) == 0) {
		if (fuzz_calls_fail)
			seen.start_ns = 0;
		eta_trace_read(merged, in_order, &seen);
	}
	/* sums of times that are years apart do not fit 64 bits; nothing is found by them */
	if (folder_format->reported && options->lenient && seen.end_ns - seen.start_ns < LONGEST_NS)
		fuzz_reports(merged);
	eta_close(merged);
}

static void read_folder(const struct eta_options *options)
{
	char paths[ANCHORS][128], *names[ANCHORS];
	size_t n = 0;

	for (; folder_format->anchors[n]; n++) {
		snprintf(paths[n], sizeof(paths[n]), "%s%s", folder, folder_format->anchors[n]);
		names[n] = paths[n];
		read_trace(paths[n], options);
	}
	if (n > 1)
		read_as_one(names, 2, options);
}

static void write_file(const char *name, const uint8_t *data, size_t bytes)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (bytes == 0) {
		unlink(path);
		return;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		die(path);
	close(fd);
}

/* DATA holds the files one after the other, each behind its length (32 bits, little endian). */
static void write_folder(const char *const *names, const uint8_t *data, size_t bytes)
{
	for (; *names; names++) {
		size_t n = 0;

		if (bytes >= 4) {
			n = data[0] | (size_t)data[1] << 8 | (size_t)data[2] << 16;
			data += 4;
			bytes -= 4;
		}
		if (n > bytes)
			n = bytes;
		write_file(*names, data, n);
		data += n;
		bytes -= n;
	}
}

static void remove_folder(void)
{
	char path[128];

	for (const char *const *name = folder_format->files; *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", folder, *name);
		unlink(path);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, links[i].name);
		unlink(path);
	}
	for (const char *const *below = folder_format->below; *below; below++) {
		snprintf(path, sizeof(path), "%s%s", folder, *below);
		rmdir(path);
	}
	rmdir(folder);
}

/* NULL: of several inputs, each says what it is. */
static const char *one_format(void)
{
	return folder_format && folder_format->anchors[1] ? NULL : format;
}

void fuzz_start(const char *name)
{
	char path[128];

	format = name;
	eta_set_message_fn(no_message, NULL);
	for (size_t i = 0; i < sizeof(folder_formats) / sizeof(*folder_formats); i++)
		if (strcmp(name, folder_formats[i].name) == 0)
			folder_format = &folder_formats[i];
	if (!folder_format)
		return;
	/* in memory, where that is: an input costs several files */
	snprintf(folder, sizeof(folder), "%s/sci-fuzz.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(folder))
		die(folder);
	atexit(remove_folder);
	for (const char *const *below = folder_format->below; *below; below++) {
		snprintf(path, sizeof(path), "%s%s", folder, *below);
		if (mkdir(path, 0700) < 0)
			die(path);
	}
	if (folder_format->files != merge_files)
		return;
	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, links[i].name);
		if (symlink(links[i].to, path) < 0)
			die(path);
	}
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
	char path[128] = "";
	int fd;

	if (fuzz_vm(format, data, bytes))
		return;
	fd = memfd_create("input", MFD_CLOEXEC); /* what is opened from here on is behind it */
	if (folder_format) {
		write_folder(folder_format->files, data, bytes);
	} else {
		if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
			die("memfd");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	for (int lenient = 0; lenient <= 1; lenient++) {
		const struct eta_options options = { .lenient = lenient, .format = one_format() };

		if (folder_format)
			read_folder(&options);
		else
			read_trace(path, &options);
	}
	/* libotf2 leaves an archive open that it refuses */
	if (fd >= 0)
		close_range((unsigned)fd, UINT_MAX, 0);
}

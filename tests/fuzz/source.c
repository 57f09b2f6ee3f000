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

static const char *format;
static char folder[64]; /* of a format that is one */

/* What the parts of an input are called where a trace is several files. */
static const char *const archive_files[] = { "x.otf2", "x.def", "x/0.evt", "x/0.def", NULL };
static const char *const spool_files[] = { "meta", "process.7.1", "user.7.8.1", "cpu.0", NULL };
static const char *const ctf_files[] = { "metadata", "stream_0", "stream_1", NULL };

/* The formats that are folders. */
static const struct folder_format {
	const char *name;
	const char *const *files;
	const char *below;  /* a folder of files in it */
	const char *anchor; /* what is opened */
	bool ordered;
} folder_formats[] = {
	{ "otf2", archive_files, "/x", "/x.otf2", false },
	{ "spool", spool_files, NULL, "", false },
	{ "ctf", ctf_files, NULL, "", true },
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

/* The trace's times never run backwards, whatever the log did. */
static void read_location(struct eta_trace *trace, uint32_t location, bool ordered)
{
	struct eta_cursor *cursor;
	const struct eta_event *batch;
	uint64_t last_ns = 0;
	ssize_t n;

	if (eta_cursor_open(trace, location, &cursor) < 0)
		return;
	while ((n = eta_cursor_read(cursor, &batch)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (ordered && batch[i].time_ns < last_ns)
				die("events out of order");
			last_ns = batch[i].time_ns;
		}
	eta_cursor_close(cursor);
}

static void read_trace(const char *path, bool lenient)
{
	const struct eta_options options = { .lenient = lenient, .format = format };
	bool ordered = !folder_format || folder_format->ordered;
	struct eta_trace *trace, *merged;

	if (eta_open(path, &options, &trace) < 0)
		return;
	for (uint32_t i = 0; i < eta_trace_defs(trace)->n_locations; i++)
		read_location(trace, i, ordered);
	/* the check stage and the union of definitions, on the same input */
	if (eta_merge(&trace, 1, &merged) < 0)
		return;
	for (uint32_t i = 0; i < eta_trace_defs(merged)->n_locations; i++)
		read_location(merged, i, true);
	eta_close(merged);
}

static void read_both(const char *path)
{
	read_trace(path, false);
	read_trace(path, true);
}

static void write_file(const char *name, const uint8_t *data, size_t bytes)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
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
	if (folder_format->below) {
		snprintf(path, sizeof(path), "%s%s", folder, folder_format->below);
		rmdir(path);
	}
	rmdir(folder);
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
	if (folder_format->below) {
		snprintf(path, sizeof(path), "%s%s", folder, folder_format->below);
		if (mkdir(path, 0700) < 0)
			die(path);
	}
}

void fuzz_one(const uint8_t *data, size_t bytes)
{
	char path[128];
	int fd;

	if (fuzz_vm(format, data, bytes))
		return;
	fd = memfd_create("input", MFD_CLOEXEC); /* what is opened from here on is behind it */
	if (folder_format) {
		write_folder(folder_format->files, data, bytes);
		snprintf(path, sizeof(path), "%s%s", folder, folder_format->anchor);
	} else {
		if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
			die("memfd");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	read_both(path);
	/* libotf2 leaves an archive open that it refuses */
	if (fd >= 0)
		close_range((unsigned)fd, UINT_MAX, 0);
}

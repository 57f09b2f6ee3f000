/* Source: OTF2 archives, of ours and of others, read location by location. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read-cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <otf2/OTF2_Pthread_Locks.h>

/*
 * The anchor file says its name; the other files, which users name by mistake, only begin like it:
 * a chunk's head and the byte order, here little endian.
 */
static bool otf2_probe(const char *path, bool directory, const unsigned char *head,
		       size_t head_bytes)
{
	(void)path;
	return !directory && head_bytes >= 16 && head[0] == 3 &&
	       (memcmp(head + 2, "OTF2", 4) == 0 || head[1] == 'B');
}

/* The size of BASE + SUFFIX; reports what is wrong with it. */
static int need_file(const struct eta_trace *trace, const char *suffix, bool directory, off_t *size)
{
	const struct otf2 *otf2 = trace->data;
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s%s", otf2->base, suffix);

	if (n >= (int)sizeof(path) || stat(path, &st) < 0) {
		eta_error("%s: its %s %s%s cannot be read: %s (X.otf2, X.def and the folder X are "
			  "one archive: keep them together)",
			  trace->path, directory ? "folder" : "file", otf2->base, suffix,
			  strerror(errno));
		return -errno;
	}
	if (S_ISDIR(st.st_mode) != directory) {
		eta_error("%s: %s is %s directory", trace->path, path, directory ? "no" : "a");
		return directory ? -ENOTDIR : -EISDIR;
	}
	*size = st.st_size;
	return 0;
}

static int check_files(struct eta_trace *trace)
{
	struct otf2 *otf2 = trace->data;
	size_t n = strlen(trace->path);
	off_t bytes;
	int rc;

	if (n <= 5 || strcmp(trace->path + n - 5, ".otf2") != 0) {
		eta_error("%s: is a part of an OTF2 archive, which is named by its anchor file, "
			  "X.otf2",
			  trace->path);
		return -EINVAL;
	}
	otf2->base = strndup(trace->path, n - 5);
	if (!otf2->base)
		return -ENOMEM;
	rc = need_file(trace, ".def", false, &bytes);
	if (rc == 0)
		rc = need_file(trace, "", true, &bytes);
	return rc;
}

/* What was lost before the archive was written is as lost as what is missing in it. */
static void read_counts(struct eta_trace *trace)
{
	const struct eta_defs *defs = &trace->defs;

	for (uint32_t i = 0; i < defs->n_properties; i++) {
		const char *name = defs->properties[i].name;
		uint64_t n = strtoull(defs->properties[i].value, NULL, 10);

		if (strcmp(name, ARCHIVE_LOST) == 0)
			trace->counts.lost += n;
		else if (strcmp(name, ARCHIVE_UNMATCHED) == 0)
			trace->counts.unmatched += n;
	}
}

/* VALUE of ARCHIVE_VERSION_PROPERTY: may this program read the archive? 0 or -EBADMSG, reported. */
static int check_version(const struct eta_trace *trace, const char *value)
{
	const unsigned long version = strtoul(value, NULL, 10);

	if (version <= ARCHIVE_VERSION)
		return 0;
	eta_error("%s: is an archive of version %lu, this program reads versions up to %d (take "
		  "the version of eztrace-sci that wrote it)",
		  trace->path, version, ARCHIVE_VERSION);
	return -EBADMSG;
}

static int read_properties(struct eta_trace *trace)
{
	struct otf2 *otf2 = trace->data;
	char **names = NULL, *creator = NULL;
	uint32_t n = 0;
	int rc = 0;

	if (OTF2_Reader_GetTraceId(otf2->reader, &otf2->id) != OTF2_SUCCESS)
		otf2->id = 0;
	if (OTF2_Reader_GetCreator(otf2->reader, &creator) == OTF2_SUCCESS)
		otf2->ours = strncmp(creator, ARCHIVE_CREATOR, strlen(ARCHIVE_CREATOR)) == 0;
	if (OTF2_Reader_GetPropertyNames(otf2->reader, &n, &names) != OTF2_SUCCESS)
		n = 0;
	for (uint32_t i = 0; rc == 0 && i < n; i++) {
		char *value = NULL;

		if (OTF2_Reader_GetProperty(otf2->reader, names[i], &value) != OTF2_SUCCESS)
			continue;
		/* these are of this form, not of the trace */
		if (strcmp(names[i], ARCHIVE_VERSION_PROPERTY) == 0)
			rc = otf2->ours ? check_version(trace, value) : 0;
		else if (strcmp(names[i], ARCHIVE_CALLERS) == 0)
			otf2->callers_change = strcmp(value, ARCHIVE_CALLERS_CHANGES) == 0;
		else if (eta_defs_property(trace, names[i], value) == ETA_NONE)
			rc = -ENOMEM;
		free(value);
	}
	free(names);
	free(creator);
	return rc;
}

/*
 * The plugin for EZTrace cannot but count from EZTrace's start; it says so by an offset that
 * belongs to every timestamp, which then is CLOCK_MONOTONIC. Elsewhere the offset is the least
 * timestamp.
 */
static bool counts_from_offset(const struct eta_trace *trace)
{
	const struct otf2 *otf2 = trace->data;

	for (uint32_t i = 0; !otf2->ours && i < trace->defs.n_properties; i++)
		if (strcmp(trace->defs.properties[i].name, "SCI::CLOCK") == 0)
			return strcmp(trace->defs.properties[i].value, "CLOCK_MONOTONIC") == 0;
	return false;
}

const char *otf2_remedy(const struct eta_trace *trace)
{
	static const char *const spools[] = { "user.spool", "kernel.spool" };
	const char *name = strrchr(trace->path, '/');
	const int folder = name ? (int)(name + 1 - trace->path) : 0;

	for (size_t i = 0; i < sizeof(spools) / sizeof(*spools); i++) {
		char *path;
		bool there;

		if (asprintf(&path, "%.*s%s", folder, trace->path, spools[i]) < 0)
			break;
		there = access(path, R_OK) == 0;
		free(path);
		if (there)
			return "(sci-merge makes it again, of the spools beside it)";
	}
	return "(record again, or merge again what it was made of)";
}

static int read_definitions(struct eta_trace *trace)
{
	struct otf2 *otf2 = trace->data;
	struct raw_defs raw = { .trace = trace };
	OTF2_GlobalDefReaderCallbacks *callbacks = otf2_definition_callbacks();
	OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(otf2->reader);
	OTF2_ErrorCode code = OTF2_ERROR_MEM_ALLOC_FAILED;
	uint64_t expected = 0, n = 0;
	int rc = 0;

	if (callbacks && reader) {
		OTF2_Reader_GetNumberOfGlobalDefinitions(otf2->reader, &expected);
		code = OTF2_Reader_RegisterGlobalDefCallbacks(otf2->reader, reader, callbacks,
							      &raw);
	}
	if (code == OTF2_SUCCESS)
		code = OTF2_Reader_ReadAllGlobalDefinitions(otf2->reader, reader, &n);
	if (code != OTF2_SUCCESS || n != expected) {
		eta_error("%s: %s.def: damaged after definition %" PRIu64 " of %" PRIu64 "%s%s %s",
			  trace->path, otf2->base, n, expected, code == OTF2_SUCCESS ? "" : ": ",
			  code == OTF2_SUCCESS ? "" : archive_error_take(code), otf2_remedy(trace));
		rc = -EBADMSG;
	} else if (raw.resolution == 0) {
		eta_error("%s: %s.def: no clock is defined", trace->path, otf2->base);
		rc = -EBADMSG;
	}
	if (rc == 0) {
		otf2->resolution = raw.resolution;
		if (counts_from_offset(trace) && raw.resolution == 1000000000)
			otf2->base_ns = raw.offset;
		otf2->first_ns = raw.offset;
		otf2->last_ns = raw.offset + raw.length;
		rc = otf2_build_definitions(&raw);
		otf2->readings =
			calloc((size_t)trace->defs.n_locations + 1, sizeof(*otf2->readings));
		if (!otf2->readings)
			rc = -ENOMEM;
		if (rc < 0)
			eta_error("%s: not enough memory for its definitions", trace->path);
	}
	if (callbacks)
		OTF2_GlobalDefReaderCallbacks_Delete(callbacks);
	if (reader)
		OTF2_Reader_CloseGlobalDefReader(otf2->reader, reader);
	otf2_raw_free(&raw);
	return rc;
}

/* Every location has a file of events, unless it has none. */
static int check_event_files(struct eta_trace *trace)
{
	const struct otf2 *otf2 = trace->data;
	const struct eta_defs *defs = &trace->defs;

	for (uint32_t i = 0; i < defs->n_locations; i++) {
		OTF2_ErrorCode code;
		char suffix[32];
		off_t bytes;
		int rc;

		code = OTF2_Reader_SelectLocation(otf2_reader(otf2, i), defs->locations[i].id);
		if (code != OTF2_SUCCESS) {
			eta_error("%s: location \"%s\": %s", trace->path, defs->locations[i].name,
				  archive_error_take(code));
			return -EBADMSG;
		}
		if (trace->options.lenient)
			continue; /* its cursor will count it */
		snprintf(suffix, sizeof(suffix), "/%" PRIu64 ".evt", defs->locations[i].id);
		rc = need_file(trace, suffix, false, &bytes);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/*
 * A thread begins with its first event where the archive does not say when. Without a tid it does
 * not matter, and costs: EZTrace's archives have chunks of 16 MiB, which libotf2 clears.
 */
static int find_starts(struct eta_trace *trace)
{
	struct eta_defs *defs = &trace->defs;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < defs->n_locations; i++)
		if (defs->locations[i].tid && !defs->locations[i].start_ns)
			rc = otf2_first_event(trace, i, &defs->locations[i].start_ns);
	return rc;
}

static int open_reader(const struct eta_trace *trace, OTF2_Reader **out)
{
	OTF2_ErrorCode code;

	archive_errors_catch();
	*out = OTF2_Reader_Open(trace->path);
	if (!*out) {
		eta_error("%s: damaged anchor file: %s %s", trace->path,
			  archive_error_take(OTF2_ERROR_INVALID_DATA), otf2_remedy(trace));
		return -EBADMSG;
	}
	/* Cursors of several threads share the reader. */
	code = OTF2_Pthread_Reader_SetLockingCallbacks(*out, NULL);
	if (code != OTF2_SUCCESS)
		*out = NULL; /* what it would be closed with is freed already */
	if (code == OTF2_SUCCESS)
		code = OTF2_Reader_SetSerialCollectiveCallbacks(*out);
	if (code == OTF2_SUCCESS)
		return 0;
	eta_error("%s: %s", trace->path, archive_error_take(code));
	return -EIO;
}

static uint32_t n_readers(const struct eta_trace *trace)
{
	return trace->defs.n_locations / OTF2_LOCATIONS_PER_READER + 1;
}

static int open_readers(struct eta_trace *trace)
{
	struct otf2 *otf2 = trace->data;
	int rc = 0;

	otf2->readers = calloc(n_readers(trace), sizeof(*otf2->readers));
	if (!otf2->readers) {
		eta_error("%s: not enough memory to read it", trace->path);
		return -ENOMEM;
	}
	otf2->readers[0] = otf2->reader;
	for (uint32_t i = 1; rc == 0 && i < n_readers(trace); i++)
		rc = open_reader(trace, &otf2->readers[i]);
	return rc;
}

static int open_files(struct eta_trace *trace)
{
	const struct otf2 *otf2 = trace->data;
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (uint32_t i = 0; code == OTF2_SUCCESS && i < n_readers(trace); i++) {
		code = OTF2_Reader_OpenEvtFiles(otf2->readers[i]);
		if (code == OTF2_SUCCESS)
			code = OTF2_Reader_OpenDefFiles(otf2->readers[i]);
	}
	if (code == OTF2_SUCCESS)
		return 0;
	eta_error("%s: %s", trace->path, archive_error_take(code));
	return -EIO;
}

static int otf2_open(struct eta_trace *trace)
{
	struct otf2 *otf2 = calloc(1, sizeof(*otf2));
	int rc;

	trace->data = otf2;
	if (!otf2) {
		eta_error("%s: not enough memory to read it", trace->path);
		return -ENOMEM;
	}
	rc = check_files(trace);
	if (rc == 0)
		rc = otf2_check_anchor(trace->path, otf2_remedy(trace));
	if (rc < 0)
		return rc;
	rc = open_reader(trace, &otf2->reader);
	if (rc < 0)
		return rc;
	rc = read_properties(trace);
	if (rc == 0)
		rc = read_definitions(trace);
	if (rc == 0)
		rc = open_readers(trace);
	if (rc == 0)
		rc = otf2_check_links(trace);
	if (rc == 0)
		rc = check_event_files(trace);
	if (rc < 0)
		return rc;
	read_counts(trace);
	rc = open_files(trace);
	return rc < 0 ? rc : find_starts(trace);
}

static void otf2_close(struct eta_trace *trace)
{
	struct otf2 *otf2 = trace->data;

	if (!otf2)
		return;
	for (uint32_t i = 1; otf2->readers && i < n_readers(trace); i++)
		if (otf2->readers[i])
			OTF2_Reader_Close(otf2->readers[i]);
	free(otf2->readers);
	if (otf2->reader)
		OTF2_Reader_Close(otf2->reader);
	ref_map_free(&otf2->regions);
	ref_map_free(&otf2->handles);
	ref_map_free(&otf2->stacks);
	free(otf2->operations);
	free(otf2->inputs);
	free(otf2->input_of.v);
	free(otf2->created);
	free(otf2->readings);
	otf2_index_free(otf2->index);
	free(otf2->base);
	free(otf2);
}

const struct eta_source_ops eta_source_otf2 = {
	.name = "otf2",
	.what = "OTF2 archive (its anchor file, X.otf2)",
	.probe = otf2_probe,
	.open = otf2_open,
	.close = otf2_close,
	.cursor_open = otf2_cursor_open,
	.cursor_part = otf2_cursor_part,
	.cursor_read = otf2_cursor_read,
	.cursor_close = otf2_cursor_close,
};

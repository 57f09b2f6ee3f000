/* OTF2 writer: the archive beside its place, moved there when it is complete. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-otf2.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <otf2/OTF2_Pthread_Locks.h>

#include "config.h"

/* Anchor last: without it there is no archive. */
static const char *const parts[] = { "", ".def", ".otf2" };
enum { N_PARTS = sizeof(parts) / sizeof(*parts) };

/* Where an archive goes. */
struct place {
	char *folder;	 /* "dir" of "dir/unified.otf2" */
	char *name;	 /* "unified" */
	char *temporary; /* folder of the archive while it is written, NULL: none yet */
};

int write_otf2_failed(struct archive_writer *writer, OTF2_ErrorCode code, const char *what)
{
	int saved = errno;
	const char *said = archive_error_take(code);

	/* Of several threads that meet the same full disk one is enough. */
	if (!__atomic_exchange_n(&writer->reported, true, __ATOMIC_RELAXED))
		eta_error("%s: cannot write %s: %s", writer->anchor, what, said);
	return saved == ENOSPC || saved == EDQUOT ? -saved : -EIO;
}

/* ---- places ---- */

static void place_free(struct place *place)
{
	free(place->folder);
	free(place->name);
	free(place->temporary);
}

static int place_of(const char *anchor, struct place *place)
{
	const char *slash = strrchr(anchor, '/'), *base = slash ? slash + 1 : anchor;
	size_t n = strlen(base);

	if (n <= 5 || strcmp(base + n - 5, ".otf2") != 0) {
		eta_error("%s: an archive's name ends in .otf2", anchor);
		return -EINVAL;
	}
	place->name = strndup(base, n - 5);
	place->folder = slash ? strndup(anchor, slash == anchor ? 1 : (size_t)(slash - anchor))
			      : strdup(".");
	if (!place->name || !place->folder) {
		eta_error("%s: not enough memory to write it", anchor);
		return -ENOMEM;
	}
	return 0;
}

static bool part_path(char *path, const char *folder, const char *name, int part)
{
	int n = snprintf(path, PATH_MAX, "%s/%s%s", folder, name, parts[part]);

	return n > 0 && n < PATH_MAX;
}

/* Is the archive at ANCHOR one that this writer made? */
static bool is_ours(const char *anchor)
{
	OTF2_Reader *reader = OTF2_Reader_Open(anchor);
	char *creator = NULL;
	bool ours = reader && OTF2_Reader_GetCreator(reader, &creator) == OTF2_SUCCESS &&
		    strncmp(creator, ARCHIVE_CREATOR, strlen(ARCHIVE_CREATOR)) == 0;

	free(creator);
	if (reader)
		OTF2_Reader_Close(reader);
	return ours;
}

/* What stands at the place already must be an archive of ours. */
static int check_place(const char *anchor, const struct place *place)
{
	char path[PATH_MAX];
	struct stat st;

	for (int part = N_PARTS - 1; part >= 0; part--) {
		if (!part_path(path, place->folder, place->name, part)) {
			eta_error("%s: name too long", anchor);
			return -ENAMETOOLONG;
		}
		if (lstat(path, &st) < 0)
			continue;
		if (part == N_PARTS - 1 && S_ISREG(st.st_mode) && is_ours(path))
			return 0;
		eta_error("%s: %s exists and is no archive of %s: remove it or choose another name",
			  anchor, path, ARCHIVE_CREATOR);
		return -EEXIST;
	}
	return 0;
}

static int make_temporary(const char *anchor, struct place *place)
{
	int rc = 0;

	if (asprintf(&place->temporary, "%s/.%s.XXXXXX", place->folder, place->name) < 0) {
		place->temporary = NULL;
		eta_error("%s: not enough memory to write it", anchor);
		return -ENOMEM;
	}
	if (!mkdtemp(place->temporary)) {
		rc = -errno;
		eta_error("%s: cannot write in %s: %s", anchor, place->folder, strerror(errno));
		free(place->temporary);
		place->temporary = NULL;
	}
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	/* What cannot be removed stays: there is nothing better to do, and the rest can go. */
	(void)remove(path);
	return 0;
}

static void remove_temporary(const struct place *place)
{
	if (place->temporary)
		nftw(place->temporary, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Moves the parts FROM..TO of an archive between folders; absent ones are passed over. */
static int move_parts(const char *from_folder, const char *from_name, const char *to_folder,
		      const char *to_name)
{
	char from[PATH_MAX], to[PATH_MAX];

	for (int part = 0; part < N_PARTS; part++) {
		if (!part_path(from, from_folder, from_name, part) ||
		    !part_path(to, to_folder, to_name, part))
			return -ENAMETOOLONG;
		if (rename(from, to) < 0 && errno != ENOENT)
			return -errno;
	}
	return 0;
}

/* The old archive out of the way (it goes with the temporary folder), the new one in its place. */
static int move_into_place(const char *anchor, const struct place *place)
{
	int rc = move_parts(place->folder, place->name, place->temporary, "old");

	if (rc == 0)
		rc = move_parts(place->temporary, place->name, place->folder, place->name);
	if (rc < 0) {
		eta_error("%s: cannot put the new archive in its place: %s", anchor, strerror(-rc));
		move_parts(place->temporary, "old", place->folder, place->name);
	}
	return rc;
}

/* ---- the archive ---- */

static OTF2_FlushType always_flush(void *arg, OTF2_FileType type, OTF2_LocationRef location,
				   void *caller, bool final)
{
	(void)arg;
	(void)type;
	(void)location;
	(void)caller;
	(void) final;
	return OTF2_FLUSH;
}

static OTF2_ErrorCode set_properties(OTF2_Archive *archive, const struct eta_defs *defs)
{
	OTF2_ErrorCode code = OTF2_Archive_SetCreator(archive, ARCHIVE_CREATOR " " PACKAGE_VERSION);

	/* An empty value deletes the property in libotf2, which fails where there is none. */
	for (uint32_t i = 0; code == OTF2_SUCCESS && i < defs->n_properties; i++)
		if (defs->properties[i].value[0])
			code = OTF2_Archive_SetProperty(archive, defs->properties[i].name,
							defs->properties[i].value, true);
	return code;
}

static int open_archive(struct archive_writer *writer, const struct place *place)
{
	static const OTF2_FlushCallbacks flush = { .otf2_pre_flush = always_flush };
	OTF2_ErrorCode code;

	writer->archive = OTF2_Archive_Open(place->temporary, place->name, OTF2_FILEMODE_WRITE,
					    WRITE_CHUNK_BYTES, WRITE_CHUNK_BYTES,
					    OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
	if (!writer->archive)
		return write_otf2_failed(writer, OTF2_ERROR_FILE_CAN_NOT_OPEN, "the archive");
	code = OTF2_Archive_SetFlushCallbacks(writer->archive, &flush, NULL);
	if (code == OTF2_SUCCESS)
		code = write_otf2_bound_memory(writer->archive);
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_SetSerialCollectiveCallbacks(writer->archive);
	if (code == OTF2_SUCCESS)
		code = OTF2_Pthread_Archive_SetLockingCallbacks(writer->archive, NULL);
	if (code == OTF2_SUCCESS)
		code = set_properties(writer->archive, eta_trace_defs(writer->trace));
	if (code == OTF2_SUCCESS)
		code = OTF2_Archive_OpenEvtFiles(writer->archive);
	return code == OTF2_SUCCESS ? 0 : write_otf2_failed(writer, code, "the archive's head");
}

static int write_archive(struct archive_writer *writer, const struct place *place, unsigned threads)
{
	char path[PATH_MAX];
	OTF2_ErrorCode code;
	int rc;

	writer->folder = place->temporary;
	writer->name = place->name;
	rc = open_archive(writer, place);
	if (rc == 0)
		rc = write_otf2_events(writer, threads);
	if (rc == 0) {
		code = OTF2_Archive_CloseEvtFiles(writer->archive);
		if (code != OTF2_SUCCESS)
			rc = write_otf2_failed(writer, code, "the events");
	}
	if (rc == 0)
		rc = write_otf2_definitions(writer);
	if (writer->archive) {
		code = OTF2_Archive_Close(writer->archive);
		if (rc == 0 && code != OTF2_SUCCESS)
			rc = write_otf2_failed(writer, code, "the end of it");
	}
	if (rc == 0)
		rc = write_otf2_check_file(writer, ".def", NULL);
	if (rc == 0 &&
	    (!part_path(path, place->temporary, place->name, N_PARTS - 1) || !is_ours(path)))
		rc = write_otf2_failed(writer, OTF2_ERROR_ENOSPC, "the anchor file");
	return rc;
}

static unsigned cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
}

static int check_locations(const struct eta_defs *defs, const char *anchor)
{
	for (uint32_t i = 1; i < defs->n_locations; i++) {
		if (defs->locations[i].id > defs->locations[i - 1].id)
			continue;
		eta_error("%s: locations are not in ascending order (\"%s\")", anchor,
			  defs->locations[i].name);
		return -EINVAL;
	}
	return 0;
}

int eta_write_otf2(struct eta_trace *trace, const char *anchor,
		   const struct eta_write_options *options, struct eta_counts *counts)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	struct archive_writer writer = { .trace = trace, .anchor = anchor, .options = options };
	struct place place = { 0 };
	unsigned threads = options && options->threads ? options->threads : cpus();
	int rc;

	archive_errors_catch();
	pthread_mutex_init(&writer.lock, NULL);
	writer.written = calloc((size_t)defs->n_locations + 1, sizeof(*writer.written));
	writer.order = calloc((size_t)defs->n_locations + 1, sizeof(*writer.order));
	writer.created = calloc((size_t)defs->n_handles + 1, sizeof(*writer.created));
	if (!writer.written || !writer.order || !writer.created) {
		eta_error("%s: not enough memory to write it", anchor);
		rc = -ENOMEM;
		goto out;
	}
	rc = check_locations(defs, anchor);
	if (rc == 0)
		rc = place_of(anchor, &place);
	if (rc == 0)
		rc = check_place(anchor, &place);
	if (rc == 0)
		rc = make_temporary(anchor, &place);
	if (rc == 0)
		rc = write_archive(&writer, &place, threads);
	if (rc == 0)
		rc = move_into_place(anchor, &place);
	remove_temporary(&place);
	if (counts) {
		eta_trace_counts(trace, counts);
		for (uint32_t i = 0; i < defs->n_locations; i++)
			counts->disorder += writer.written[i].disorder;
	}
out:
	free(writer.written);
	free(writer.order);
	free(writer.created);
	place_free(&place);
	pthread_mutex_destroy(&writer.lock);
	return rc;
}

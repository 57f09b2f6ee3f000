/* Source: a spool, the directory that our own tracers leave (record.h says what is in it). */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/format/archive.h"
#include "eta-ext/base/folder.h"
#include "eta-ext/base/known.h"
#include "eta-ext/base/plural.h"

enum { MAX_NAMED = 8, WHY_BYTES = 160 };

static bool is_spool_file(const char *name)
{
	static const char *const prefixes[] = { "user.", "process.", "cpu." };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return strcmp(name, "meta") == 0;
}

/* A name that says so is enough: a program without any I/O leaves an empty directory. */
static bool spool_probe(const char *path, bool directory, const unsigned char *head,
			size_t head_bytes)
{
	static const char suffix[] = ".spool";
	size_t n = strlen(path);
	struct dirent *entry;
	bool found;
	DIR *dir;

	(void)head;
	(void)head_bytes;
	if (!directory)
		return false;
	while (n > 1 && path[n - 1] == '/')
		n--;
	if (n >= sizeof(suffix) &&
	    strncmp(path + n - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) == 0)
		return true;
	dir = opendir(path);
	if (!dir)
		return false;
	do
		entry = readdir(dir);
	while (entry && !is_spool_file(entry->d_name));
	found = entry != NULL;
	closedir(dir);
	return found;
}

static int out_of_memory(const struct eta_trace *trace)
{
	eta_error("%s: not enough memory to open it", trace->path);
	return -ENOMEM;
}

static int by_path(const void *left, const void *right)
{
	/* numbers by their value: the images of a process in the order of time */
	return strverscmp(((const struct spool_file *)left)->path,
			  ((const struct spool_file *)right)->path);
}

static int add_file(struct eta_trace *trace, const char *name)
{
	struct spool *spool = trace->data;
	struct spool_file *files =
		reallocarray(spool->files, spool->n_files + 1, sizeof(*spool->files));

	if (!files)
		return out_of_memory(trace);
	spool->files = files;
	files[spool->n_files] = (struct spool_file){ .image = ETA_NONE, .process = ETA_NONE };
	if (asprintf(&files[spool->n_files].path, "%s/%s", trace->path, name) < 0)
		return out_of_memory(trace);
	spool->n_files++;
	return 0;
}

/*
 * Why file NAME of the folder is not read, "" if it is. Where others may write to the folder, a
 * file is its owner's, root's or the reader's, or somebody has put it there.
 */
static void why_not(int folder, const char *name, char why[WHY_BYTES])
{
	char owner[FOLDER_OWNER_BYTES];
	struct stat in, st;

	why[0] = '\0';
	if (fstat(folder, &in) != 0 || fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		snprintf(why, WHY_BYTES, "%s", strerror(errno));
	else if (S_ISLNK(st.st_mode))
		snprintf(why, WHY_BYTES, "is a link");
	else if (!S_ISREG(st.st_mode))
		snprintf(why, WHY_BYTES, "is no regular file");
	else if (in.st_mode & 022 && st.st_uid != in.st_uid && st.st_uid != 0 &&
		 st.st_uid != folder_user())
		snprintf(why, WHY_BYTES, "belongs to %s, and others may write to its folder",
			 folder_owner(st.st_uid, owner));
}

/* Is NAME a file to read? What is not is counted, and named if it is one of the first. */
static bool is_readable(struct eta_trace *trace, int folder, const char *name, unsigned *left_out)
{
	char why[WHY_BYTES];

	why_not(folder, name, why);
	if (!why[0])
		return true;
	trace->counts.bad++;
	if (++*left_out <= MAX_NAMED)
		eta_warn("%s/%s: %s: left out", trace->path, name, why);
	return false;
}

static int list_files(struct eta_trace *trace)
{
	struct spool *spool = trace->data;
	DIR *dir = opendir(trace->path);
	struct dirent *entry;
	unsigned left_out = 0;
	int rc = 0;

	if (!dir) {
		rc = -errno;
		eta_error("%s: cannot read the directory: %s", trace->path, strerror(-rc));
		return rc;
	}
	while (rc == 0 && (entry = readdir(dir)))
		if (is_spool_file(entry->d_name) &&
		    is_readable(trace, dirfd(dir), entry->d_name, &left_out))
			rc = add_file(trace, entry->d_name);
	closedir(dir);
	if (left_out > MAX_NAMED)
		eta_warn("%s: %u more files are left out for such reasons", trace->path,
			 left_out - MAX_NAMED);
	if (rc == 0 && spool->n_files)
		qsort(spool->files, spool->n_files, sizeof(*spool->files), by_path);
	return rc;
}

/* NAME and PROPERTY records of the file open in VIEW, into image INDEX. */
static int read_definitions(struct eta_trace *trace, struct spool_view *view, uint32_t index)
{
	uint64_t at = view->first;
	const struct eta_record_head *record;
	int rc;

	while ((rc = spool_view_record(view, at, &record)) > 0) {
		trace->counts.records++;
		at += record_bytes(record);
		rc = spool_define(trace, index, record);
		if (rc)
			break;
	}
	return rc;
}

static void take_overwritten(struct spool *spool, const struct eta_spool_header *header)
{
	static const enum eta_record_type types[] = { ETA_RECORD_USER_OP,   ETA_RECORD_USER_REPEAT,
						      ETA_RECORD_KERNEL_OP, ETA_RECORD_ASYNC_OP,
						      ETA_RECORD_BIO,	    ETA_RECORD_WAIT,
						      ETA_RECORD_RPC };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		spool->overwritten += header->overwritten[types[i]];
	if (header->overwritten_ns > spool->overwritten_ns)
		spool->overwritten_ns = header->overwritten_ns;
}

static int take_header(struct eta_trace *trace, struct spool_file *file,
		       const struct eta_spool_header *header)
{
	struct spool *spool = trace->data;

	file->kind = header->kind;
	file->start_ns = header->start_ns;
	file->last_file = header->last_file;
	if (header->kind == ETA_SPOOL_KERNEL && !(header->flags & ETA_SPOOL_DEFINITIONS))
		file->cpu = header->cpu + 1;
	trace->counts.lost += header->lost;
	take_overwritten(spool, header);
	spool->keeps_last |= header->version == ETA_SPOOL_VERSION_LAST;
	spool->not_recorded += header->not_recorded;
	if (!*spool->host)
		memcpy(spool->host, header->host, sizeof(spool->host));
	if (!*spool->boot)
		memcpy(spool->boot, header->boot, sizeof(spool->boot));
	if (!spool->realtime_offset_ns && header->clock_real_ns > header->clock_mono_ns)
		spool->realtime_offset_ns = header->clock_real_ns - header->clock_mono_ns;
	return spool_image_fill(trace, header, &file->like) ? 0 : -ENOMEM;
}

/* What the name of FILE says that it is. */
static enum eta_spool_kind kind_of(const struct spool_file *file)
{
	const char *name = strrchr(file->path, '/') + 1;

	return name[0] == 'u'	? ETA_SPOOL_USER
	       : name[0] == 'p' ? ETA_SPOOL_PROCESS
	       : name[0] == 'c' ? ETA_SPOOL_KERNEL
				: ETA_SPOOL_META;
}

static int read_process(struct eta_trace *trace, struct spool_file *file, struct spool_view *view,
			const struct eta_spool_header *header)
{
	file->image = spool_image_add(trace, &file->like);
	file->inherits = header->flags & ETA_SPOOL_FORKED;
	return file->image == ETA_NONE ? -ENOMEM : read_definitions(trace, view, file->image);
}

static int read_threads(struct eta_trace *trace, uint32_t index, struct spool_view *view,
			const struct eta_spool_header *header)
{
	struct spool_file *file = &((struct spool *)trace->data)->files[index];

	file->process = spool_image_process(trace, &file->like);
	return file->process == ETA_NONE ? -ENOMEM : spool_user_threads(trace, index, view, header);
}

static int open_file(struct eta_trace *trace, uint32_t index, uint64_t *units)
{
	struct spool *spool = trace->data;
	struct spool_file *file = &spool->files[index];
	struct eta_spool_header header;
	struct spool_view view = { .fd = -1 };
	int rc;

	file->damage.files = &spool->n_damaged;
	rc = spool_view_open(&view, file->path, 64 << 10, &file->damage);
	if (rc)
		return rc;
	file->first_unit = *units;
	file->bytes = view.size;
	*units += view.size / ETA_UNIT_BYTES;
	rc = spool_view_header(&view, &header);
	if (rc == 0 && !view.damaged) {
		if (spool->n_headless++ == 0)
			spool->headless = index;
	} else if (rc > 0 && header.kind != kind_of(file)) {
		rc = spool_view_damage(&view, "header of another kind than the name", 12);
	} else if (rc > 0) {
		rc = take_header(trace, file, &header);
		if (rc == 0 && header.kind == ETA_SPOOL_META)
			rc = read_definitions(trace, &view, 0);
		if (rc == 0 && header.kind == ETA_SPOOL_PROCESS)
			rc = read_process(trace, file, &view, &header);
		if (rc == 0 && header.kind == ETA_SPOOL_USER)
			rc = read_threads(trace, index, &view, &header);
	}
	file->counted = view.damaged;
	trace->counts.bad += view.damaged;
	spool_view_close(&view);
	return rc;
}

/* The files of threads, or all others. */
static int open_files(struct eta_trace *trace, bool threads, uint64_t *units)
{
	struct spool *spool = trace->data;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < spool->n_files; i++)
		if ((kind_of(&spool->files[i]) == ETA_SPOOL_USER) == threads)
			rc = open_file(trace, i, units);
	return rc;
}

/* Which files have nothing to read; -EBADMSG where there are others, and all of them are damaged.
 */
static int check_files(struct eta_trace *trace)
{
	const struct spool *spool = trace->data;
	uint32_t good = 0;

	for (uint32_t i = 0; i < spool->n_files; i++)
		good += spool->files[i].kind != 0;
	if (spool->n_damaged && !good) {
		eta_error("%s: none of its files can be read", trace->path);
		return -EBADMSG;
	}
	/* how many records its rings held then is not known: none that were lost are counted */
	if (spool->tracer_began && !spool->tracer_ended) {
		trace->counts.bad++;
		eta_warn("%s: the kernel's tracer did not end as it should (killed?), or goes on: "
			 "what it had "
			 "not stored yet is missing",
			 trace->path);
	}
	if (spool->n_headless)
		eta_warn("%s: %" PRIu32 " file%s without a header (%s%s): what wrote %s was ended, "
			 "or locked out, before its first record",
			 trace->path, spool->n_headless, plural(spool->n_headless),
			 strrchr(spool->files[spool->headless].path, '/') + 1,
			 spool->n_headless == 1 ? "" : ", ...",
			 spool->n_headless == 1 ? "it" : "them");
	return 0;
}

/* The version in the header of PATH, 0: it has none. */
static uint32_t version_of(const char *path)
{
	struct eta_spool_header header;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	const size_t n = offsetof(struct eta_spool_header, kind);
	bool ours = fd >= 0 && pread(fd, &header, n, 0) == (ssize_t)n &&
		    memcmp(header.magic, ETA_SPOOL_MAGIC, sizeof(header.magic)) == 0;

	if (fd >= 0)
		close(fd);
	return ours ? header.version : 0;
}

/* A spool all of which has another version is not damaged; a file of one that has may be. */
static int check_version(const struct eta_trace *trace)
{
	const struct spool *spool = trace->data;
	uint32_t other = 0;

	for (uint32_t i = 0; i < spool->n_files; i++) {
		uint32_t version = version_of(spool->files[i].path);

		if (spool_version_is_known(version) || (version && other && version != other))
			return 0;
		if (version)
			other = version;
	}
	if (!other)
		return 0;
	if (spool_is_swapped(other)) {
		eta_error("%s: is a spool of a machine of the other byte order (merge it there: "
			  "archives are read everywhere)",
			  trace->path);
		return -EBADMSG;
	}
	eta_error("%s: is a spool of version %" PRIu32 ", this program reads versions %d to %d "
		  "(merge it with the version of eztrace-sci that recorded it)",
		  trace->path, other, ETA_SPOOL_VERSION, ETA_SPOOL_VERSION_LAST);
	return -EBADMSG;
}

static int add_properties(struct eta_trace *trace)
{
	const struct spool *spool = trace->data;
	const struct spool *spool_counts = trace->data;
	char lost[32], not_recorded[32], offset[32];

	snprintf(lost, sizeof(lost), "%" PRIu64, trace->counts.lost);
	snprintf(not_recorded, sizeof(not_recorded), "%" PRIu64, spool_counts->not_recorded);
	snprintf(offset, sizeof(offset), "%" PRIu64, spool->realtime_offset_ns);
	if (spool->realtime_offset_ns &&
	    eta_defs_property(trace, "SCI::REALTIME_OFFSET", offset) == ETA_NONE)
		return -ENOMEM;
	if (eta_defs_property(trace, "SCI::CLOCK", "CLOCK_MONOTONIC") == ETA_NONE ||
	    eta_defs_property(trace, ARCHIVE_LOST, lost) == ETA_NONE ||
	    (spool_counts->not_recorded &&
	     eta_defs_property(trace, "SCI::CALLS_NOT_RECORDED", not_recorded) == ETA_NONE))
		return -ENOMEM;
	return 0;
}

/* What was written over and what is left out for it: what the trace does not have, by intention. */
static int put_overwritten(struct eta_trace *trace, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	for (uint32_t i = 0; i < trace->defs.n_properties; i++) {
		struct eta_property *property = &trace->defs.properties[i];

		if (property->process != ETA_NONE ||
		    strcmp(property->name, ARCHIVE_OVERWRITTEN) != 0)
			continue;
		property->value = eta_trace_string(trace, text);
		return property->value ? 0 : -ENOMEM;
	}
	return eta_defs_property(trace, ARCHIVE_OVERWRITTEN, text) == ETA_NONE ? -ENOMEM : 0;
}

static int spool_begin(struct eta_trace *trace, uint64_t begin_ns)
{
	const struct spool *spool = trace->data;
	uint64_t left_out, n;
	int rc = 0;

	trace->begin_ns = begin_ns;
	left_out = spool_kernel_begin(trace, begin_ns);
	for (uint32_t i = 0; rc == 0 && i < trace->defs.n_locations; i++) {
		if (!spool->locations[i].user)
			continue;
		rc = spool_user_before(trace, &spool->locations[i], begin_ns, &n);
		left_out += rc == 0 ? n : 0;
	}
	return rc ? rc : put_overwritten(trace, spool->overwritten + left_out);
}

static int spool_open(struct eta_trace *trace)
{
	struct spool *spool = trace->data = calloc(1, sizeof(*spool));
	struct spool_image kernel;
	uint64_t units = 0;
	int rc;

	/* the kernel's names are those of image 0 */
	if (!spool)
		return out_of_memory(trace);
	if (!spool_image_fill(trace, &(struct eta_spool_header){ 0 }, &kernel) ||
	    spool_image_add(trace, &kernel) == ETA_NONE)
		return -ENOMEM;
	rc = list_files(trace);
	if (rc == 0)
		rc = check_version(trace);
	/* files without a thread first: the host's name is then known, and the processes are */
	if (rc == 0)
		rc = open_files(trace, false, &units);
	if (rc == 0)
		rc = spool_images_processes(trace);
	if (rc == 0)
		rc = open_files(trace, true, &units);
	if (rc == 0)
		rc = check_files(trace);
	if (rc == 0)
		rc = spool_images_connect(trace);
	if (rc == 0)
		rc = spool_addresses_open(trace);
	if (rc == 0)
		rc = spool_user_open(trace);
	if (rc == 0)
		rc = spool_kernel_open(trace);
	if (rc == 0)
		rc = spool_mapped_files(trace);
	for (uint32_t i = 0; rc == 0 && i < spool->n_mounts; i++)
		rc = eta_defs_mount(trace, spool->mounts[i]);
	if (rc == 0)
		rc = add_properties(trace);
	spool_tables_free(spool);
	trace->boot = *spool->boot ? spool->boot : NULL;
	if (rc == 0 && spool->overwritten_ns)
		rc = spool_begin(trace, spool->overwritten_ns);
	return rc;
}

static void spool_close_trace(struct eta_trace *trace)
{
	struct spool *spool = trace->data;

	if (!spool)
		return;
	spool_kernel_close(trace);
	for (uint32_t i = 0; i < spool->n_files; i++)
		free(spool->files[i].path);
	for (uint32_t i = 0; i < spool->n_images; i++) {
		free(spool->images[i].names);
		free(spool->images[i].sleeps);
		free(spool->images[i].stacks);
	}
	spool_tables_free(spool);
	known_free(&spool->numbers);
	free(spool->files);
	free(spool->mounts);
	free(spool->images);
	free(spool->handles);
	free(spool->locations);
	free(spool);
}

static int spool_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	const struct spool *spool = trace->data;
	const struct spool_location *where = &spool->locations[location];

	if (where->user)
		return spool_user_cursor(trace, where, out);
	return spool_kernel_cursor(trace, where->group, out);
}

static ssize_t spool_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	return ((struct spool_cursor *)cursor)->read(cursor, batch);
}

static void spool_cursor_close(struct eta_cursor *cursor)
{
	((struct spool_cursor *)cursor)->close(cursor);
}

const struct eta_source_ops eta_source_spool = {
	.name = "spool",
	.what = "spool of our tracers (directory)",
	.probe = spool_probe,
	.open = spool_open,
	.begin = spool_begin,
	.close = spool_close_trace,
	.cursor_open = spool_cursor_open,
	.cursor_read = spool_cursor_read,
	.cursor_close = spool_cursor_close,
};

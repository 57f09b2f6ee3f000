/* Source: a spool, the directory that our own tracers leave (record.h says what is in it). */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "source-spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "archive.h"
#include "folder.h"

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
 * Why file NAME of the folder is not read, "" if it is. Where others may write to the folder, a file
 * is its owner's, root's or the reader's, or somebody has put it there.
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

/* A new image of LIKE's program; its index, or ETA_NONE. */
static uint32_t add_image(struct eta_trace *trace, const struct spool_file *like)
{
	struct spool *spool = trace->data;
	struct spool_image *images = spool->images;

	if (spool->n_images == spool->image_room) {
		spool->image_room = spool->image_room ? spool->image_room * 2 : 16;
		images = reallocarray(images, spool->image_room, sizeof(*images));
		if (!images) {
			out_of_memory(trace);
			return ETA_NONE;
		}
		spool->images = images;
	}
	images[spool->n_images] = (struct spool_image){
		.pid = like->pid,
		.ppid = like->ppid,
		.pid_ns = like->pid_ns,
		.parent_ns = like->parent_ns,
		.process_ns = like->process_ns,
		.start_ns = like->start_ns,
		.parent = ETA_NONE,
	};
	return spool->n_images++;
}

/*
 * Are these the starts of one process? Each is known to a tick, or not at all. Numbers are used
 * again, those of pid namespaces at once.
 */
static bool is_same_start(uint64_t a_ns, uint64_t b_ns)
{
	const uint64_t tick_ns = 10000000;

	return !a_ns || !b_ns || (a_ns > b_ns ? a_ns - b_ns : b_ns - a_ns) < tick_ns / 2;
}

/* Do others count differently than the process of FILE? Then its number alone says little. */
static bool has_own_numbers(const struct spool_file *file)
{
	return file->pid_ns && file->pid_ns != ETA_FIRST_PID_NS;
}

/* Which process an image is sought of. */
struct image_of {
	uint32_t ns, pid;
	uint64_t process_ns; /* 0: not known */
};

/* The image that the process ran at TIME_NS, else its first, else ETA_NONE. */
static uint32_t find_image(const struct spool *spool, struct image_of of, uint64_t time_ns)
{
	uint32_t found = ETA_NONE;

	for (uint32_t i = 1; i < spool->n_images; i++) {
		const struct spool_image *image = &spool->images[i];
		uint64_t best_ns = found == ETA_NONE ? UINT64_MAX : spool->images[found].start_ns;
		bool began = image->start_ns <= time_ns, best_began = best_ns <= time_ns;

		if (image->pid != of.pid || image->pid_ns != of.ns ||
		    !is_same_start(image->process_ns, of.process_ns))
			continue;
		/* the newest of those that had begun, else the oldest */
		if (found == ETA_NONE || (began && (!best_began || image->start_ns > best_ns)) ||
		    (!began && !best_began && image->start_ns < best_ns))
			found = i;
	}
	return found;
}

/*
 * Is one of the files behind number INDEX a later image of the same process (it called exec)? The
 * header tells: in another pid namespace or later the same number is another process.
 */
static int has_later_image(const struct eta_trace *trace, uint32_t index)
{
	const struct spool *spool = trace->data;
	const char *path = spool->files[index].path, *start = strrchr(path, '.');
	int rc = 0;

	for (uint32_t i = index + 1; rc == 0 && start && i < spool->n_files; i++) {
		struct spool_view view = { .fd = -1 };
		struct eta_spool_header header;

		if (strncmp(path, spool->files[i].path, (size_t)(start - path) + 1) != 0)
			break;
		rc = spool_view_open(&view, spool->files[i].path, ETA_SPOOL_HEADER_BYTES,
				     trace->options.lenient);
		if (rc)
			return rc;
		rc = spool_view_header(&view, &header);
		if (rc > 0)
			rc = header.pid_ns == spool->files[index].pid_ns &&
			     is_same_start(header.process_ns, spool->files[index].process_ns);
		spool_view_close(&view);
	}
	return rc;
}

/* How many images of the process of FILE there are so far. */
static uint32_t count_images(const struct spool *spool, const struct spool_file *file)
{
	uint32_t n = 0;

	for (uint32_t i = spool->n_images; i-- > 1 && spool->images[i].pid == file->pid;)
		n += spool->images[i].pid_ns == file->pid_ns &&
		     is_same_start(spool->images[i].process_ns, file->process_ns);
	return n;
}

/* The first image of the process of FILE if its number is one of several equal ones, else 0. */
static uint32_t first_image(const struct spool *spool, const struct spool_file *file)
{
	const struct image_of of = { file->pid_ns, file->pid, file->process_ns };
	uint32_t first = has_own_numbers(file) ? find_image(spool, of, 0) : 0;

	return first == ETA_NONE ? 0 : first;
}

/* What the properties of the process of FILE begin with. */
static size_t property_prefix(const struct spool *spool, const struct spool_file *file,
			      char *prefix, size_t room)
{
	uint32_t first = first_image(spool, file);
	size_t n = (size_t)snprintf(prefix, room, "SCI::PROCESS_%" PRIu32, file->pid);

	if (first)
		n += (size_t)snprintf(prefix + n, room - n, "_OF_%" PRIu32 "_SINCE_%" PRIu64,
				      file->pid_ns, spool->images[first].start_ns);
	return n + (size_t)snprintf(prefix + n, room - n, "::");
}

/* NAME and PROPERTY records of FILE, open in VIEW, into image INDEX. */
static int read_definitions(struct eta_trace *trace, struct spool_view *view,
			    const struct spool_file *file, uint32_t index)
{
	struct spool *spool = trace->data;
	uint64_t at = ETA_SPOOL_HEADER_BYTES;
	const struct eta_record_head *record;
	char prefix[128] = "SCI::";
	int rc;

	if (file->kind == ETA_SPOOL_PROCESS) {
		size_t n = property_prefix(spool, file, prefix, sizeof(prefix));

		/* a process is what it was last; what it was before is numbered */
		rc = has_later_image(trace, (uint32_t)(file - spool->files));
		if (rc < 0)
			return rc;
		if (rc)
			snprintf(prefix + n, sizeof(prefix) - n,
				 "IMAGE_%" PRIu32 "::", count_images(spool, file));
	}
	while ((rc = spool_view_record(view, at, &record)) > 0) {
		trace->counts.records++;
		at += record_bytes(record);
		rc = spool_define(trace, &spool->images[index], prefix, record);
		if (rc)
			break;
	}
	return rc;
}

static void take_header(struct eta_trace *trace, struct spool_file *file,
			const struct eta_spool_header *header)
{
	struct spool *spool = trace->data;

	file->kind = header->kind;
	file->pid = header->pid;
	file->ppid = header->ppid;
	file->pid_ns = header->pid_ns;
	file->parent_ns = header->parent_ns;
	file->process_ns = has_own_numbers(file) ? header->process_ns : 0;
	file->start_ns = header->start_ns;
	file->last_file = header->last_file;
	trace->counts.lost += header->lost;
	((struct spool *)trace->data)->not_recorded += header->not_recorded;
	if (!*spool->host)
		memcpy(spool->host, header->host, sizeof(spool->host));
	if (!*spool->boot)
		memcpy(spool->boot, header->boot, sizeof(spool->boot));
	if (!spool->realtime_offset_ns && header->clock_real_ns > header->clock_mono_ns)
		spool->realtime_offset_ns = header->clock_real_ns - header->clock_mono_ns;
}

static const char *program_name(const struct eta_spool_header *header)
{
	const char *slash = strrchr(header->exe, '/');

	return slash && slash[1] ? slash + 1 : header->comm;
}

static uint32_t process_of(struct eta_trace *trace, const struct spool_file *file,
			   const struct eta_spool_header *header)
{
	const struct spool *spool = trace->data;
	/* exec keeps the process: named after what it is last, a child of who forked the first */
	const struct image_of of = { file->pid_ns, file->pid, file->process_ns };
	uint32_t last = find_image(spool, of, UINT64_MAX);
	uint32_t first = find_image(spool, of, 0);
	struct eta_process process = { .name = program_name(header),
				       .host = header->host,
				       .boot = header->boot,
				       .pid = header->pid,
				       .ns_pid = header->pid_ns ? header->pid : 0,
				       .pid_ns = header->pid_ns,
				       .start_ns = header->process_ns,
				       .ppid = header->ppid,
				       .parent_tid = header->parent_tid };

	if (last != ETA_NONE) {
		process.name = spool->images[last].program;
		process.ppid = spool->images[first].ppid;
		process.parent_tid = spool->images[first].parent_tid;
	}
	return spool_process(trace, &process, first_image(spool, file));
}

static int open_file(struct eta_trace *trace, uint32_t index, uint64_t *units)
{
	struct spool *spool = trace->data;
	struct spool_file *file = &spool->files[index];
	struct eta_spool_header header;
	struct spool_view view = { .fd = -1 };
	uint32_t image = 0;
	int rc = spool_view_open(&view, file->path, 64 << 10, trace->options.lenient);

	if (rc)
		return rc;
	file->first_unit = *units;
	file->bytes = view.size;
	*units += view.size / ETA_UNIT_BYTES;
	rc = spool_view_header(&view, &header);
	if (rc <= 0)
		goto out;
	rc = 0;
	take_header(trace, file, &header);
	if (header.kind == ETA_SPOOL_PROCESS) {
		image = add_image(trace, file);
		if (image != ETA_NONE) {
			spool->images[image].parent_tid = header.parent_tid;
			spool->images[image].program =
				eta_trace_string(trace, program_name(&header));
		}
		if (image == ETA_NONE || !spool->images[image].program)
			rc = out_of_memory(trace);
		file->image = image;
		file->inherits = header.flags & ETA_SPOOL_FORKED;
	}
	if (rc == 0 && (header.kind == ETA_SPOOL_PROCESS || header.kind == ETA_SPOOL_META))
		rc = read_definitions(trace, &view, file, image);
	if (rc == 0 && header.kind == ETA_SPOOL_USER) {
		file->process = process_of(trace, file, &header);
		rc = file->process == ETA_NONE ? -ENOMEM
					       : spool_user_threads(trace, index, &view, &header);
	}
out:
	trace->counts.bad += view.damaged;
	spool_view_close(&view);
	return rc;
}

/* Which image each thread ran in, and which one that was forked from. */
static int connect_images(struct eta_trace *trace)
{
	struct spool *spool = trace->data;

	for (uint32_t i = 0; i < spool->n_files; i++) {
		struct spool_file *file = &spool->files[i];

		if (file->kind != ETA_SPOOL_USER)
			continue;
		file->image = find_image(
			spool, (struct image_of){ file->pid_ns, file->pid, file->process_ns },
			file->start_ns);
		if (file->image == ETA_NONE)
			file->image = add_image(trace, file);
		if (file->image == ETA_NONE)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < spool->n_images; i++) {
		struct spool_image *image = &spool->images[i];

		image->parent =
			find_image(spool, (struct image_of){ image->parent_ns, image->ppid, 0 },
				   image->start_ns);
		if (image->parent == i)
			image->parent = ETA_NONE;
	}
	return 0;
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

static int spool_open(struct eta_trace *trace)
{
	struct spool *spool = trace->data = calloc(1, sizeof(*spool));
	uint64_t units = 0;
	int rc;

	/* the kernel's names are those of image 0 */
	if (!spool || add_image(trace, &(struct spool_file){ 0 }) == ETA_NONE)
		return out_of_memory(trace);
	rc = list_files(trace);
	/* files without a thread first: the host's name is then known */
	for (uint32_t i = 0; rc == 0 && i < spool->n_files; i++)
		rc = open_file(trace, i, &units);
	if (rc == 0)
		rc = connect_images(trace);
	if (rc == 0)
		rc = spool_addresses_open(trace);
	if (rc == 0)
		rc = spool_user_open(trace);
	if (rc == 0)
		rc = spool_kernel_open(trace);
	if (rc == 0)
		rc = add_properties(trace);
	spool_tables_free(spool->tables);
	spool->tables = NULL;
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
	spool_tables_free(spool->tables);
	free(spool->files);
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
	.close = spool_close_trace,
	.cursor_open = spool_cursor_open,
	.cursor_read = spool_cursor_read,
	.cursor_close = spool_cursor_close,
};

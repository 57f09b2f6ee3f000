/* Definitions of a spool: each region, process and file once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/known.h"
#include "spool.h"

/* X(f_type of statfs, name) */
#define FILE_SYSTEMS(X)                                                                            \
	X(0x0000ef53, "ext4")                                                                      \
	X(0x58465342, "xfs")                                                                       \
	X(0x9123683e, "btrfs")                                                                     \
	X(0x01021994, "tmpfs")                                                                     \
	X(0xf2f52010, "f2fs")                                                                      \
	X(0x794c7630, "overlay")                                                                   \
	X(0x00006969, "nfs")                                                                       \
	X(0xff534d42, "cifs")                                                                      \
	X(0xfe534d42, "smb2")                                                                      \
	X(0x00c36400, "ceph")                                                                      \
	X(0x0bd00bd0, "lustre")                                                                    \
	X(0x47504653, "gpfs")                                                                      \
	X(0x65735546, "fuse")                                                                      \
	X(0x01021997, "v9fs")                                                                      \
	X(0x2fc12fc1, "zfs")                                                                       \
	X(0xca451a4e, "bcachefs")                                                                  \
	X(0x00004d44, "vfat")                                                                      \
	X(0x2011bab0, "exfat")                                                                     \
	X(0x7366746e, "ntfs3")                                                                     \
	X(0x00009660, "isofs")                                                                     \
	X(0x73717368, "squashfs")                                                                  \
	X(0xe0f5e1e2, "erofs")                                                                     \
	X(0x858458f6, "ramfs")                                                                     \
	X(0x62646576, "bdev")                                                                      \
	X(0x00009fa0, "proc")                                                                      \
	X(0x62656572, "sysfs")

const char *spool_fs_name(uint32_t magic)
{
	switch (magic) {
#define X(number, name)                                                                            \
	case number:                                                                               \
		return name;
		FILE_SYSTEMS(X)
#undef X
	default:
		return "";
	}
}

struct file_key {
	uint64_t inode;
	const char *path; /* interned; NULL where the inode is known */
	uint32_t dev;
	uint32_t zero;
};

struct process_key {
	uint32_t pid, first_image;
};

void spool_tables_free(struct spool *spool)
{
	known_free(&spool->known_files);
	known_free(&spool->known_processes);
	known_free(&spool->known_handles);
}

static uint32_t out_of_memory(const struct eta_trace *trace)
{
	eta_error("%s: not enough memory for its definitions", trace->path);
	return ETA_NONE;
}

uint32_t spool_region(struct eta_trace *trace, const char *name)
{
	const char *own = eta_trace_string(trace, name);
	enum eta_level level;
	enum eta_reason reason;

	if (!own)
		return out_of_memory(trace);
	for (uint32_t i = 0; i < trace->defs.n_regions; i++)
		if (trace->defs.regions[i].name == own && /* equal texts are one */
		    !*trace->defs.regions[i].description)
			return i;
	eta_region_name_split(own, &level, &reason);
	return eta_defs_region(trace, own, level == ETA_LEVEL_NONE ? ETA_LEVEL_USER : level, "");
}

uint32_t spool_process(struct eta_trace *trace, const struct eta_process *like,
		       uint32_t first_image)
{
	struct spool *spool = trace->data;
	const struct process_key key = { like->pid, first_image };
	uint32_t index = known_find(spool->known_processes, &key, sizeof(key));
	struct eta_process process = *like;

	if (index != ETA_NONE)
		return index;
	if (!process.host) {
		process.host = spool->host;
		process.boot = spool->boot;
	}
	index = eta_defs_process(trace, &process);
	if (index != ETA_NONE && known_add(&spool->known_processes, &key, sizeof(key), index))
		return out_of_memory(trace);
	return index;
}

uint32_t spool_add_location(struct eta_trace *trace, const struct eta_location *location,
			    const struct spool_location *where)
{
	struct spool *spool = trace->data;
	uint32_t index = eta_defs_location(trace, location);
	/* as much room as the definitions themselves have */
	struct spool_location *locations =
		index == ETA_NONE
			? NULL
			: reallocarray(spool->locations, trace->room.locations, sizeof(*locations));

	if (!locations)
		return out_of_memory(trace);
	spool->locations = locations;
	locations[index] = *where;
	return index;
}

void spool_record_path(const struct eta_file_record *record, char *path, size_t room)
{
	size_t stored = record_bytes(&record->head) - sizeof(*record);
	size_t n = record->path_bytes;

	if (n > stored)
		n = stored;
	if (n >= room)
		n = room - 1;
	memcpy(path, record->path, n);
	path[n] = '\0';
}

uint32_t spool_file_def(struct eta_trace *trace, const struct eta_file_record *record, bool by_path)
{
	struct spool *spool = trace->data;
	struct file_key key = { .inode = record->inode, .dev = record->dev };
	struct eta_file file;
	uint32_t index;
	char path[SPOOL_PATH_ROOM];

	spool_record_path(record, path, sizeof(path));
	file = (struct eta_file){
		.path = path,
		.dev = record->dev,
		.inode = record->inode,
		.fs = spool_fs_name(record->fs_magic),
		.host = spool->host,
	};
	if (!record->inode || by_path) {
		key.path = eta_trace_string(trace, path);
		if (!key.path)
			return out_of_memory(trace);
	}
	index = known_find(spool->known_files, &key, sizeof(key));
	if (index != ETA_NONE)
		return index;
	index = eta_defs_file(trace, &file);
	if (index != ETA_NONE && known_add(&spool->known_files, &key, sizeof(key), index))
		return out_of_memory(trace);
	return index;
}

int spool_named_file(struct eta_trace *trace, const char *path, uint32_t dev, uint64_t inode)
{
	struct spool *spool = trace->data;
	struct file_key key = { .inode = inode, .dev = dev };
	struct eta_file file = {
		.path = path, .dev = dev, .inode = inode, .fs = "", .host = spool->host
	};
	uint32_t index = known_find(spool->known_files, &key, sizeof(key));

	if (index != ETA_NONE) {
		struct eta_file *old = &trace->defs.files[index];

		if (!*old->path)
			old->path = eta_trace_string(trace, path);
		return old->path ? 0 : -ENOMEM;
	}
	index = eta_defs_file(trace, &file);
	if (index == ETA_NONE)
		return -ENOMEM;
	return known_add(&spool->known_files, &key, sizeof(key), index);
}

static int define_name(struct eta_trace *trace, struct spool_image *image,
		       const struct eta_name_record *record, const char *text)
{
	uint32_t id = record->head.id;
	char name[4200];

	/* ids count the tracer's functions: a large one is damage */
	if (id > UINT16_MAX || !*text) {
		trace->counts.bad++;
		return 0;
	}
	if (id >= image->n_names) {
		struct spool_name *names = reallocarray(image->names, id + 1, sizeof(*names));

		if (!names)
			return out_of_memory(trace), -ENOMEM;
		for (uint32_t i = image->n_names; i <= id; i++)
			names[i] = (struct spool_name){ .region = ETA_NONE };
		image->names = names;
		image->n_names = id + 1;
	}
	/* pid 0: the kernel's system calls, and operations that are none */
	if (image->pid == 0 && !strchr(text, ':'))
		snprintf(name, sizeof(name), "vfs:%s%s",
			 strncmp(text, "sys_", 4) == 0 ? "" : "sys_", text);
	else
		snprintf(name, sizeof(name), "%s", text);
	image->names[id].region = spool_region(trace, name);
	image->names[id].kind = record->head.flags;
	return image->names[id].region == ETA_NONE ? -ENOMEM : 0;
}

/* TEXT: the region, then where in the kernel that was. */
static int define_sleep(struct eta_trace *trace, struct spool_image *image, uint32_t id, char *text)
{
	char *functions = strchr(text, '\n');

	if (functions)
		*functions++ = '\0';
	if (id > UINT16_MAX || !*text) { /* ids count places: a large one is damage */
		trace->counts.bad++;
		return 0;
	}
	if (id >= image->n_sleeps) {
		struct spool_place *sleeps = reallocarray(image->sleeps, id + 1, sizeof(*sleeps));

		if (!sleeps)
			return out_of_memory(trace), -ENOMEM;
		for (uint32_t i = image->n_sleeps; i <= id; i++)
			sleeps[i] = (struct spool_place){ .region = ETA_NONE };
		image->sleeps = sleeps;
		image->n_sleeps = id + 1;
	}
	if (strcmp(text, "-") != 0) {
		image->sleeps[id].region = spool_region(trace, text);
		return image->sleeps[id].region == ETA_NONE ? -ENOMEM : 0;
	}
	for (char *at = functions; at && *at; at++)
		if (*at == '\n')
			*at = ' ';
	image->sleeps[id].functions = functions ? eta_trace_string(trace, functions) : NULL;
	return functions && !image->sleeps[id].functions ? -ENOMEM : 0;
}

/* The kernel's tracer writes one of these when it begins, the others when it has stopped, or for a
 * copy. */
static void take_state(struct spool *spool, const char *name, const char *value)
{
	if (strcmp(name, "SCI::FANOTIFY_LISTENER") == 0)
		spool->listener_tid = (uint32_t)strtoul(value, NULL, 10);
	spool->tracer_began |= strcmp(name, "SCI::MISSING") == 0;
	spool->tracer_ended |= strcmp(name, "SCI::LOST") == 0 || strcmp(name, "SCI::SNAPSHOT") == 0;
}

/* A mount is no property: files have it. */
static int take_mount(struct eta_trace *trace, const char *value)
{
	struct spool *spool = trace->data;
	const char *own = eta_trace_string(trace, value);

	if (!own || !ARRAY_FITS(spool->mounts, spool->n_mounts + 1, spool->mounts_room))
		return -ENOMEM;
	spool->mounts[spool->n_mounts++] = own;
	return 0;
}

/*
 * KEY=VALUE. OTF2 allows letters, digits, '_' and "::" in the name of a property, and has capitals
 * in the anchor file.
 */
static int define_property(struct eta_trace *trace, uint32_t image, char *text)
{
	char *value = strchr(text, '=');
	char name[4200];

	if (!value) {
		trace->counts.bad++;
		return 0;
	}
	*value++ = '\0';
	if (image == 0 && strcmp(text, "MOUNT") == 0)
		return take_mount(trace, value);
	snprintf(name, sizeof(name), "%s%s",
		 image || strncmp(text, "SCI::", 5) == 0 ? "" : "SCI::", text);
	for (char *c = name; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
		else if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:", *c))
			*c = '_';
	}
	if (image == 0)
		take_state(trace->data, name, value);
	return eta_defs_process_property(trace, image ? image : ETA_NONE, name, value) == ETA_NONE
		       ? -ENOMEM
		       : 0;
}

int spool_define(struct eta_trace *trace, uint32_t index, const struct eta_record_head *record)
{
	struct spool_image *image = &((struct spool *)trace->data)->images[index];
	/* PROPERTY and SLEEP have the same shape */
	const struct eta_name_record *name = (const void *)record;
	size_t stored = record_bytes(record) - sizeof(*name);
	size_t n;
	char text[4097];

	/* addresses and files are read when it is known whose they are */
	if (record->type == ETA_RECORD_SKIP || record->type == ETA_RECORD_MODULE ||
	    record->type == ETA_RECORD_STACK || record->type == ETA_RECORD_FILE)
		return 0;
	if (record->type != ETA_RECORD_NAME && record->type != ETA_RECORD_PROPERTY &&
	    record->type != ETA_RECORD_SLEEP) {
		trace->counts.bad++;
		return 0;
	}
	n = name->text_bytes < stored ? name->text_bytes : stored;
	if (n >= sizeof(text))
		n = sizeof(text) - 1;
	memcpy(text, name->text, n);
	text[n] = '\0';
	if (record->type == ETA_RECORD_NAME)
		return define_name(trace, image, name, text);
	if (record->type == ETA_RECORD_SLEEP)
		return define_sleep(trace, image, name->head.id, text);
	return define_property(trace, index, text);
}

struct spool_name spool_name_of(const struct spool_image *image, uint32_t id)
{
	if (id < image->n_names && image->names[id].region != ETA_NONE)
		return image->names[id];
	return (struct spool_name){ .region = image->unnamed };
}

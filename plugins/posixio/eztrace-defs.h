/* Definitions of an EZTrace archive, kept until it is closed and then written in order. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_DEFS_H
#define POSIXIO_EZTRACE_DEFS_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>

#include "files.h"
#include "modules.h"

/*
 * EZTrace and its modules write global definitions when they come to it: with gaps and repeated
 * ids, some of them from several threads at once, which destroys the archive. All of them are
 * taken here instead (eztrace-otf2.c), under one lock, and written at the end: ids ascending
 * and without gaps, each once. Ids in events stay as they were given.
 */

struct def_region {
	OTF2_StringRef name, canonical, description, file;
	OTF2_RegionRole role;
	OTF2_Paradigm paradigm;
	OTF2_RegionFlag flags;
	uint32_t begin_line, end_line;
};

struct def_group {
	OTF2_StringRef name;
	OTF2_GroupType type;
	OTF2_Paradigm paradigm;
	OTF2_GroupFlag flags;
	uint32_t n_members;
	uint64_t *members;
};

struct def_comm {
	OTF2_StringRef name;
	OTF2_GroupRef group;
	OTF2_CommRef parent;
	OTF2_CommFlag flags;
};

struct def_attribute {
	OTF2_StringRef name, description;
	OTF2_Type type;
};

struct def_node {
	OTF2_StringRef name, class_name;
	OTF2_SystemTreeNodeRef parent;
};

struct def_location_group {
	OTF2_StringRef name;
	OTF2_LocationGroupType type;
	OTF2_SystemTreeNodeRef parent;
	OTF2_LocationGroupRef creator;
};

struct def_location {
	OTF2_StringRef name;
	OTF2_LocationType type;
	OTF2_LocationGroupRef group;
	uint64_t events;
};

void defs_string(OTF2_StringRef id, const char *text);
void defs_region(OTF2_RegionRef id, const struct def_region *region);
void defs_group(OTF2_GroupRef id, const struct def_group *group);
void defs_comm(OTF2_CommRef id, const struct def_comm *comm);
void defs_attribute(OTF2_AttributeRef id, const struct def_attribute *attribute);
void defs_node(OTF2_SystemTreeNodeRef id, const struct def_node *node);
void defs_location_group(OTF2_LocationGroupRef id, const struct def_location_group *group);
void defs_location(OTF2_LocationRef id, const struct def_location *location);
void defs_clock(uint64_t resolution, uint64_t length);

/* Region ID is a call of ours. */
void defs_call_region(OTF2_RegionRef id);

/* Gives TAKE each module met so far. For the child of a fork: without the lock. */
void defs_modules_each(modules_take *take);

/* A file and a handle on it; handles that were given back are used again for the same file. */
void defs_file_open(struct file *file, const char *path, size_t path_bytes, bool pre_created);
void defs_handle_free(const struct file *file);

/* The buffers of ARCHIVE, just opened, keep their memory. */
void eztrace_memory(OTF2_Archive *archive);

/* Properties of the archive, to be written when it is closed. */
void defs_archive_properties(OTF2_Archive *archive);

/* Everything to WRITER. FIRST_NS: CLOCK_MONOTONIC of timestamp 0. */
OTF2_ErrorCode defs_write(OTF2_GlobalDefWriter *writer, uint64_t first_ns);

#endif

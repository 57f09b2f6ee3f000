/* Definitions of an EZTrace archive, kept until it is closed and then written in order. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POSIXIO_EZTRACE_DEFS_H
#define POSIXIO_EZTRACE_DEFS_H

#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugins/posixio/files.h"
#include "plugins/posixio/callsites/modules.h"

/*
 * EZTrace and its modules write global definitions when they come to it: with gaps and repeated
 * ids, some of them from several threads at once, which destroys the archive. All of them are
 * taken here instead (eztrace-otf2.c), under one lock, and written at the end: ids ascending
 * and without gaps, each once. Ids in events stay as they were given.
 */

/*
 * X(Kind, what, type of the id, WHAT): definitions that EZTrace writes. DEF_WHAT(S, F) are their
 * parts in libotf2's order: S(name) is a string, F(type, name) anything else.
 */
#define DEFINITIONS(X)                                                                             \
	X(SystemTreeNode, node, OTF2_SystemTreeNodeRef, NODE)                                      \
	X(LocationGroup, location_group, OTF2_LocationGroupRef, LOCATION_GROUP)                    \
	X(Location, location, OTF2_LocationRef, LOCATION)                                          \
	X(Attribute, attribute, OTF2_AttributeRef, ATTRIBUTE)                                      \
	X(Region, region, OTF2_RegionRef, REGION)                                                  \
	X(Group, group, OTF2_GroupRef, GROUP)                                                      \
	X(Comm, comm, OTF2_CommRef, COMM)

#define DEF_NODE(S, F) S(name) S(class_name) F(OTF2_SystemTreeNodeRef, parent)
#define DEF_LOCATION_GROUP(S, F)                                                                   \
	S(name)                                                                                    \
	F(OTF2_LocationGroupType, type)                                                            \
	F(OTF2_SystemTreeNodeRef, parent)                                                          \
	F(OTF2_LocationGroupRef, creator)
#define DEF_LOCATION(S, F)                                                                         \
	S(name) F(OTF2_LocationType, type) F(uint64_t, events) F(OTF2_LocationGroupRef, group)
#define DEF_ATTRIBUTE(S, F) S(name) S(description) F(OTF2_Type, type)
#define DEF_REGION(S, F)                                                                           \
	S(name)                                                                                    \
	S(canonical)                                                                               \
	S(description)                                                                             \
	F(OTF2_RegionRole, role)                                                                   \
	F(OTF2_Paradigm, paradigm)                                                                 \
	F(OTF2_RegionFlag, flags)                                                                  \
	S(file)                                                                                    \
	F(uint32_t, begin_line)                                                                    \
	F(uint32_t, end_line)
#define DEF_GROUP(S, F)                                                                            \
	S(name)                                                                                    \
	F(OTF2_GroupType, type)                                                                    \
	F(OTF2_Paradigm, paradigm)                                                                 \
	F(OTF2_GroupFlag, flags)                                                                   \
	F(uint32_t, n_members)                                                                     \
	F(const uint64_t *, members)
#define DEF_COMM(S, F)                                                                             \
	S(name) F(OTF2_GroupRef, group) F(OTF2_CommRef, parent) F(OTF2_CommFlag, flags)

#define S(name) OTF2_StringRef name;
#define F(type, name) type name;
#define X(kind, what, ref, WHAT)                                                                   \
	struct def_##what {                                                                        \
		DEF_##WHAT(S, F)                                                                   \
	};                                                                                         \
	void defs_##what(ref id, const struct def_##what *def);
DEFINITIONS(X)
#undef X
#undef F
#undef S

void defs_string(OTF2_StringRef id, const char *text);

/* Events have communicator ID, whether it is defined or not. */
void defs_comm_used(OTF2_CommRef id);

/* Region ID is a call of ours. */
void defs_call_region(OTF2_RegionRef id);

/* Gives TAKE each module met so far. For the child of a fork: without the lock. */
void defs_modules_each(modules_take *take);

/* A file and a handle on it; handles that were given back are used again for the same file. */
void defs_file_open(struct file *file, const char *path, size_t path_bytes, bool pre_created);
void defs_handle_free(const struct file *file);

/* Properties of the archive, to be written when it is closed. */
void defs_archive_properties(OTF2_Archive *archive);

/* Everything to WRITER. FIRST_NS: CLOCK_MONOTONIC of timestamp 0. */
OTF2_ErrorCode defs_write(OTF2_GlobalDefWriter *writer, uint64_t first_ns);

/* Functions of struct sink (plugins/posixio/sink.h): of the process, its modules, call stacks. */
void defs_property(const char *prefix, const char *name, const char *value);
void defs_modules_update(void);
bool defs_stack(uint32_t id, const uintptr_t *frames, unsigned n);
void defs_lock(void);
void defs_unlock(void);

#endif

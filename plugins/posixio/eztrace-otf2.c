/* OTF2 functions put in front of the library's: what EZTrace writes is repaired on its way. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "eztrace-next.h"
#include "eta-ext/format/archive.h"
#include "eztrace-children.h"
#include "eztrace-defs.h"

/* EZTrace's 16 MiB, cleared for each thread, make short threads slow and many of them large. */
#define EVENT_CHUNK_BYTES ((uint64_t)256 << 10) /* the least there is; fits the cache */
#define DEF_CHUNK_BYTES ((uint64_t)256 << 10)	/* a thread has no definitions of its own */

/* libotf2 opens the files of an archive by name when it closes it: the program may have gone
 * elsewhere by then. */
static const char *from_root(const char *path)
{
	static char whole[PATH_MAX]; /* the stack may be small */
	size_t length;

	if (!path || path[0] == '/' || !getcwd(whole, sizeof(whole)) || whole[0] != '/')
		return path;
	length = strlen(whole);
	if ((size_t)snprintf(whole + length, sizeof(whole) - length, "/%s", path) >=
	    sizeof(whole) - length)
		return path;
	return whole;
}

EXPORT OTF2_Archive *OTF2_Archive_Open(const char *path, const char *name, const OTF2_FileMode mode,
				       const uint64_t event_chunk, const uint64_t def_chunk,
				       const OTF2_FileSubstrate substrate,
				       const OTF2_Compression compression)
{
	uint64_t events = event_chunk, defs = def_chunk;
	OTF2_Archive *archive;

	if (mode == OTF2_FILEMODE_WRITE) {
		path = from_root(path);
		events = events < EVENT_CHUNK_BYTES ? events : EVENT_CHUNK_BYTES;
		defs = defs < DEF_CHUNK_BYTES ? defs : DEF_CHUNK_BYTES;
	}
	archive = NEXT(OTF2_Archive_Open)(path, name, mode, events, defs, substrate, compression);
	if (archive && mode == OTF2_FILEMODE_WRITE && !eztrace_is_mpi()) {
		eztrace_memory(archive);
		children_start(path);
	}
	return archive;
}

/* EZTrace closes its archive as a whole; this is the last moment for definitions. */
EXPORT OTF2_ErrorCode OTF2_Archive_Close(OTF2_Archive *archive)
{
	OTF2_ErrorCode code;
	char lost[32];

	if (eztrace_is_mpi() || archive != _ezt_trace.archive || !_ezt_trace.global_def_writer)
		return NEXT(OTF2_Archive_Close)(archive);
	code = defs_write(_ezt_trace.global_def_writer, first_timestamp);
	if (code != OTF2_SUCCESS)
		tracer_warn("the archive's definitions could not be written: %s",
			    OTF2_Error_GetDescription(code));
	children_tell();
	if (sink_untraced_children())
		tracer_warn("forked children whose calls are not in this archive: %u (sci-record "
			    "traces children)",
			    sink_untraced_children());
	if (sink_lost_events())
		tracer_warn("calls and events that could not be recorded: %llu (those of signal "
			    "handlers that interrupted the tracer are among them; sci-record has "
			    "the system calls of all)",
			    (unsigned long long)sink_lost_events());
	snprintf(lost, sizeof(lost), "%llu", (unsigned long long)sink_lost_events());
	OTF2_Archive_SetProperty(archive, "SCI::CLOCK", "CLOCK_MONOTONIC", true);
	OTF2_Archive_SetProperty(archive, "SCI::LOST_EVENTS", lost, true);
	if (sink_calls_not_recorded()) {
		snprintf(lost, sizeof(lost), "%llu", (unsigned long long)sink_calls_not_recorded());
		OTF2_Archive_SetProperty(archive, "SCI::CALLS_NOT_RECORDED", lost, true);
	}
	OTF2_Archive_SetProperty(archive, ARCHIVE_CALLERS, ARCHIVE_CALLERS_CHANGES, true);
	defs_archive_properties(archive);
	OTF2_Archive_SetProperty(archive, "SCI::SOURCES", TRACER_NAME, true);
	return NEXT(OTF2_Archive_Close)(archive);
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteString(OTF2_GlobalDefWriter *writer,
						       OTF2_StringRef self_id, const char *text)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteString)(writer, self_id, text);
	defs_string(self_id, text);
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteAttribute(OTF2_GlobalDefWriter *writer,
							  OTF2_AttributeRef self_id,
							  OTF2_StringRef name,
							  OTF2_StringRef description,
							  OTF2_Type type)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteAttribute)(writer, self_id, name, description,
								 type);
	defs_attribute(self_id, &(struct def_attribute){ name, description, type });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteSystemTreeNode(OTF2_GlobalDefWriter *writer,
							       OTF2_SystemTreeNodeRef self_id,
							       OTF2_StringRef name,
							       OTF2_StringRef class_name,
							       OTF2_SystemTreeNodeRef parent)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteSystemTreeNode)(writer, self_id, name,
								      class_name, parent);
	defs_node(self_id, &(struct def_node){ name, class_name, parent });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteLocationGroup(
	OTF2_GlobalDefWriter *writer, OTF2_LocationGroupRef self_id, OTF2_StringRef name,
	OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent, OTF2_LocationGroupRef creator)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteLocationGroup)(writer, self_id, name, type,
								     parent, creator);
	defs_location_group(self_id, &(struct def_location_group){ name, type, parent, creator });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteLocation(OTF2_GlobalDefWriter *writer,
							 OTF2_LocationRef self_id,
							 OTF2_StringRef name,
							 OTF2_LocationType type, uint64_t events,
							 OTF2_LocationGroupRef group)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteLocation)(writer, self_id, name, type, events,
								group);
	defs_location(self_id, &(struct def_location){ name, type, group, events });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteRegion(OTF2_GlobalDefWriter *writer,
						       OTF2_RegionRef self_id, OTF2_StringRef name,
						       OTF2_StringRef canonical,
						       OTF2_StringRef description,
						       OTF2_RegionRole role, OTF2_Paradigm paradigm,
						       OTF2_RegionFlag flags, OTF2_StringRef file,
						       uint32_t begin_line, uint32_t end_line)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteRegion)(writer, self_id, name, canonical,
							      description, role, paradigm, flags,
							      file, begin_line, end_line);
	defs_region(self_id, &(struct def_region){ name, canonical, description, file, role,
						   paradigm, flags, begin_line, end_line });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteGroup(OTF2_GlobalDefWriter *writer,
						      OTF2_GroupRef self_id, OTF2_StringRef name,
						      OTF2_GroupType type, OTF2_Paradigm paradigm,
						      OTF2_GroupFlag flags, uint32_t n_members,
						      const uint64_t *members)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteGroup)(writer, self_id, name, type, paradigm,
							     flags, n_members, members);
	defs_group(self_id, &(struct def_group){ name, type, paradigm, flags, n_members,
						 (uint64_t *)members });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteComm(OTF2_GlobalDefWriter *writer,
						     OTF2_CommRef self_id, OTF2_StringRef name,
						     OTF2_GroupRef group, OTF2_CommRef parent,
						     OTF2_CommFlag flags)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteComm)(writer, self_id, name, group, parent,
							    flags);
	defs_comm(self_id, &(struct def_comm){ name, group, parent, flags });
	return OTF2_SUCCESS;
}

EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteClockProperties(OTF2_GlobalDefWriter *writer,
								uint64_t resolution,
								uint64_t offset, uint64_t length,
								uint64_t realtime)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteClockProperties)(writer, resolution, offset,
								       length, realtime);
	defs_clock(resolution, length);
	return OTF2_SUCCESS;
}

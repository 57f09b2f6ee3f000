/* OTF2 functions that wrap the library's: they repair what EZTrace writes. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sink.h"
#include "next.h"
#include "eta-ext/format/archive.h"
#include "eta-ext/format/otf2-memory.h"
#include "children.h"
#include "defs.h"

/* EZTrace's 16 MiB, cleared for each thread, make short threads slow and use much memory */
#define EVENT_CHUNK_BYTES ((uint64_t)256 << 10) /* the minimum; fits the cache */
#define DEF_CHUNK_BYTES ((uint64_t)256 << 10)	/* a thread has no definitions of its own */

/*
 * libotf2 opens the files of an archive by name when it closes it; the program may have changed its
 * working folder by then.
 */
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
		otf2_memory_bound(archive, 1);
		children_start(path);
	}
	return archive;
}

/*
 * A full buffer is written to its file in the middle of some event, by calls in which a thread may
 * be cancelled. EZTrace waits at the end for a thread that is still writing, so it must not.
 */
static OTF2_FlushCallbacks flush_of_eztrace;
static __thread int cancel_state;

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
				   void *caller, bool final)
{
	OTF2_FlushType flush = OTF2_FLUSH;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (flush_of_eztrace.otf2_pre_flush)
		flush = flush_of_eztrace.otf2_pre_flush(data, type, location, caller, final);
	if (flush != OTF2_FLUSH)
		pthread_setcancelstate(cancel_state, NULL);
	return flush;
}

static OTF2_TimeStamp after_flush(void *data, OTF2_FileType type, OTF2_LocationRef location)
{
	OTF2_TimeStamp time = 0;

	if (flush_of_eztrace.otf2_post_flush)
		time = flush_of_eztrace.otf2_post_flush(data, type, location);
	pthread_setcancelstate(cancel_state, NULL);
	return time;
}

EXPORT OTF2_ErrorCode OTF2_Archive_SetFlushCallbacks(OTF2_Archive *archive,
						     const OTF2_FlushCallbacks *callbacks,
						     void *data)
{
	static const OTF2_FlushCallbacks ours = { before_flush, after_flush };

	if (!callbacks)
		return NEXT(OTF2_Archive_SetFlushCallbacks)(archive, callbacks, data);
	flush_of_eztrace = *callbacks;
	return NEXT(OTF2_Archive_SetFlushCallbacks)(archive, &ours, data);
}

/* EZTrace closes its archive at once; this is the last moment for definitions. */
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
	children_report();
	if (sink_untraced_children())
		tracer_warn("forked children whose calls are not in this archive: %u (sci-record "
			    "traces children)",
			    sink_untraced_children());
	if (sink_lost_events())
		tracer_warn("calls and events that could not be recorded: %llu (including those of "
			    "signal handlers that interrupted the tracer; sci-record has the "
			    "system calls of all)",
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
	OTF2_Archive_SetProperty(archive, "SCI::SOURCES", tracer_name, true);
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

#define PARAMETER_S(name) , OTF2_StringRef name
#define PARAMETER_F(type, name) , type name
#define ARGUMENT_S(name) , name
#define ARGUMENT_F(type, name) , name
#define FIELD_S(name) .name = name,
#define FIELD_F(type, name) .name = name,
#define X(kind, what, ref, WHAT)                                                                   \
	EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_Write##kind(                                    \
		OTF2_GlobalDefWriter *writer, ref id DEF_##WHAT(PARAMETER_S, PARAMETER_F))         \
	{                                                                                          \
		const struct def_##what def = { DEF_##WHAT(FIELD_S, FIELD_F) };                    \
                                                                                                   \
		if (eztrace_is_mpi())                                                              \
			return NEXT(OTF2_GlobalDefWriter_Write##kind)(                             \
				writer, id DEF_##WHAT(ARGUMENT_S, ARGUMENT_F));                    \
		defs_##what(id, &def);                                                             \
		return OTF2_SUCCESS;                                                               \
	}
DEFINITIONS(X)
#undef X

/* Ours is written with the definitions, when the end is known. */
EXPORT OTF2_ErrorCode OTF2_GlobalDefWriter_WriteClockProperties(OTF2_GlobalDefWriter *writer,
								uint64_t resolution,
								uint64_t offset, uint64_t length,
								uint64_t realtime)
{
	if (eztrace_is_mpi())
		return NEXT(OTF2_GlobalDefWriter_WriteClockProperties)(writer, resolution, offset,
								       length, realtime);
	return OTF2_SUCCESS;
}

/* EZTrace defines a team of OpenMP when its last member came: others may have begun before. */
EXPORT OTF2_ErrorCode OTF2_EvtWriter_ThreadTeamBegin(OTF2_EvtWriter *writer,
						     OTF2_AttributeList *attributes,
						     OTF2_TimeStamp time, OTF2_CommRef team)
{
	if (!eztrace_is_mpi())
		defs_comm_used(team);
	return NEXT(OTF2_EvtWriter_ThreadTeamBegin)(writer, attributes, time, team);
}

/* Definitions of an EZTrace archive: writing them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sink.h"
#include "eta-ext/format/own-call.h"
#include "eta-ext/format/otf2-flags.h"
#include "next.h"

#define IO_PARADIGM 0

/* The id in the archive, once all strings are there. */
static OTF2_StringRef final_id(OTF2_StringRef id)
{
	return id != NO_STRING && (id & OWN_STRING) ? defs.strings.n + (id & ~OWN_STRING) : id;
}

static OTF2_StringRef string_new(const char *text)
{
	return defs_string_add(text, strlen(text));
}

#define FILL(table, value)                                                                         \
	for (uint32_t i_ = 0; i_ < (table).n; i_++)                                                \
		if (!(table).set[i_])                                                              \
	PUT(table, i_, value)

/* Ids that EZTrace skipped: events may have them all the same (a team not all of which came). */
static void fill_gaps(OTF2_StringRef unused)
{
	const struct def_attribute attribute = { unused, unused, OTF2_TYPE_UINT8 };
	const struct def_region region = { .name = unused,
					   .canonical = unused,
					   .description = unused,
					   .role = OTF2_REGION_ROLE_UNKNOWN,
					   .paradigm = OTF2_PARADIGM_USER,
					   .file = unused };
	const struct def_group group = { .name = unused,
					 .type = OTF2_GROUP_TYPE_REGIONS,
					 .paradigm = OTF2_PARADIGM_USER };
	struct def_comm comm = { 0 };

	FILL(defs.attributes, attribute);
	FILL(defs.regions, region);
	FILL(defs.groups, group);
	for (uint32_t i = defs.comms.n; i-- > 0;)
		if (defs.comms.set[i])
			comm = defs.comms.at[i];
	comm.name = unused;
	comm.parent = OTF2_UNDEFINED_COMM;
	FILL(defs.comms, comm);
}

/* Replaces EZTrace's names ("P#0T#1") by the usual ones. */
static void name_everything(void)
{
	const OTF2_StringRef user = string_new("user"), unused = string_new("(not used)");
	static char text[PATH_MAX]; /* the stack may be small; this is done once */
	static struct utsname host;
	char comm[16] = "";

	prctl(PR_GET_NAME, comm);
	if (uname(&host) == 0 && defs.nodes.n) {
		defs.nodes.at[0].name = string_new(host.nodename);
		defs.nodes.at[0].class_name = string_new("node");
	}
	if (defs.threads.n && defs.threads.set[0])
		memcpy(comm, defs.threads.at[0].comm, sizeof(comm));
	if (defs.location_groups.n) {
		snprintf(text, sizeof(text), "%.15s pid %d", comm, getpid());
		defs.location_groups.at[0].name = string_new(text);
	}
	for (uint32_t i = 0; i < defs.threads.n; i++) {
		struct thread_info *info = &defs.threads.at[i];

		if (!defs.threads.set[i])
			continue;
		defs_thread_count(info);
		/* a thread in the archive whose location EZTrace has not written */
		if (!(i < defs.locations.n && defs.locations.set[i])) {
			const struct def_location location = {
				.type = OTF2_LOCATION_TYPE_CPU_THREAD
			};

			PUT(defs.locations, i, location);
		}
		snprintf(text, sizeof(text), "%.15s tid %u", info->comm, info->tid);
		defs.locations.at[i].name = string_new(text);
		defs.locations.at[i].events = info->events;
	}
	/* a thread that EZTrace was still starting has no files, which readers would miss */
	for (uint32_t i = 0; i < defs.locations.n; i++)
		if (!(i < defs.threads.n && defs.threads.set[i]))
			defs.locations.set[i] = false;
	fill_gaps(unused);
	for (uint32_t i = 0; i < defs.calls.n; i++) {
		struct def_region *region = &defs.regions.at[defs.calls.at[i]];

		if (defs.calls.at[i] >= defs.regions.n)
			continue;
		region->role = OTF2_REGION_ROLE_FILE_IO;
		region->file = user;
	}
}

/* ---- what is written; the first failure stays in `code`, and the rest writes nothing then ---- */

/* X(ID, text): names that are not EZTrace's. */
#define NAMES(X)                                                                                   \
	X(LEVEL, "level:user")                                                                     \
	X(POSIX, "POSIX")                                                                          \
	X(PID, "PID")                                                                              \
	X(PPID, "PPID")                                                                            \
	X(NS_PID, "NS_PID")                                                                        \
	X(PID_NS, "PID_NS")                                                                        \
	X(TID, "TID")                                                                              \
	X(START, "START")                                                                          \
	X(DEV, "dev")                                                                              \
	X(INODE, "inode")                                                                          \
	X(BOOT, "BOOT")

enum name {
#define X(id, text) NAME_##id,
	NAMES(X)
#undef X
		N_NAMES,
};

static struct {
	OTF2_GlobalDefWriter *writer;
	OTF2_ErrorCode code;
	OTF2_StringRef names[N_NAMES];
} out;

#define WRITE(function, ...)                                                                       \
	do {                                                                                       \
		if (out.code == OTF2_SUCCESS)                                                      \
			out.code = (function)(out.writer, __VA_ARGS__);                            \
	} while (0)

#define WRITE_NUMBER(of, index, name, number)                                                      \
	WRITE(OTF2_GlobalDefWriter_Write##of##Property, index, out.names[NAME_##name],             \
	      OTF2_TYPE_UINT64, (OTF2_AttributeValue){ .uint64 = number })

#define WRITE_TEXT(of, index, name, text)                                                          \
	WRITE(OTF2_GlobalDefWriter_Write##of##Property, index, name, OTF2_TYPE_STRING,             \
	      (OTF2_AttributeValue){ .stringRef = text })

static void write_strings(void)
{
	for (uint32_t i = 0; i < defs.strings.n; i++)
		WRITE(NEXT(OTF2_GlobalDefWriter_WriteString), i,
		      defs.strings.at[i] ? defs.strings.at[i] : "");
	for (uint32_t i = 0; i < defs.own_strings.n; i++)
		WRITE(NEXT(OTF2_GlobalDefWriter_WriteString), defs.strings.n + i,
		      defs.own_strings.at[i]);
}

/* write_nodes, write_location_groups, ...: each writes the whole table. */
#define VALUE_S(name) , final_id(def->name)
#define VALUE_F(type, name) , def->name
#define X(kind, what, ref, WHAT)                                                                   \
	static void write_##what##s(void)                                                          \
	{                                                                                          \
		for (uint32_t i = 0; i < defs.what##s.n; i++) {                                    \
			const struct def_##what *def = &defs.what##s.at[i];                        \
                                                                                                   \
			if (defs.what##s.set[i])                                                   \
				WRITE(NEXT(OTF2_GlobalDefWriter_Write##kind),                      \
				      i DEF_##WHAT(VALUE_S, VALUE_F));                             \
		}                                                                                  \
	}
DEFINITIONS(X)
#undef X

/* The first group: this process. */
static void write_process(const struct eta_spool_header *origin)
{
	WRITE_NUMBER(LocationGroup, 0, PID, (uint64_t)getpid());
	WRITE_NUMBER(LocationGroup, 0, PPID, (uint64_t)getppid());
	if (origin->pid_ns) {
		WRITE_NUMBER(LocationGroup, 0, NS_PID, (uint64_t)getpid());
		WRITE_NUMBER(LocationGroup, 0, PID_NS, origin->pid_ns);
		WRITE_NUMBER(LocationGroup, 0, START, origin->process_ns);
	}
	for (uint32_t n = 0; n < defs.group_properties.n; n++) {
		const struct def_property *p = &defs.group_properties.at[n];

		WRITE_TEXT(LocationGroup, 0, final_id(p->name), final_id(p->value));
	}
}

/* BOOT: the value of the property, of ORIGIN. */
static void write_system(const struct eta_spool_header *origin, OTF2_StringRef boot)
{
	write_nodes();
	if (defs.nodes.n && *origin->boot)
		WRITE_TEXT(SystemTreeNode, 0, out.names[NAME_BOOT], boot);
	write_location_groups();
	if (defs.location_groups.n)
		write_process(origin);
	write_locations();
	for (uint32_t i = 0; i < defs.threads.n; i++) {
		const struct thread_info *info = &defs.threads.at[i];

		if (!defs.threads.set[i])
			continue;
		WRITE_NUMBER(Location, i, PID, (uint64_t)getpid());
		WRITE_NUMBER(Location, i, TID, info->tid);
		WRITE_NUMBER(Location, i, START, info->start_ns);
	}
}

static void write_files(void)
{
	const OTF2_StringRef posix = out.names[NAME_POSIX];

	WRITE(OTF2_GlobalDefWriter_WriteIoParadigm, IO_PARADIGM, posix, posix,
	      OTF2_IO_PARADIGM_CLASS_SERIAL, OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL);
	for (uint32_t i = 0; i < defs.files.n; i++) {
		const struct io_file *file = &defs.files.at[i];

		WRITE(OTF2_GlobalDefWriter_WriteIoRegularFile, i, final_id(file->path), 0);
		WRITE(OTF2_GlobalDefWriter_WriteIoFileProperty, i, out.names[NAME_DEV],
		      OTF2_TYPE_UINT32, (OTF2_AttributeValue){ .uint32 = file->dev });
		WRITE_NUMBER(IoFile, i, INODE, file->inode);
	}
	for (uint32_t i = 0; i < defs.handles.n; i++) {
		const struct io_handle *handle = &defs.handles.at[i];

		WRITE(OTF2_GlobalDefWriter_WriteIoHandle, i,
		      final_id(defs.files.at[handle->file].path), handle->file, IO_PARADIGM,
		      handle->pre_created ? OTF2_IO_HANDLE_FLAG_PRE_CREATED
					  : OTF2_IO_HANDLE_FLAG_NONE,
		      OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE);
		if (handle->pre_created)
			WRITE(OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState, i,
			      otf2_access_mode(handle->open_flags),
			      otf2_status_flags(handle->open_flags));
	}
}

OTF2_ErrorCode defs_write(OTF2_GlobalDefWriter *writer, uint64_t first_ns)
{
	static const char *const names[] = {
#define X(id, text) text,
		NAMES(X)
#undef X
	};
	static struct eta_spool_header origin; /* the stack may be small */
	struct timespec real;
	OTF2_StringRef boot;
	uint64_t now, realtime;

	defs_modules_update();
	defs_lock();
	defs.closed = true;
	own_clock(CLOCK_REALTIME, &real);
	now = clock_real();
	realtime = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec - (now - first_ns);
	name_everything();
	defs_name_modules();
	for (int i = 0; i < N_NAMES; i++)
		out.names[i] = final_id(string_new(names[i]));
	spool_header_origin(&origin);
	boot = final_id(string_new(origin.boot));
	out.writer = writer;
	out.code = OTF2_SUCCESS;
	/* events may be later than EZTrace's end */
	WRITE(NEXT(OTF2_GlobalDefWriter_WriteClockProperties), 1000000000, first_ns, now - first_ns,
	      realtime);
	write_strings();
	write_system(&origin, boot);
	write_attributes();
	write_regions();
	write_groups();
	WRITE(NEXT(OTF2_GlobalDefWriter_WriteGroup), defs.groups.n, out.names[NAME_LEVEL],
	      OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_USER, OTF2_GROUP_FLAG_NONE, defs.calls.n,
	      defs.calls.at);
	write_comms();
	write_files();
	if (out.code == OTF2_SUCCESS && defs.out_of_memory)
		out.code = OTF2_ERROR_MEM_ALLOC_FAILED;
	defs_unlock();
	return out.code;
}

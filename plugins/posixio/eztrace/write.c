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

/*
 * Ids that EZTrace skipped: events may have them nevertheless (a team that not all members joined).
 */
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

struct property_names {
	OTF2_StringRef pid, ppid, ns_pid, pid_ns, tid, start, dev, inode;
	OTF2_StringRef boot, boot_id;	/* a name and its value */
	struct eta_spool_header origin; /* the properties of this process */
};

static OTF2_ErrorCode write_strings(OTF2_GlobalDefWriter *writer)
{
	__typeof__(OTF2_GlobalDefWriter_WriteString) *put = NEXT(OTF2_GlobalDefWriter_WriteString);
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (uint32_t i = 0; i < defs.strings.n && code == OTF2_SUCCESS; i++)
		code = put(writer, i, defs.strings.at[i] ? defs.strings.at[i] : "");
	for (uint32_t i = 0; i < defs.own_strings.n && code == OTF2_SUCCESS; i++)
		code = put(writer, defs.strings.n + i, defs.own_strings.at[i]);
	return code;
}

static void put_group_number(OTF2_GlobalDefWriter *writer, OTF2_LocationGroupRef group,
			     OTF2_StringRef name, uint64_t number)
{
	OTF2_GlobalDefWriter_WriteLocationGroupProperty(writer, group, name, OTF2_TYPE_UINT64,
							(OTF2_AttributeValue){ .uint64 = number });
}

/* put_nodes, put_location_groups, ...: each writes the whole table. */
#define VALUE_S(name) , final_id(def->name)
#define VALUE_F(type, name) , def->name
#define X(kind, what, ref, WHAT)                                                                   \
	static OTF2_ErrorCode put_##what##s(OTF2_GlobalDefWriter *writer)                          \
	{                                                                                          \
		__typeof__(OTF2_GlobalDefWriter_Write##kind) *put =                                \
			NEXT(OTF2_GlobalDefWriter_Write##kind);                                    \
		OTF2_ErrorCode code = OTF2_SUCCESS;                                                \
                                                                                                   \
		for (uint32_t i = 0; i < defs.what##s.n && code == OTF2_SUCCESS; i++) {            \
			const struct def_##what *def = &defs.what##s.at[i];                        \
                                                                                                   \
			if (defs.what##s.set[i])                                                   \
				code = put(writer, i DEF_##WHAT(VALUE_S, VALUE_F));                \
		}                                                                                  \
		return code;                                                                       \
	}
DEFINITIONS(X)
#undef X

/* The first group: this process. */
static void put_process(OTF2_GlobalDefWriter *writer, const struct property_names *names)
{
	put_group_number(writer, 0, names->pid, (uint64_t)getpid());
	put_group_number(writer, 0, names->ppid, (uint64_t)getppid());
	if (names->origin.pid_ns) {
		put_group_number(writer, 0, names->ns_pid, (uint64_t)getpid());
		put_group_number(writer, 0, names->pid_ns, names->origin.pid_ns);
		put_group_number(writer, 0, names->start, names->origin.process_ns);
	}
	for (uint32_t n = 0; n < defs.group_properties.n; n++) {
		const struct def_property *p = &defs.group_properties.at[n];

		OTF2_GlobalDefWriter_WriteLocationGroupProperty(
			writer, 0, final_id(p->name), OTF2_TYPE_STRING,
			(OTF2_AttributeValue){ .stringRef = final_id(p->value) });
	}
}

static void put_location_number(OTF2_GlobalDefWriter *writer, OTF2_LocationRef location,
				OTF2_StringRef name, uint64_t number)
{
	OTF2_GlobalDefWriter_WriteLocationProperty(writer, location, name, OTF2_TYPE_UINT64,
						   (OTF2_AttributeValue){ .uint64 = number });
}

static OTF2_ErrorCode write_locations(OTF2_GlobalDefWriter *writer,
				      const struct property_names *names)
{
	OTF2_ErrorCode code = put_nodes(writer);

	if (code == OTF2_SUCCESS && defs.nodes.n && *names->origin.boot)
		OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty(
			writer, 0, names->boot, OTF2_TYPE_STRING,
			(OTF2_AttributeValue){ .stringRef = names->boot_id });
	if (code == OTF2_SUCCESS)
		code = put_location_groups(writer);
	if (code == OTF2_SUCCESS && defs.location_groups.n)
		put_process(writer, names);
	if (code == OTF2_SUCCESS)
		code = put_locations(writer);
	for (uint32_t i = 0; i < defs.threads.n && code == OTF2_SUCCESS; i++) {
		const struct thread_info *info = &defs.threads.at[i];

		if (!defs.threads.set[i])
			continue;
		put_location_number(writer, i, names->pid, (uint64_t)getpid());
		put_location_number(writer, i, names->tid, info->tid);
		put_location_number(writer, i, names->start, info->start_ns);
	}
	return code;
}

static OTF2_ErrorCode write_regions(OTF2_GlobalDefWriter *writer, OTF2_StringRef level)
{
	OTF2_ErrorCode code = put_attributes(writer);

	if (code == OTF2_SUCCESS)
		code = put_regions(writer);
	if (code == OTF2_SUCCESS)
		code = put_groups(writer);
	if (code == OTF2_SUCCESS)
		code = NEXT(OTF2_GlobalDefWriter_WriteGroup)(
			writer, defs.groups.n, level, OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_USER,
			OTF2_GROUP_FLAG_NONE, defs.calls.n, defs.calls.at);
	return code == OTF2_SUCCESS ? put_comms(writer) : code;
}

static OTF2_ErrorCode write_files(OTF2_GlobalDefWriter *writer, OTF2_StringRef posix,
				  const struct property_names *names)
{
	OTF2_ErrorCode code = OTF2_GlobalDefWriter_WriteIoParadigm(
		writer, IO_PARADIGM, posix, posix, OTF2_IO_PARADIGM_CLASS_SERIAL,
		OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL);

	for (uint32_t i = 0; i < defs.files.n && code == OTF2_SUCCESS; i++) {
		const struct io_file *file = &defs.files.at[i];

		code = OTF2_GlobalDefWriter_WriteIoRegularFile(writer, i, final_id(file->path), 0);
		OTF2_GlobalDefWriter_WriteIoFileProperty(
			writer, i, names->dev, OTF2_TYPE_UINT32,
			(OTF2_AttributeValue){ .uint32 = file->dev });
		OTF2_GlobalDefWriter_WriteIoFileProperty(
			writer, i, names->inode, OTF2_TYPE_UINT64,
			(OTF2_AttributeValue){ .uint64 = file->inode });
	}
	for (uint32_t i = 0; i < defs.handles.n && code == OTF2_SUCCESS; i++) {
		const struct io_handle *handle = &defs.handles.at[i];

		code = OTF2_GlobalDefWriter_WriteIoHandle(
			writer, i, final_id(defs.files.at[handle->file].path), handle->file,
			IO_PARADIGM,
			handle->pre_created ? OTF2_IO_HANDLE_FLAG_PRE_CREATED
					    : OTF2_IO_HANDLE_FLAG_NONE,
			OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE);
		if (handle->pre_created && code == OTF2_SUCCESS)
			code = OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(
				writer, i, otf2_access_mode(handle->open_flags),
				otf2_status_flags(handle->open_flags));
	}
	return code;
}

OTF2_ErrorCode defs_write(OTF2_GlobalDefWriter *writer, uint64_t first_ns)
{
	static struct property_names names;
	struct timespec real;
	OTF2_StringRef level, posix;
	OTF2_ErrorCode code;
	uint64_t now, realtime;

	defs_modules_update();
	defs_lock();
	defs.closed = true;
	own_clock(CLOCK_REALTIME, &real);
	now = clock_real();
	realtime = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec - (now - first_ns);
	name_everything();
	defs_name_modules();
	level = final_id(string_new("level:user"));
	posix = final_id(string_new("POSIX"));
	names.pid = final_id(string_new("PID"));
	names.ppid = final_id(string_new("PPID"));
	names.ns_pid = final_id(string_new("NS_PID"));
	names.pid_ns = final_id(string_new("PID_NS"));
	names.tid = final_id(string_new("TID"));
	names.start = final_id(string_new("START"));
	names.dev = final_id(string_new("dev"));
	names.inode = final_id(string_new("inode"));
	spool_header_origin(&names.origin);
	names.boot = final_id(string_new("BOOT"));
	names.boot_id = final_id(string_new(names.origin.boot));
	/* events may be later than EZTrace's end */
	code = NEXT(OTF2_GlobalDefWriter_WriteClockProperties)(writer, 1000000000, first_ns,
							       now - first_ns, realtime);
	if (code == OTF2_SUCCESS)
		code = write_strings(writer);
	if (code == OTF2_SUCCESS)
		code = write_locations(writer, &names);
	if (code == OTF2_SUCCESS)
		code = write_regions(writer, level);
	if (code == OTF2_SUCCESS)
		code = write_files(writer, posix, &names);
	if (code == OTF2_SUCCESS && defs.out_of_memory)
		code = OTF2_ERROR_MEM_ALLOC_FAILED;
	defs_unlock();
	return code;
}

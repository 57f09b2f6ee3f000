/* Definitions of an EZTrace archive. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eztrace-defs.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core.h"

#define NO_STRING UINT32_MAX
/* Strings of ours, until they get the ids behind the last of EZTrace's, which go on coming. */
#define OWN_STRING 0x80000000u
#define IO_PARADIGM 0
#define FILE_BUCKETS 4096

/* A growing array of one kind of definition, indexed by id; `set` tells gaps. */
#define TABLE(type)                                                                                \
	struct {                                                                                   \
		type *at;                                                                          \
		bool *set;                                                                         \
		uint32_t n, room;                                                                  \
	}

struct thread_info {
	uint32_t tid;
	uint64_t start_ns;
	uint64_t events;
	OTF2_EvtWriter *writer; /* NULL: closed, events is final */
	char comm[16];
};

struct io_file {
	OTF2_StringRef path;
	uint32_t dev;
	uint64_t inode;
	uint32_t free_handle; /* index + 1 of a handle given back, 0: none */
	uint32_t next;	      /* index + 1 in the same bucket */
	bool regular;
};

struct io_handle {
	uint32_t file;
	uint32_t next_free;
	uint32_t open_flags;
	bool pre_created;
};

static struct {
	atomic_flag lock;
	TABLE(char *) strings;
	TABLE(char *) own_strings;
	TABLE(struct def_region) regions;
	TABLE(struct def_group) groups;
	TABLE(struct def_comm) comms;
	TABLE(struct def_attribute) attributes;
	TABLE(struct def_node) nodes;
	TABLE(struct def_location_group) location_groups;
	TABLE(struct def_location) locations;
	TABLE(struct thread_info) threads;
	TABLE(uint64_t) calls; /* regions of ours, a list */
	TABLE(struct io_file) files;
	TABLE(struct io_handle) handles;
	uint32_t buckets[FILE_BUCKETS];
	/* the id that stands for one that EZTrace gave twice */
	uint32_t group_now, comm_now;
	uint64_t resolution, length;
	bool out_of_memory;
} defs = { .lock = ATOMIC_FLAG_INIT, .resolution = 1000000000 };

/* Makes room for index ID. */
static bool table_reach(void **at, bool **set, uint32_t *n, uint32_t *room, size_t bytes,
			uint32_t id)
{
	if (id >= *room) {
		uint32_t more = id < 64 ? 128 : id * 2;
		void *new_at = realloc(*at, more * bytes);
		bool *new_set;

		if (new_at)
			*at = new_at;
		new_set = realloc(*set, more);
		if (new_set)
			*set = new_set;
		if (!new_at || !new_set) {
			defs.out_of_memory = true;
			return false;
		}
		memset((char *)*at + *room * bytes, 0, (more - *room) * bytes);
		memset(*set + *room, 0, more - *room);
		*room = more;
	}
	if (id >= *n)
		*n = id + 1;
	return true;
}

#define REACH(table, id)                                                                           \
	table_reach((void **)&(table).at, &(table).set, &(table).n, &(table).room,                 \
		    sizeof(*(table).at), id)

#define PUT(table, id, value)                                                                      \
	do {                                                                                       \
		const uint32_t id_ = id; /* often the table's own length */                        \
                                                                                                   \
		if (REACH(table, id_)) {                                                           \
			(table).at[id_] = value;                                                   \
			(table).set[id_] = true;                                                   \
		}                                                                                  \
	} while (0)

/*
 * Not a mutex: EZTrace's pthread module stands before pthread_mutex_lock, its memory module before
 * malloc; on first use they define what they need and would come back here, or wait for EZTrace's
 * own lock, which we may be called under. Its shield, per thread, keeps them out.
 */
static __thread bool shielded_before;

static void lock(void)
{
	bool before = recursion_shield_on();

	if (!before)
		set_recursion_shield_on();
	while (atomic_flag_test_and_set_explicit(&defs.lock, memory_order_acquire))
		sched_yield();
	shielded_before = before;
}

static void unlock(void)
{
	bool before = shielded_before;

	atomic_flag_clear_explicit(&defs.lock, memory_order_release);
	if (!before)
		set_recursion_shield_off();
}

void defs_string(OTF2_StringRef id, const char *text)
{
	lock();
	if (id != NO_STRING && !(id < defs.strings.n && defs.strings.set[id]))
		PUT(defs.strings, id, strdup(text ? text : ""));
	unlock();
}

void defs_region(OTF2_RegionRef id, const struct def_region *region)
{
	lock();
	PUT(defs.regions, id, *region);
	unlock();
}

void defs_group(OTF2_GroupRef id, const struct def_group *group)
{
	struct def_group copy = *group;

	lock();
	copy.members = malloc((group->n_members + 1) * sizeof(*copy.members));
	if (copy.members) {
		if (group->n_members)
			memcpy(copy.members, group->members,
			       group->n_members * sizeof(*copy.members));
		if (id < defs.groups.n && defs.groups.set[id])
			id = defs.groups.n;
		defs.group_now = id;
		PUT(defs.groups, id, copy);
	}
	unlock();
}

void defs_comm(OTF2_CommRef id, const struct def_comm *comm)
{
	struct def_comm copy = *comm;

	lock();
	/* EZTrace writes a communicator's group just before it, under an id it may have used */
	if (copy.group != defs.group_now)
		copy.group = defs.group_now;
	if (id < defs.comms.n && defs.comms.set[id])
		id = defs.comms.n;
	PUT(defs.comms, id, copy);
	unlock();
}

void defs_attribute(OTF2_AttributeRef id, const struct def_attribute *attribute)
{
	lock();
	PUT(defs.attributes, id, *attribute);
	unlock();
}

void defs_node(OTF2_SystemTreeNodeRef id, const struct def_node *node)
{
	lock();
	PUT(defs.nodes, id, *node);
	unlock();
}

void defs_location_group(OTF2_LocationGroupRef id, const struct def_location_group *group)
{
	lock();
	PUT(defs.location_groups, id, *group);
	unlock();
}

void defs_location(OTF2_LocationRef id, const struct def_location *location)
{
	lock();
	PUT(defs.locations, id, *location);
	unlock();
}

void defs_clock(uint64_t resolution, uint64_t length)
{
	lock();
	defs.resolution = resolution;
	defs.length = length;
	unlock();
}

void defs_thread(OTF2_LocationRef id, OTF2_EvtWriter *writer)
{
	struct thread_info info = { .tid = (uint32_t)gettid(),
				    .start_ns = clock_real(),
				    .writer = writer };

	prctl(PR_GET_NAME, info.comm);
	lock();
	if (!(id < defs.threads.n && defs.threads.set[id]))
		PUT(defs.threads, id, info);
	unlock();
}

/* The lock is held. */
static void thread_count(struct thread_info *info)
{
	if (info->writer)
		OTF2_EvtWriter_GetNumberOfEvents(info->writer, &info->events);
}

void defs_thread_end(OTF2_EvtWriter *writer)
{
	lock();
	for (uint32_t i = 0; i < defs.threads.n; i++) {
		struct thread_info *info = &defs.threads.at[i];

		if (info->writer == writer) {
			thread_count(info);
			info->writer = NULL;
		}
	}
	unlock();
}

void defs_call_region(OTF2_RegionRef id)
{
	lock();
	PUT(defs.calls, defs.calls.n, id);
	unlock();
}

/* ---- files and handles ---- */

/* A new string; the lock is held. */
static OTF2_StringRef string_add(const char *text, size_t bytes)
{
	uint32_t id = defs.own_strings.n;
	char *copy = strndup(text, bytes);

	if (!copy)
		return NO_STRING;
	PUT(defs.own_strings, id, copy);
	return OWN_STRING | id;
}

static uint32_t file_find(const struct file *file, const char *path, size_t path_bytes)
{
	uint32_t *bucket = &defs.buckets[(file->inode ^ file->dev) % FILE_BUCKETS];
	struct io_file new = { .dev = file->dev,
			       .inode = file->inode,
			       .regular = file->kind == ETA_FILE_REGULAR,
			       .next = *bucket };

	for (uint32_t i = *bucket; i; i = defs.files.at[i - 1].next) {
		const struct io_file *at = &defs.files.at[i - 1];
		const char *known = defs.own_strings.at[at->path & ~OWN_STRING];

		if (at->inode == file->inode && at->dev == file->dev &&
		    strlen(known) == path_bytes && memcmp(known, path, path_bytes) == 0)
			return i - 1;
	}
	new.path = string_add(path, path_bytes);
	if (new.path == NO_STRING)
		return UINT32_MAX;
	PUT(defs.files, defs.files.n, new);
	*bucket = defs.files.n;
	return defs.files.n - 1;
}

void defs_file_open(struct file *file, const char *path, size_t path_bytes, bool pre_created)
{
	struct io_file *of;

	lock();
	file->sink_file = file_find(file, path, path_bytes);
	if (file->sink_file == UINT32_MAX)
		goto out;
	of = &defs.files.at[file->sink_file];
	if (of->free_handle && !pre_created) {
		file->sink_handle = of->free_handle - 1;
		of->free_handle = defs.handles.at[file->sink_handle].next_free;
	} else {
		const struct io_handle new = { .file = file->sink_file,
					       .open_flags = file->open_flags,
					       .pre_created = pre_created };

		file->sink_handle = defs.handles.n;
		PUT(defs.handles, file->sink_handle, new);
	}
out:
	unlock();
}

void defs_handle_free(const struct file *file)
{
	struct io_handle *handle;

	lock();
	if (file->sink_handle < defs.handles.n) {
		handle = &defs.handles.at[file->sink_handle];
		if (!handle->pre_created) {
			handle->next_free = defs.files.at[handle->file].free_handle;
			defs.files.at[handle->file].free_handle = file->sink_handle + 1;
		}
	}
	unlock();
}

/* ---- writing ---- */

/* libotf2's own, behind those that bring definitions here. */
#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

/* The id in the archive, once all strings are there. */
static OTF2_StringRef final_id(OTF2_StringRef id)
{
	return id != NO_STRING && (id & OWN_STRING) ? defs.strings.n + (id & ~OWN_STRING) : id;
}

static OTF2_StringRef string_new(const char *text)
{
	return string_add(text, strlen(text));
}

/* What EZTrace named "P#0T#1" gets the names that the rest of the world knows it by. */
static void name_everything(void)
{
	const OTF2_StringRef user = string_new("user"), unused = string_new("(not used)");
	char text[PATH_MAX];
	struct utsname host;
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
		thread_count(info);
		/* a thread whose location EZTrace has not written is in the archive all the same */
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
	for (uint32_t i = 0; i < defs.regions.n; i++)
		if (!defs.regions.set[i])
			defs.regions.at[i] = (struct def_region){ unused,
								  unused,
								  unused,
								  unused,
								  OTF2_REGION_ROLE_UNKNOWN,
								  OTF2_PARADIGM_USER };
	for (uint32_t i = 0; i < defs.calls.n; i++) {
		struct def_region *region = &defs.regions.at[defs.calls.at[i]];

		if (defs.calls.at[i] >= defs.regions.n)
			continue;
		region->role = OTF2_REGION_ROLE_FILE_IO;
		region->file = user;
	}
}

struct property_names {
	OTF2_StringRef pid, ppid, tid, start, dev, inode;
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

static OTF2_ErrorCode write_locations(OTF2_GlobalDefWriter *writer,
				      const struct property_names *names)
{
	__typeof__(OTF2_GlobalDefWriter_WriteSystemTreeNode) *put_node =
		NEXT(OTF2_GlobalDefWriter_WriteSystemTreeNode);
	__typeof__(OTF2_GlobalDefWriter_WriteLocationGroup) *put_group =
		NEXT(OTF2_GlobalDefWriter_WriteLocationGroup);
	__typeof__(OTF2_GlobalDefWriter_WriteLocation) *put_location =
		NEXT(OTF2_GlobalDefWriter_WriteLocation);
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (uint32_t i = 0; i < defs.nodes.n && code == OTF2_SUCCESS; i++) {
		const struct def_node *node = &defs.nodes.at[i];

		if (defs.nodes.set[i])
			code = put_node(writer, i, final_id(node->name), final_id(node->class_name),
					node->parent);
	}
	for (uint32_t i = 0; i < defs.location_groups.n && code == OTF2_SUCCESS; i++) {
		const struct def_location_group *group = &defs.location_groups.at[i];

		if (!defs.location_groups.set[i])
			continue;
		code = put_group(writer, i, final_id(group->name), group->type, group->parent,
				 group->creator);
		if (i == 0 && code == OTF2_SUCCESS) {
			OTF2_GlobalDefWriter_WriteLocationGroupProperty(
				writer, i, names->pid, OTF2_TYPE_UINT64,
				(OTF2_AttributeValue){ .uint64 = (uint64_t)getpid() });
			OTF2_GlobalDefWriter_WriteLocationGroupProperty(
				writer, i, names->ppid, OTF2_TYPE_UINT64,
				(OTF2_AttributeValue){ .uint64 = (uint64_t)getppid() });
		}
	}
	for (uint32_t i = 0; i < defs.locations.n && code == OTF2_SUCCESS; i++) {
		const struct def_location *location = &defs.locations.at[i];
		const struct thread_info *info;

		if (!defs.locations.set[i])
			continue;
		code = put_location(writer, i, final_id(location->name), location->type,
				    location->events, location->group);
		if (code != OTF2_SUCCESS || i >= defs.threads.n || !defs.threads.set[i])
			continue;
		info = &defs.threads.at[i];
		OTF2_GlobalDefWriter_WriteLocationProperty(
			writer, i, names->pid, OTF2_TYPE_UINT64,
			(OTF2_AttributeValue){ .uint64 = (uint64_t)getpid() });
		OTF2_GlobalDefWriter_WriteLocationProperty(
			writer, i, names->tid, OTF2_TYPE_UINT64,
			(OTF2_AttributeValue){ .uint64 = info->tid });
		OTF2_GlobalDefWriter_WriteLocationProperty(
			writer, i, names->start, OTF2_TYPE_UINT64,
			(OTF2_AttributeValue){ .uint64 = info->start_ns });
	}
	return code;
}

static OTF2_ErrorCode write_regions(OTF2_GlobalDefWriter *writer, OTF2_StringRef level)
{
	__typeof__(OTF2_GlobalDefWriter_WriteRegion) *put_region =
		NEXT(OTF2_GlobalDefWriter_WriteRegion);
	__typeof__(OTF2_GlobalDefWriter_WriteAttribute) *put_attribute =
		NEXT(OTF2_GlobalDefWriter_WriteAttribute);
	__typeof__(OTF2_GlobalDefWriter_WriteGroup) *put_group =
		NEXT(OTF2_GlobalDefWriter_WriteGroup);
	__typeof__(OTF2_GlobalDefWriter_WriteComm) *put_comm = NEXT(OTF2_GlobalDefWriter_WriteComm);
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (uint32_t i = 0; i < defs.attributes.n && code == OTF2_SUCCESS; i++) {
		const struct def_attribute *attribute = &defs.attributes.at[i];

		code = put_attribute(writer, i, final_id(attribute->name),
				     final_id(attribute->description),
				     defs.attributes.set[i] ? attribute->type : OTF2_TYPE_UINT8);
	}
	for (uint32_t i = 0; i < defs.regions.n && code == OTF2_SUCCESS; i++) {
		const struct def_region *region = &defs.regions.at[i];

		code = put_region(writer, i, final_id(region->name), final_id(region->canonical),
				  final_id(region->description), region->role, region->paradigm,
				  region->flags, final_id(region->file), region->begin_line,
				  region->end_line);
	}
	for (uint32_t i = 0; i < defs.groups.n && code == OTF2_SUCCESS; i++) {
		const struct def_group *group = &defs.groups.at[i];

		code = put_group(writer, i, final_id(group->name), group->type, group->paradigm,
				 group->flags, group->n_members, group->members);
	}
	if (code == OTF2_SUCCESS)
		code = put_group(writer, defs.groups.n, level, OTF2_GROUP_TYPE_REGIONS,
				 OTF2_PARADIGM_USER, OTF2_GROUP_FLAG_NONE, defs.calls.n,
				 defs.calls.at);
	for (uint32_t i = 0; i < defs.comms.n && code == OTF2_SUCCESS; i++) {
		const struct def_comm *comm = &defs.comms.at[i];

		code = put_comm(writer, i, final_id(comm->name), comm->group, comm->parent,
				comm->flags);
	}
	return code;
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
				writer, i, sink_access_mode(handle->open_flags),
				sink_status_flags(handle->open_flags));
	}
	return code;
}

OTF2_ErrorCode defs_write(OTF2_GlobalDefWriter *writer, uint64_t first_ns)
{
	struct property_names names;
	struct timespec real;
	OTF2_StringRef level, posix;
	OTF2_ErrorCode code;
	uint64_t now, realtime;

	lock();
	clock_gettime(CLOCK_REALTIME, &real);
	now = clock_real();
	realtime = (uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec - (now - first_ns);
	name_everything();
	level = final_id(string_new("level:user"));
	posix = final_id(string_new("POSIX"));
	names.pid = final_id(string_new("PID"));
	names.ppid = final_id(string_new("PPID"));
	names.tid = final_id(string_new("TID"));
	names.start = final_id(string_new("START"));
	names.dev = final_id(string_new("dev"));
	names.inode = final_id(string_new("inode"));
	/* events may be later than the moment EZTrace took for the end */
	code = NEXT(OTF2_GlobalDefWriter_WriteClockProperties)(writer, defs.resolution, first_ns,
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
	unlock();
	return code;
}

/* Definitions of an EZTrace archive: collecting them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "tables.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sink.h"

#define MAX_ID (1 << 24) /* ids are indices; a higher one would be an id of another kind */

struct defs defs = { .lock = ATOMIC_FLAG_INIT };

bool defs_reach(void **at, bool **set, uint32_t *n, uint32_t *room, size_t bytes, uint32_t id)
{
	if (id > MAX_ID) {
		defs.out_of_memory = true;
		return false;
	}
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

/*
 * Not a mutex: EZTrace's pthread module wraps pthread_mutex_lock, its memory module malloc; at
 * their first use they define what they need and would come back here, or wait for EZTrace's own
 * lock, which our caller may hold. EZTrace's shield, per thread, keeps them out.
 */
static __thread bool shielded_before;

bool defs_try_lock(void)
{
	bool before = recursion_shield_on();

	if (!before)
		set_recursion_shield_on();
	if (!atomic_flag_test_and_set_explicit(&defs.lock, memory_order_acquire)) {
		shielded_before = before;
		return true;
	}
	if (!before)
		set_recursion_shield_off();
	return false;
}

void defs_lock(void)
{
	while (!defs_try_lock())
		sched_yield();
}

void defs_unlock(void)
{
	bool before = shielded_before;

	atomic_flag_clear_explicit(&defs.lock, memory_order_release);
	if (!before)
		set_recursion_shield_off();
}

void defs_string(OTF2_StringRef id, const char *text)
{
	defs_lock();
	if (id != NO_STRING && !(id < defs.strings.n && defs.strings.set[id]))
		PUT(defs.strings, id, strdup(text ? text : ""));
	defs_unlock();
}

/* Definitions that are kept unchanged. */
#define KEEP(what, ref)                                                                            \
	void defs_##what(ref id, const struct def_##what *def)                                     \
	{                                                                                          \
		defs_lock();                                                                       \
		PUT(defs.what##s, id, *def);                                                       \
		defs_unlock();                                                                     \
	}

KEEP(node, OTF2_SystemTreeNodeRef)
KEEP(location_group, OTF2_LocationGroupRef)
KEEP(attribute, OTF2_AttributeRef)
KEEP(region, OTF2_RegionRef)

void defs_group(OTF2_GroupRef id, const struct def_group *group)
{
	const OTF2_GroupRef given = id;
	struct def_group copy = *group;
	uint64_t *members = malloc((group->n_members + 1) * sizeof(*members));

	defs_lock();
	if (members) {
		if (group->n_members)
			memcpy(members, group->members, group->n_members * sizeof(*members));
		copy.members = members;
		if (id < defs.groups.n && defs.groups.set[id])
			id = defs.groups.n;
		PUT(defs.group_ids, given, id);
		PUT(defs.groups, id, copy);
	}
	defs_unlock();
}

/* LOCATION's place in GROUP, a new one if it has none; UINT64_MAX: no memory. */
static uint64_t group_rank(struct def_group *group, uint64_t location)
{
	uint64_t *members;

	for (uint32_t i = 0; i < group->n_members; i++)
		if (group->members[i] == location)
			return i;
	members = realloc((void *)group->members, (group->n_members + 2) * sizeof(*members));
	if (!members) {
		defs.out_of_memory = true;
		return UINT64_MAX;
	}
	group->members = members;
	members[group->n_members] = location;
	return group->n_members++;
}

/*
 * EZTrace gives each team of OpenMP a group of locations. A communicator needs a group of ranks in
 * the one group of locations of its paradigm. Returns ID, or its replacement.
 */
static OTF2_GroupRef team_group(OTF2_GroupRef id)
{
	struct def_group team = defs.groups.at[id];
	uint64_t *ranks;
	uint32_t all = 0;

	if (team.type != OTF2_GROUP_TYPE_COMM_LOCATIONS)
		return id;
	while (defs.groups.at[all].type != team.type ||
	       defs.groups.at[all].paradigm != team.paradigm)
		all++;
	ranks = malloc((team.n_members + 1) * sizeof(*ranks));
	if (!ranks) {
		defs.out_of_memory = true;
		return id;
	}
	for (uint32_t i = 0; i < team.n_members; i++)
		ranks[i] = group_rank(&defs.groups.at[all], team.members[i]);
	if (all == id)
		id = defs.groups.n;
	else
		free((void *)team.members);
	team.type = OTF2_GROUP_TYPE_COMM_GROUP;
	team.members = ranks;
	PUT(defs.groups, id, team);
	return id;
}

void defs_comm(OTF2_CommRef id, const struct def_comm *comm)
{
	struct def_comm copy = *comm;

	defs_lock();
	/* EZTrace writes a communicator's group before it, under an id it may have used */
	if (copy.group < defs.group_ids.n && defs.group_ids.set[copy.group])
		copy.group = team_group(defs.group_ids.at[copy.group]);
	if (id < defs.comms.n && defs.comms.set[id])
		id = defs.comms.n;
	PUT(defs.comms, id, copy);
	defs_unlock();
}

void defs_comm_used(OTF2_CommRef id)
{
	defs_lock();
	REACH(defs.comms, id); /* what is never defined is filled in at the end */
	defs_unlock();
}

void defs_location(OTF2_LocationRef id, const struct def_location *location)
{
	/* a thread that starts when the archive is about to be closed would be only half defined */
	defs_lock();
	if (!defs.closing && _ezt_trace.status < ezt_trace_status_being_finalized)
		PUT(defs.locations, (uint32_t)id, *location);
	defs_unlock();
}

void defs_call_region(OTF2_RegionRef id)
{
	defs_lock();
	PUT(defs.calls, defs.calls.n, id);
	defs_unlock();
}

/* ---- files and handles ---- */

OTF2_StringRef defs_string_add(const char *text, size_t bytes)
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
	struct io_file new = { .dev = file->dev, .inode = file->inode, .next = *bucket };

	for (uint32_t i = *bucket; i; i = defs.files.at[i - 1].next) {
		const struct io_file *at = &defs.files.at[i - 1];
		const char *known = defs.own_strings.at[at->path & ~OWN_STRING];

		if (at->inode == file->inode && at->dev == file->dev &&
		    strlen(known) == path_bytes && memcmp(known, path, path_bytes) == 0)
			return i - 1;
	}
	new.path = defs_string_add(path, path_bytes);
	if (new.path == NO_STRING)
		return UINT32_MAX;
	PUT(defs.files, defs.files.n, new);
	*bucket = defs.files.n;
	return defs.files.n - 1;
}

void defs_file_open(struct file *file, const char *path, size_t path_bytes, bool pre_created)
{
	struct io_file *of;
	uint32_t index;

	defs_lock();
	index = file_find(file, path, path_bytes);
	if (index == UINT32_MAX)
		goto out;
	of = &defs.files.at[index];
	if (of->free_handle && !pre_created) {
		file->sink_handle = of->free_handle - 1;
		of->free_handle = defs.handles.at[file->sink_handle].next_free;
	} else {
		const struct io_handle new = { .file = index,
					       .open_flags = file->open_flags,
					       .pre_created = pre_created };

		file->sink_handle = defs.handles.n;
		PUT(defs.handles, file->sink_handle, new);
	}
out:
	defs_unlock();
}

void defs_handle_free(const struct file *file)
{
	struct io_handle *handle;

	defs_lock();
	if (file->sink_handle < defs.handles.n) {
		handle = &defs.handles.at[file->sink_handle];
		if (!handle->pre_created) {
			handle->next_free = defs.files.at[handle->file].free_handle;
			defs.files.at[handle->file].free_handle = file->sink_handle + 1;
		}
	}
	defs_unlock();
}

/* ---- properties of the archive ---- */

void defs_property(const char *prefix, const char *name, const char *value)
{
	struct archive_property property = { .value = value };

	defs_lock();
	if (asprintf(&property.name, "SCI::PROCESS_%d::%s%s", getpid(), prefix, name) > 0) {
		for (char *c = property.name; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		PUT(defs.archive_properties, defs.archive_properties.n, property);
	} else {
		defs.out_of_memory = true;
	}
	defs_unlock();
}

void defs_archive_properties(OTF2_Archive *archive)
{
	for (uint32_t i = 0; i < defs.archive_properties.n; i++)
		OTF2_Archive_SetProperty(archive, defs.archive_properties.at[i].name,
					 defs.archive_properties.at[i].value, true);
}

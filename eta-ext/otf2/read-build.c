/* OTF2 source: from definitions as stored to those of a trace. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read.h"
#include "eta-ext/base/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_DEPTH = 64 }; /* a damaged tree may be a ring */

/* ---- properties ---- */

static int by_owner(const void *a, const void *b)
{
	const struct raw_property *x = a, *y = b;

	return x->owner < y->owner ? -1 : x->owner > y->owner;
}

static void sort_properties(raw_properties *properties)
{
	if (properties->n)
		qsort(properties->v, properties->n, sizeof(*properties->v), by_owner);
}

uint32_t otf2_first_property(const raw_properties *properties, uint64_t owner)
{
	return PARTITION_POINT((uint32_t)0, properties->n, i, properties->v[i].owner < owner);
}

static const struct raw_property *property(const struct raw_defs *raw,
					   const raw_properties *properties, uint64_t owner,
					   const char *name)
{
	for (uint32_t i = otf2_first_property(properties, owner);
	     i < properties->n && properties->v[i].owner == owner; i++)
		if (strcmp(otf2_text(raw, properties->v[i].name), name) == 0)
			return &properties->v[i];
	return NULL;
}

/* An integer of any type, or a number in a string, as some tracers write it. */
static uint64_t number(const struct raw_defs *raw, const raw_properties *properties, uint64_t owner,
		       const char *name)
{
	const struct raw_property *p = property(raw, properties, owner, name);

	if (!p)
		return 0;
	switch (p->type) {
	case OTF2_TYPE_UINT8:
	case OTF2_TYPE_INT8:
		return p->value.uint8;
	case OTF2_TYPE_UINT16:
	case OTF2_TYPE_INT16:
		return p->value.uint16;
	case OTF2_TYPE_UINT32:
	case OTF2_TYPE_INT32:
		return p->value.uint32;
	case OTF2_TYPE_UINT64:
	case OTF2_TYPE_INT64:
		return p->value.uint64;
	case OTF2_TYPE_STRING:
		return strtoull(otf2_text(raw, p->value.stringRef), NULL, 10);
	default:
		return 0;
	}
}

/* A property that is a text; "" where there is none. */
static const char *text_property(const struct raw_defs *raw, const raw_properties *properties,
				 uint64_t owner, const char *name)
{
	const struct raw_property *p = property(raw, properties, owner, name);

	return p && p->type == OTF2_TYPE_STRING ? otf2_text(raw, p->value.stringRef) : "";
}

/* ---- regions ---- */

/* Regions of the groups "level:NAME". LEVELS: per entry of raw->regions. */
static void levels_of_groups(const struct raw_defs *raw, const struct ref_map *refs,
			     uint8_t *levels)
{
	for (uint32_t g = 0; g < raw->region_groups.n; g++) {
		const struct raw_region_group *group = &raw->region_groups.v[g];
		enum eta_level level;
		enum eta_reason reason;
		const char *name = otf2_text(raw, group->name);
		char probe[64];

		if (strncmp(name, ARCHIVE_LEVEL_GROUP, strlen(ARCHIVE_LEVEL_GROUP)) != 0)
			continue;
		/* "level:fs" -> "fs:", which the splitter of region names knows */
		snprintf(probe, sizeof(probe), "%s:", name + strlen(ARCHIVE_LEVEL_GROUP));
		eta_region_name_split(probe, &level, &reason);
		for (uint32_t i = 0; i < group->n; i++) {
			uint32_t r = ref_map_get(refs, raw->members.v[group->first + i]);

			if (r != ETA_NONE)
				levels[r] = (uint8_t)level;
		}
	}
}

static enum eta_level level_of(const struct raw_defs *raw, const struct raw_region *region)
{
	const char *name = otf2_text(raw, region->name), *file = otf2_text(raw, region->file);
	enum eta_level level;
	enum eta_reason reason;

	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (strcmp(file, eta_level_name((enum eta_level)l)) == 0)
			return (enum eta_level)l;
	eta_region_name_split(name, &level, &reason);
	if (level != ETA_LEVEL_NONE)
		return level;
	if (region->role == OTF2_REGION_ROLE_FILE_IO ||
	    region->role == OTF2_REGION_ROLE_FILE_IO_METADATA || eta_is_io_function(name))
		return ETA_LEVEL_USER;
	return ETA_LEVEL_NONE;
}

static bool build_regions(struct raw_defs *raw, struct otf2 *otf2)
{
	uint8_t *levels = malloc((size_t)raw->regions.n + 1);
	bool ok = levels != NULL;

	if (ok)
		memset(levels, ETA_LEVEL_NONE, (size_t)raw->regions.n + 1);
	for (uint32_t i = 0; ok && i < raw->regions.n; i++)
		ok = PUSH(&otf2->regions, { raw->regions.v[i].self, i });
	ok = ok && ref_map_seal(&otf2->regions);
	if (ok)
		levels_of_groups(raw, &otf2->regions, levels);
	for (uint32_t i = 0; ok && i < raw->regions.n; i++) {
		const struct raw_region *region = &raw->regions.v[i];
		enum eta_level level = (enum eta_level)levels[i];

		if (level == ETA_LEVEL_NONE)
			level = level_of(raw, region);
		ok = eta_defs_region(raw->trace, otf2_text(raw, region->name), level,
				     otf2_text(raw, region->description)) != ETA_NONE;
	}
	free(levels);
	return ok;
}

/* ---- processes and locations ---- */

/* What the system tree says of a location group. */
struct home {
	const char *host;
	const char *boot;
	const char *program; /* "" unknown */
	const char *device;  /* NULL: none */
};

static struct home home_of(const struct raw_defs *raw, OTF2_SystemTreeNodeRef ref)
{
	struct home home = { "", "", "", NULL };
	const struct raw_node *first = NULL;

	for (int depth = 0; depth < TREE_DEPTH; depth++) {
		uint32_t i = ref_map_get(&raw->node_refs, ref);
		const struct raw_node *node = i == ETA_NONE ? NULL : &raw->nodes.v[i];
		const char *class_name = node ? otf2_text(raw, node->class_name) : "";

		if (!node)
			break;
		if (!first)
			first = node;
		/* lo2s: "block dev" */
		if (!home.device && strncmp(class_name, ARCHIVE_DEVICE_CLASS, 9) == 0)
			home.device = otf2_text(raw, node->name);
		if (strcmp(class_name, ARCHIVE_HOST_CLASS) == 0 ||
		    strcmp(class_name, "host") == 0) {
			home.host = otf2_text(raw, node->name);
			home.boot = text_property(raw, &raw->node_properties, ref, ARCHIVE_BOOT);
			return home;
		}
		ref = node->parent;
	}
	/* EZTrace has one node, whose name and class are both the program's name. */
	if (first && first->name == first->class_name)
		home.program = otf2_text(raw, first->name);
	else if (first && !home.device)
		home.host = otf2_text(raw, first->name);
	return home;
}

/* "fio pid 42" -> "fio" in NAME */
static void program_name(const char *group, char *name, size_t size)
{
	const char *pid = strstr(group, " pid ");

	for (const char *next = pid; next; next = strstr(next + 1, " pid "))
		pid = next;
	if (pid && pid[5] && pid[5 + strspn(pid + 5, "0123456789")] == '\0')
		snprintf(name, size, "%.*s", (int)(pid - group), group);
	else
		snprintf(name, size, "%s", group);
}

/* A location group may hold threads of several processes (kernel threads): one process per pid. */
struct known_process {
	uint32_t pid, index, next;
};

struct processes {
	VECTOR(struct known_process) known;
	uint32_t *first; /* per location group */
};

/* PID: as the location has it, 0: as the group has it. */
static uint32_t process_of(struct raw_defs *raw, struct processes *processes, uint32_t pid,
			   uint32_t g)
{
	const struct raw_group *group = &raw->groups.v[g];
	uint32_t group_pid =
		(uint32_t)number(raw, &raw->group_properties, group->self, ARCHIVE_PID);
	struct home home;
	char name[256];
	uint32_t index;

	if (!pid)
		pid = group_pid;
	for (uint32_t k = processes->first[g]; k != ETA_NONE; k = processes->known.v[k].next)
		if (processes->known.v[k].pid == pid)
			return processes->known.v[k].index;
	home = home_of(raw, group->node);
	program_name(*home.program ? home.program : otf2_text(raw, group->name), name,
		     sizeof(name));
	index = eta_defs_process(
		raw->trace,
		&(struct eta_process){
			.name = name,
			.host = home.host,
			.boot = home.boot,
			.pid = pid,
			.ppid = (uint32_t)number(raw, &raw->group_properties, group->self,
						 ARCHIVE_PPID),
			.parent_tid = (uint32_t)number(raw, &raw->group_properties, group->self,
						       ARCHIVE_PARENT_TID),
			.cgroup = number(raw, &raw->group_properties, group->self, ARCHIVE_CGROUP),
			.ns_pid = (uint32_t)number(raw, &raw->group_properties, group->self,
						   ARCHIVE_NS_PID),
			.pid_ns = (uint32_t)number(raw, &raw->group_properties, group->self,
						   ARCHIVE_PID_NS),
			.start_ns = number(raw, &raw->group_properties, group->self, ARCHIVE_START),
		});
	if (index == ETA_NONE || !PUSH(&processes->known, { pid, index, processes->first[g] }))
		return ETA_NONE;
	processes->first[g] = processes->known.n - 1;
	return index;
}

/* Which archive it has its events of. */
static bool build_input_of(const struct raw_defs *raw, const struct raw_location *location)
{
	struct otf2 *otf2 = raw->trace->data;
	uint64_t input = otf2->n_inputs ? number(raw, &raw->location_properties, location->self,
						 ARCHIVE_INPUT)
					: 0;

	return PUSH(&otf2->input_of, input <= otf2->n_inputs ? (uint32_t)input : 0);
}

static bool build_location(struct raw_defs *raw, struct processes *processes,
			   const struct raw_location *location, bool ours)
{
	const raw_properties *properties = &raw->location_properties;
	uint32_t g = ref_map_get(&raw->group_refs, location->group);
	struct eta_location def = {
		.id = location->self,
		.name = otf2_text(raw, location->name),
		.process = ETA_NONE,
		.tid = (uint32_t)number(raw, properties, location->self, ARCHIVE_TID),
		.ns_tid = (uint32_t)number(raw, properties, location->self, ARCHIVE_NS_TID),
		.track = (uint32_t)number(raw, properties, location->self, ARCHIVE_TRACK),
		.start_ns = number(raw, properties, location->self, ARCHIVE_START),
		.end_ns = number(raw, properties, location->self, ARCHIVE_EXIT),
		/* Other writers are careless with it: EZTrace says 2 for each, APEX one for all. */
		.events = ours ? location->events : 0,
	};
	struct home home;

	if (!def.track)
		def.track = (uint32_t)number(raw, properties, location->self, ARCHIVE_TRACK_BEFORE);
	if (g == ETA_NONE)
		goto out;
	home = home_of(raw, raw->groups.v[g].node);
	if (home.device) {
		/* others may hang a device and its files at different places of their tree */
		def.host = ours ? home.host : "";
		def.kind = ETA_LOCATION_DEVICE;
		def.dev = (uint32_t)number(raw, properties, location->self, ARCHIVE_DEV_PROPERTY);
		if (!def.dev)
			def.dev = eta_device_number(home.device);
		goto out;
	}
	if (strcmp(otf2_text(raw, raw->groups.v[g].name), ARCHIVE_KERNEL_GROUP) == 0)
		def.kind = ETA_LOCATION_KERNEL_THREAD;
	else if (number(raw, properties, location->self, ARCHIVE_UNTRACED))
		def.kind = ETA_LOCATION_UNTRACED;
	def.process = process_of(raw, processes,
				 (uint32_t)number(raw, properties, location->self, ARCHIVE_PID), g);
	if (def.process == ETA_NONE)
		return false;
	if (!def.ns_tid && raw->trace->defs.processes[def.process].pid_ns)
		def.ns_tid = def.tid;
out:
	return eta_defs_location(raw->trace, &def) != ETA_NONE && build_input_of(raw, location);
}

/* What location group G says beside its threads; a process may have none. */
static bool build_group(struct raw_defs *raw, struct otf2 *otf2, struct processes *processes,
			uint32_t g)
{
	const uint64_t self = raw->groups.v[g].self;
	uint32_t process = ETA_NONE;

	if (processes->first[g] != ETA_NONE) {
		process = processes->known.v[processes->first[g]].index;
	} else if (otf2->ours && property(raw, &raw->group_properties, self, ARCHIVE_PID)) {
		process = process_of(raw, processes, 0, g);
		if (process == ETA_NONE)
			return false;
	}
	return process == ETA_NONE || otf2_build_process(raw, otf2, self, process);
}

static int by_self(const void *a, const void *b)
{
	const struct raw_location *x = a, *y = b;

	return x->self < y->self ? -1 : x->self > y->self;
}

static bool build_locations(struct raw_defs *raw, struct otf2 *otf2)
{
	struct processes processes = { .first = malloc(((size_t)raw->groups.n + 1) * 4) };
	bool ok = processes.first != NULL;

	if (ok)
		memset(processes.first, 0xff, ((size_t)raw->groups.n + 1) * 4);
	if (raw->locations.n)
		qsort(raw->locations.v, raw->locations.n, sizeof(*raw->locations.v), by_self);
	for (uint32_t i = 0; ok && i < raw->locations.n; i++) {
		const struct raw_location *location = &raw->locations.v[i];

		/* A metric location holds measured values only, no calls. */
		if (location->type == OTF2_LOCATION_TYPE_METRIC ||
		    (i > 0 && location->self == location[-1].self))
			continue;
		ok = build_location(raw, &processes, location, otf2->ours);
	}
	for (uint32_t g = 0; ok && g < raw->groups.n; g++)
		ok = build_group(raw, otf2, &processes, g);
	ok = ok && ref_map_seal(&otf2->stacks);
	free(processes.known.v);
	free(processes.first);
	return ok;
}

/* ---- files and handles ---- */

#define X(flag, name) (((flags)&OTF2_IO_STATUS_FLAG_##name) ? (uint32_t)(flag) : 0) |
static uint32_t open_flags(OTF2_IoAccessMode mode, OTF2_IoStatusFlag flags)
{
	uint32_t access = mode == OTF2_IO_ACCESS_MODE_WRITE_ONLY   ? O_WRONLY
			  : mode == OTF2_IO_ACCESS_MODE_READ_WRITE ? O_RDWR
								   : O_RDONLY;

	return OTF2_OPEN_STATUS_FLAGS(X) access;
}
#undef X

/* The device whose file this is, by its property or place in the system; 0: no device's. */
static uint32_t device_of(const struct raw_defs *raw, const struct raw_file *file)
{
	uint32_t dev =
		(uint32_t)number(raw, &raw->file_properties, file->self, ARCHIVE_DEV_PROPERTY);
	const char *device;

	if (dev)
		return dev;
	device = home_of(raw, file->scope).device;
	return device ? eta_device_number(device) : 0;
}

/* FILES, DEVICES: from OTF2 references to our files; to the raw ones that stand for devices. */
static bool build_files(struct raw_defs *raw, bool ours, struct ref_map *files,
			struct ref_map *devices)
{
	const raw_properties *properties = &raw->file_properties;
	bool ok = true;

	for (uint32_t i = 0; ok && i < raw->files.n; i++) {
		const struct raw_file *file = &raw->files.v[i];
		uint32_t index, device = device_of(raw, file);

		if (device) {
			ok = PUSH(devices, { file->self, i });
			continue;
		}
		index = eta_defs_file(
			raw->trace,
			&(struct eta_file){
				.path = otf2_text(raw, file->name),
				.dev = (uint32_t)number(raw, properties, file->self,
							ARCHIVE_FILE_DEV),
				.inode = number(raw, properties, file->self, ARCHIVE_FILE_INODE),
				.names = (uint32_t)number(raw, properties, file->self,
							  ARCHIVE_FILE_NAMES),
				.fs = text_property(raw, properties, file->self,
						    ARCHIVE_FILE_SYSTEM),
				.mount = text_property(raw, properties, file->self,
						       ARCHIVE_FILE_MOUNT),
				.host = ours ? home_of(raw, file->scope).host : "",
			});
		ok = index != ETA_NONE && PUSH(files, { file->self, index });
	}
	return ok && ref_map_seal(files) && ref_map_seal(devices);
}

/*
 * The regions of the reads, writes and flushes of a paradigm, in the order of enum eta_io_mode,
 * for I/O records without a region around them; ETA_NONE without memory.
 */
static uint32_t operations_of(struct raw_defs *raw, OTF2_IoParadigmRef ref)
{
	static const char *const kinds[] = { "read", "write", "flush" };
	struct raw_paradigm *paradigm = NULL;
	uint32_t first = raw->trace->defs.n_regions;
	char name[256];

	for (uint32_t i = 0; i < raw->paradigms.n && !paradigm; i++)
		if (raw->paradigms.v[i].self == ref)
			paradigm = &raw->paradigms.v[i];
	if (paradigm && paradigm->first_region != ETA_NONE)
		return paradigm->first_region;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		snprintf(name, sizeof(name), "%s %s",
			 paradigm ? otf2_text(raw, paradigm->name) : "I/O", kinds[i]);
		if (eta_defs_region(raw->trace, name, ETA_LEVEL_USER, "") == ETA_NONE)
			return ETA_NONE;
	}
	if (paradigm)
		paradigm->first_region = first;
	return first;
}

static bool build_operations(struct raw_defs *raw, struct otf2 *otf2)
{
	const struct eta_defs *defs = &raw->trace->defs;

	otf2->operations = calloc((size_t)defs->n_handles + 1, sizeof(*otf2->operations));
	for (uint32_t i = 0; otf2->operations && i < raw->handles.n; i++) {
		otf2->operations[i] = defs->handles[i].device
					      ? ETA_NONE
					      : operations_of(raw, raw->handles.v[i].paradigm);
		if (otf2->operations[i] == ETA_NONE && !defs->handles[i].device)
			return false;
	}
	return otf2->operations;
}

static bool build_handles(struct raw_defs *raw, struct otf2 *otf2)
{
	struct ref_map files = { 0 }, devices = { 0 };
	struct eta_defs *defs = &raw->trace->defs;
	bool ok = build_files(raw, otf2->ours, &files, &devices);

	for (uint32_t i = 0; ok && i < raw->handles.n; i++) {
		const struct raw_handle *handle = &raw->handles.v[i];
		uint32_t device = ref_map_get(&devices, handle->file), index;
		struct eta_handle def = { .name = otf2_text(raw, handle->name),
					  .file = ref_map_get(&files, handle->file) };

		if (device != ETA_NONE) {
			def.device = device_of(raw, &raw->files.v[device]);
			if (otf2->ours)
				def.host = home_of(raw, raw->files.v[device].scope).host;
		}
		index = eta_defs_handle(raw->trace, &def);
		ok = index != ETA_NONE && PUSH(&otf2->handles, { handle->self, index });
	}
	ok = ok && ref_map_seal(&otf2->handles);
	if (ok) {
		otf2->created = malloc((size_t)defs->n_handles + 1);
		ok = otf2->created;
	}
	if (ok)
		memset(otf2->created, 1, (size_t)defs->n_handles + 1);
	for (uint32_t i = 0; ok && i < raw->states.n; i++) {
		const struct raw_state *state = &raw->states.v[i];
		uint32_t index = ref_map_get(&otf2->handles, state->handle);

		if (index == ETA_NONE)
			continue;
		otf2->created[index] = 0;
		if (!defs->handles[index].device)
			defs->handles[index].open_flags = open_flags(state->mode, state->flags);
	}
	ref_map_free(&files);
	ref_map_free(&devices);
	return ok && (otf2->ours || build_operations(raw, otf2));
}

/* ---- attributes ---- */

static void build_attributes(const struct raw_defs *raw, struct otf2 *otf2)
{
	static const char *const names[] = {
#define X(id, name, type, description) name,
		ARCHIVE_ATTRIBUTES(X)
#undef X
	};

	memset(otf2->attributes, ARCHIVE_N_ATTRIBUTES, sizeof(otf2->attributes));
	for (uint32_t i = 0; i < raw->attributes.n; i++) {
		const struct raw_attribute *attribute = &raw->attributes.v[i];
		const char *name = otf2_text(raw, attribute->name);

		for (int a = 0; a < ARCHIVE_N_ATTRIBUTES; a++)
			/* Score-P: "Offset" */
			if (attribute->self < OTF2_ATTRIBUTES_MAX &&
			    strcasecmp(name, names[a]) == 0)
				otf2->attributes[attribute->self] = (uint8_t)a;
	}
}

int otf2_build_definitions(struct raw_defs *raw)
{
	struct otf2 *otf2 = raw->trace->data;

	if (!ref_map_seal(&raw->string_refs) || !ref_map_seal(&raw->node_refs) ||
	    !ref_map_seal(&raw->group_refs))
		return -ENOMEM;
	sort_properties(&raw->node_properties);
	sort_properties(&raw->location_properties);
	sort_properties(&raw->group_properties);
	sort_properties(&raw->file_properties);
	build_attributes(raw, otf2);
	if (otf2->ours && !otf2_build_inputs(raw, otf2))
		return -ENOMEM;
	if (!build_regions(raw, otf2) || !build_locations(raw, otf2) || !build_handles(raw, otf2) ||
	    (otf2->ours && !otf2_build_properties(raw)) || !otf2_adopt_properties(raw->trace))
		return -ENOMEM;
	return 0;
}

/* OTF2 writer: definitions, as doc/archive.md describes them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-otf2-defs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machines.h"
#include "known.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { PARADIGM_POSIX, PARADIGM_BLOCK };

enum { GROUP_MAX_MEMBERS = 32 << 10 }; /* well below what fits a chunk, WRITE_CHUNK_BYTES */

struct string {
	UT_hash_handle hh;
	uint32_t id;
	char text[];
};

/* TEXT, which is fit for an archive, is new: its id. */
static uint32_t add_string(struct defs *defs, const char *text)
{
	size_t n = strlen(text);
	struct string *s = malloc(sizeof(*s) + n + 1);

	if (s) {
		memcpy(s->text, text, n + 1);
		s->id = defs->n_strings;
		HASH_ADD_KEYPTR(hh, defs->strings, s->text, n, s);
		if (!s->hh.tbl) {
			free(s);
			s = NULL;
		}
	}
	if (!s) {
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
		return OTF2_UNDEFINED_STRING;
	}
	WRITE(defs, String, defs->n_strings++, text);
	return s->id;
}

uint32_t defs_string(struct defs *defs, const char *text)
{
	struct string *s;
	const char *fit;
	uint32_t id;
	char *own;

	HASH_FIND(hh, defs->strings, text, strlen(text), s);
	if (s)
		return s->id;
	fit = write_otf2_text(text, &own);
	if (!fit) {
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
		return OTF2_UNDEFINED_STRING;
	}
	if (own)
		HASH_FIND(hh, defs->strings, own, strlen(own), s);
	id = s ? s->id : add_string(defs, fit);
	free(own);
	return id;
}

static OTF2_AttributeValue value32(uint32_t number)
{
	OTF2_AttributeValue value = { 0 };

	value.uint32 = number;
	return value;
}

static OTF2_AttributeValue value64(uint64_t number)
{
	OTF2_AttributeValue value = { 0 };

	value.uint64 = number;
	return value;
}

/* CLOCK_REALTIME of MONOTONIC_NS, where the tracers told the distance. */
static uint64_t realtime(const struct eta_defs *eta, uint64_t monotonic_ns)
{
	for (uint32_t i = 0; i < eta->n_properties; i++)
		if (eta->properties[i].process == ETA_NONE &&
		    strcmp(eta->properties[i].name, ARCHIVE_REALTIME_OFFSET) == 0)
			return monotonic_ns + strtoull(eta->properties[i].value, NULL, 10);
	return OTF2_UNDEFINED_TIMESTAMP;
}

static void write_clock(struct defs *defs)
{
	const struct written *written = defs->writer->written;
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; i < defs->eta->n_locations; i++) {
		if (written[i].events == 0)
			continue;
		if (written[i].first_ns < first)
			first = written[i].first_ns;
		if (written[i].last_ns > last)
			last = written[i].last_ns;
	}
	if (first > last)
		first = last = 0;
	WRITE(defs, ClockProperties, 1000000000, first, last - first,
	      first ? realtime(defs->eta, first) : OTF2_UNDEFINED_TIMESTAMP);
}

static void write_attributes(struct defs *defs)
{
#define X(id, name, type, description)                                                             \
	{                                                                                          \
		uint32_t name_ = defs_string(defs, name), text_ = defs_string(defs, description);  \
		WRITE(defs, Attribute, ARCHIVE_##id, name_, text_, OTF2_TYPE_##type);              \
	}
	ARCHIVE_ATTRIBUTES(X)
#undef X
}

static void write_paradigms(struct defs *defs)
{
	uint32_t posix = defs_string(defs, "POSIX"), posix_name = defs_string(defs, "POSIX I/O");
	uint32_t block = defs_string(defs, "block"), block_name = defs_string(defs, "block I/O");

	WRITE(defs, IoParadigm, PARADIGM_POSIX, posix, posix_name, OTF2_IO_PARADIGM_CLASS_SERIAL,
	      OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL);
	WRITE(defs, IoParadigm, PARADIGM_BLOCK, block, block_name, OTF2_IO_PARADIGM_CLASS_SERIAL,
	      OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL);
}

/* ---- system tree, location groups, locations ---- */

/* The node of HOST, as far as there is one already; else 0. */
static uint32_t node_of(const struct defs *defs, const char *host)
{
	uint32_t node = known_find(defs->nodes, host, strlen(host));

	return node == ETA_NONE ? 0 : node;
}

static uint32_t host_of(const struct defs *defs, uint32_t process)
{
	return process == ETA_NONE ? 0 : node_of(defs, defs->eta->processes[process].host);
}

/* Where what belongs to HOST hangs; of several hosts, what belongs to an unknown one hangs nowhere.
 */
static uint32_t place_of(const struct defs *defs, const char *host)
{
	return *host || defs->n_hosts == 1 ? node_of(defs, host) : OTF2_UNDEFINED_SYSTEM_TREE_NODE;
}

static void need_host(struct defs *defs, const char *host)
{
	if (known_find(defs->nodes, host, strlen(host)) != ETA_NONE)
		return;
	if (known_add(&defs->nodes, host, strlen(host), defs->n_hosts) < 0)
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
	else
		defs->hosts[defs->n_hosts++] = host;
}

/* The hosts of processes, then those that only a device or a file names. There is always one. */
static void find_hosts(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;

	for (uint32_t p = 0; p < eta->n_processes; p++)
		need_host(defs, eta->processes[p].host);
	for (uint32_t i = 0; i < eta->n_locations; i++)
		if (*eta->locations[i].host)
			need_host(defs, eta->locations[i].host);
	for (uint32_t i = 0; i < eta->n_handles; i++)
		if (*eta->handles[i].host)
			need_host(defs, eta->handles[i].host);
	for (uint32_t i = 0; i < eta->n_files; i++)
		if (*eta->files[i].host && (i == 0 || eta->files[i].host != eta->files[i - 1].host))
			need_host(defs, eta->files[i].host);
	if (defs->n_hosts == 0)
		need_host(defs, "");
}

static void write_boot(struct defs *defs, uint32_t node)
{
	const char *boot = machines_boot(defs->eta, defs->hosts[node]);
	uint32_t name, text;

	if (!boot)
		return;
	name = defs_string(defs, ARCHIVE_BOOT);
	text = defs_string(defs, boot);
	WRITE(defs, SystemTreeNodeProperty, node, name, OTF2_TYPE_STRING,
	      (OTF2_AttributeValue){ .stringRef = text });
}

/* One node per host, then one per block device, in the order of locations. */
static void write_system_tree(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	uint32_t class = defs_string(defs, ARCHIVE_HOST_CLASS);
	uint32_t device_class = defs_string(defs, ARCHIVE_DEVICE_CLASS), node;

	find_hosts(defs);
	for (node = 0; node < defs->n_hosts; node++) {
		uint32_t name = defs_string(defs, defs->hosts[node]);

		WRITE(defs, SystemTreeNode, node, name, class, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
		WRITE(defs, SystemTreeNodeDomain, node, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
		write_boot(defs, node);
	}
	for (uint32_t i = 0; i < eta->n_locations; i++) {
		if (eta->locations[i].kind == ETA_LOCATION_DEVICE) {
			uint32_t name = defs_string(defs, eta->locations[i].name);

			WRITE(defs, SystemTreeNode, node++, name, device_class,
			      place_of(defs, eta->locations[i].host));
		}
	}
}

static uint32_t new_group(struct defs *defs, const char *text, OTF2_LocationGroupType type,
			  uint32_t node)
{
	uint32_t name = defs_string(defs, text);

	WRITE(defs, LocationGroup, defs->n_groups, name, type, node, OTF2_UNDEFINED_LOCATION_GROUP);
	return defs->n_groups++;
}

/* Properties of a location group that are numbers; 0 is none. */

static void group_number32(struct defs *defs, uint32_t group, const char *name, uint32_t number)
{
	if (number) {
		uint32_t id = defs_string(defs, name);

		WRITE(defs, LocationGroupProperty, group, id, OTF2_TYPE_UINT32, value32(number));
	}
}

static void group_number64(struct defs *defs, uint32_t group, const char *name, uint64_t number)
{
	if (number) {
		uint32_t id = defs_string(defs, name);

		WRITE(defs, LocationGroupProperty, group, id, OTF2_TYPE_UINT64, value64(number));
	}
}

static uint32_t new_process_group(struct defs *defs, uint32_t p)
{
	const struct eta_process *process = &defs->eta->processes[p];
	uint32_t group;
	char text[256];

	if (process->pid)
		snprintf(text, sizeof(text), "%.200s pid %u", process->name, process->pid);
	else
		snprintf(text, sizeof(text), "%.200s", process->name);
	group = new_group(defs, text, OTF2_LOCATION_GROUP_TYPE_PROCESS, host_of(defs, p));
	group_number32(defs, group, ARCHIVE_PID, process->pid);
	group_number32(defs, group, ARCHIVE_PPID, process->ppid);
	group_number32(defs, group, ARCHIVE_PARENT_TID, process->parent_tid);
	group_number64(defs, group, ARCHIVE_CGROUP, process->cgroup);
	group_number32(defs, group, ARCHIVE_NS_PID, process->ns_pid);
	group_number32(defs, group, ARCHIVE_PID_NS, process->pid_ns);
	group_number64(defs, group, ARCHIVE_START, process->start_ns);
	return group;
}

uint32_t defs_process_group(struct defs *defs, uint32_t process)
{
	uint32_t *group = &defs->process_group[process];

	if (*group == ETA_NONE)
		*group = new_process_group(defs, process);
	return *group;
}

/* The group of LOCATION, written when it is new. DEVICES: how many devices came before. */
static uint32_t group_of(struct defs *defs, const struct eta_location *location, uint32_t devices)
{
	uint32_t *group;

	if (location->kind == ETA_LOCATION_DEVICE)
		return new_group(defs, location->name, OTF2_LOCATION_GROUP_TYPE_UNKNOWN,
				 defs->n_hosts + devices);
	if (location->kind == ETA_LOCATION_KERNEL_THREAD) {
		uint32_t host = host_of(defs, location->process);

		group = &defs->kernel_group[host];
		if (*group == ETA_NONE)
			*group = new_group(defs, ARCHIVE_KERNEL_GROUP,
					   OTF2_LOCATION_GROUP_TYPE_PROCESS, host);
	} else if (location->process == ETA_NONE) {
		group = &defs->unknown_group;
		if (*group == ETA_NONE)
			*group = new_group(defs, "unknown", OTF2_LOCATION_GROUP_TYPE_PROCESS, 0);
	} else {
		return defs_process_group(defs, location->process);
	}
	return *group;
}

static void location_number32(struct defs *defs, uint64_t location, const char *name,
			      uint32_t number)
{
	if (number) {
		uint32_t id = defs_string(defs, name);

		WRITE(defs, LocationProperty, location, id, OTF2_TYPE_UINT32, value32(number));
	}
}

static void write_location_properties(struct defs *defs, const struct eta_location *location)
{
	const uint64_t id = location->id;

	if (location->process != ETA_NONE)
		location_number32(defs, id, ARCHIVE_PID,
				  defs->eta->processes[location->process].pid);
	location_number32(defs, id, ARCHIVE_TID, location->tid);
	if (location->ns_tid != location->tid)
		location_number32(defs, id, ARCHIVE_NS_TID, location->ns_tid);
	location_number32(defs, id, ARCHIVE_LANE, location->lane);
	if (location->start_ns) {
		uint32_t start = defs_string(defs, ARCHIVE_START);

		WRITE(defs, LocationProperty, id, start, OTF2_TYPE_UINT64,
		      value64(location->start_ns));
	}
	location_number32(defs, id, ARCHIVE_UNTRACED, location->kind == ETA_LOCATION_UNTRACED);
	if (location->kind == ETA_LOCATION_DEVICE) {
		uint32_t dev = defs_string(defs, ARCHIVE_DEV_PROPERTY);

		WRITE(defs, LocationProperty, id, dev, OTF2_TYPE_UINT32, value32(location->dev));
	}
}

static void write_locations(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	uint32_t devices = 0;

	for (uint32_t i = 0; i < eta->n_locations; i++) {
		const struct eta_location *location = &eta->locations[i];
		uint32_t group = group_of(defs, location, devices);
		uint32_t name = defs_string(defs, location->name);

		if (location->kind == ETA_LOCATION_DEVICE)
			devices++;
		WRITE(defs, Location, location->id, name, OTF2_LOCATION_TYPE_CPU_THREAD,
		      defs->writer->written[i].events, group);
		write_location_properties(defs, location);
	}
}

/* ---- regions ---- */

static void write_regions(struct defs *defs)
{
	for (uint32_t i = 0; i < defs->eta->n_regions; i++) {
		const struct eta_region *region = &defs->eta->regions[i];
		bool io = region->level != ETA_LEVEL_NONE && region->level != ETA_LEVEL_CPU;
		const char *level =
			region->level == ETA_LEVEL_NONE ? "" : eta_level_name(region->level);
		enum eta_level named;
		enum eta_reason reason;
		uint32_t name = defs_string(defs, region->name);
		uint32_t function =
			defs_string(defs, eta_region_name_split(region->name, &named, &reason));
		uint32_t description = defs_string(defs, region->description);
		uint32_t file = defs_string(defs, level);

		WRITE(defs, Region, i, name, function, description,
		      io ? OTF2_REGION_ROLE_FILE_IO : OTF2_REGION_ROLE_FUNCTION,
		      region->level == ETA_LEVEL_NONE || region->level == ETA_LEVEL_USER
			      ? OTF2_PARADIGM_USER
			      : OTF2_PARADIGM_UNKNOWN,
		      OTF2_REGION_FLAG_NONE, file, 0, 0);
	}
}

/* Groups may have one name: a reader takes them together. */
static void write_level_group(struct defs *defs, enum eta_level level, uint32_t *group,
			      const uint64_t *members, uint32_t n)
{
	uint32_t name;
	char text[32];

	snprintf(text, sizeof(text), ARCHIVE_LEVEL_GROUP "%s", eta_level_name(level));
	name = defs_string(defs, text);
	for (uint32_t done = 0; done < n; done += GROUP_MAX_MEMBERS)
		WRITE(defs, Group, (*group)++, name, OTF2_GROUP_TYPE_REGIONS, OTF2_PARADIGM_UNKNOWN,
		      OTF2_GROUP_FLAG_NONE,
		      n - done < GROUP_MAX_MEMBERS ? n - done : GROUP_MAX_MEMBERS, members + done);
}

static void write_level_groups(struct defs *defs)
{
	uint64_t *members = calloc(defs->eta->n_regions + 1, sizeof(*members));
	uint32_t group = 0;

	if (!members) {
		defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
		return;
	}
	for (int level = 0; level < ETA_N_LEVELS; level++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < defs->eta->n_regions; i++)
			if (defs->eta->regions[i].level == (enum eta_level)level)
				members[n++] = i;
		write_level_group(defs, (enum eta_level)level, &group, members, n);
	}
	free(members);
}

/* ---- files and handles ---- */

static void write_files(struct defs *defs)
{
	uint32_t dev = defs_string(defs, ARCHIVE_FILE_DEV),
		 inode = defs_string(defs, ARCHIVE_FILE_INODE);
	uint32_t fs = defs_string(defs, ARCHIVE_FILE_SYSTEM);

	for (uint32_t i = 0; i < defs->eta->n_files; i++) {
		const struct eta_file *file = &defs->eta->files[i];
		uint32_t path = defs_string(defs, file->path),
			 fs_name = defs_string(defs, file->fs);
		OTF2_AttributeValue value = { 0 };

		value.stringRef = fs_name;
		WRITE(defs, IoRegularFile, i, path, place_of(defs, file->host));
		if (file->dev)
			WRITE(defs, IoFileProperty, i, dev, OTF2_TYPE_UINT32, value32(file->dev));
		if (file->inode)
			WRITE(defs, IoFileProperty, i, inode, OTF2_TYPE_UINT64,
			      value64(file->inode));
		if (*file->fs)
			WRITE(defs, IoFileProperty, i, fs, OTF2_TYPE_STRING, value);
	}
}

/* The file behind a device's handle: made for it, behind all others. */
static uint32_t write_device_file(struct defs *defs, const struct eta_handle *handle, uint32_t id)
{
	uint32_t name = defs_string(defs, handle->name),
		 dev = defs_string(defs, ARCHIVE_DEV_PROPERTY);

	WRITE(defs, IoRegularFile, id, name, place_of(defs, handle->host));
	WRITE(defs, IoFileProperty, id, dev, OTF2_TYPE_UINT32, value32(handle->device));
	return id;
}

static void write_handles(struct defs *defs)
{
	const struct eta_defs *eta = defs->eta;
	uint32_t n_files = eta->n_files;

	for (uint32_t i = 0; i < eta->n_handles; i++) {
		const struct eta_handle *handle = &eta->handles[i];
		bool created = defs->writer->created[i];
		uint32_t name = defs_string(defs, handle->name), file = handle->file;

		if (handle->device)
			file = write_device_file(defs, handle, n_files++);
		WRITE(defs, IoHandle, i, name, file == ETA_NONE ? OTF2_UNDEFINED_IO_FILE : file,
		      handle->device ? PARADIGM_BLOCK : PARADIGM_POSIX,
		      created ? OTF2_IO_HANDLE_FLAG_NONE : OTF2_IO_HANDLE_FLAG_PRE_CREATED,
		      OTF2_UNDEFINED_COMM, OTF2_UNDEFINED_IO_HANDLE);
		if (!created)
			WRITE(defs, IoPreCreatedHandleState, i,
			      handle->device ? OTF2_IO_ACCESS_MODE_READ_WRITE
					     : write_otf2_access_mode(handle->open_flags),
			      write_otf2_status_flags(handle->open_flags));
	}
}

static void write_all(struct defs *defs)
{
	defs_string(defs, ""); /* id 0, as readers expect */
	write_clock(defs);
	write_attributes(defs);
	write_paradigms(defs);
	write_system_tree(defs);
	defs_long_properties(defs);
	write_locations(defs);
	defs_process_properties(defs);
	defs_addresses(defs);
	write_regions(defs);
	write_level_groups(defs);
	write_files(defs);
	write_handles(defs);
}

int write_otf2_definitions(struct archive_writer *writer)
{
	const struct eta_defs *eta = eta_trace_defs(writer->trace);
	struct defs defs = { .writer = writer, .eta = eta, .unknown_group = ETA_NONE };
	struct string *s, *next;
	int rc = 0;

	archive_errors_catch();
	defs.hosts = calloc((size_t)eta->n_processes + eta->n_locations + eta->n_handles +
				    eta->n_files + 1,
			    sizeof(*defs.hosts));
	defs.process_group = malloc(((size_t)eta->n_processes + 1) * sizeof(uint32_t));
	/* per host, of which a process names one */
	defs.kernel_group = malloc(((size_t)eta->n_processes + 1) * sizeof(uint32_t));
	defs.out = OTF2_Archive_GetGlobalDefWriter(writer->archive);
	if (!defs.hosts || !defs.process_group || !defs.kernel_group || !defs.out) {
		defs.code = OTF2_ERROR_MEM_ALLOC_FAILED;
		goto out;
	}
	memset(defs.process_group, 0xff, (eta->n_processes + 1) * sizeof(uint32_t));
	memset(defs.kernel_group, 0xff, (eta->n_processes + 1) * sizeof(uint32_t));
	write_all(&defs);
	/* Readers complain about a location without a definition file, an empty one will do. */
	if (defs.code == OTF2_SUCCESS)
		defs.code = OTF2_Archive_OpenDefFiles(writer->archive);
	for (uint32_t i = 0; defs.code == OTF2_SUCCESS && i < eta->n_locations; i++) {
		OTF2_DefWriter *def =
			OTF2_Archive_GetDefWriter(writer->archive, eta->locations[i].id);

		defs.code = def ? OTF2_Archive_CloseDefWriter(writer->archive, def)
				: OTF2_ERROR_FILE_CAN_NOT_OPEN;
	}
	if (defs.code == OTF2_SUCCESS)
		defs.code = OTF2_Archive_CloseDefFiles(writer->archive);
out:
	if (defs.code != OTF2_SUCCESS)
		rc = write_otf2_failed(writer, defs.code, "the definitions");
	HASH_ITER (hh, defs.strings, s, next) {
		HASH_DEL(defs.strings, s);
		free(s);
	}
	known_free(&defs.nodes);
	free(defs.hosts);
	free(defs.process_group);
	free(defs.kernel_group);
	return rc;
}

/* OTF2 writer: definitions, as doc/archive.md describes them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/known.h"
#include "eta-ext/format/otf2-flags.h"
#include "eta-ext/trace/machines.h"

enum { PARADIGM_POSIX, PARADIGM_BLOCK };

enum { GROUP_MAX_MEMBERS = 32 << 10 }; /* well below what fits a chunk, WRITE_CHUNK_BYTES */

/* CLOCK_REALTIME of MONOTONIC_NS, where the tracers recorded the distance. */
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
	/* otf2-print wants them without a gap */
	int n = defs->writer->has_runs		  ? ARCHIVE_N_ATTRIBUTES
		: machines_have_guests(defs->eta) ? ARCHIVE_FIRST_OF_RUNS
						  : ARCHIVE_FIRST_OF_GUESTS;

#define X(id, name, type, description)                                                             \
	if (ARCHIVE_##id < n) {                                                                    \
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
	uint32_t mount = defs_string(defs, ARCHIVE_FILE_MOUNT);

	for (uint32_t i = 0; i < defs->eta->n_files; i++) {
		const struct eta_file *file = &defs->eta->files[i];
		uint32_t path = defs_string(defs, file->path),
			 fs_name = defs_string(defs, file->fs),
			 mounted = defs_string(defs, file->mount);
		OTF2_AttributeValue value = { .stringRef = fs_name };
		OTF2_AttributeValue mount_value = { .stringRef = mounted };

		WRITE(defs, IoRegularFile, i, path, defs_node_of(defs, file->host));
		if (file->dev)
			WRITE(defs, IoFileProperty, i, dev, OTF2_TYPE_UINT32,
			      defs_value32(file->dev));
		if (file->inode)
			WRITE(defs, IoFileProperty, i, inode, OTF2_TYPE_UINT64,
			      defs_value64(file->inode));
		if (*file->fs)
			WRITE(defs, IoFileProperty, i, fs, OTF2_TYPE_STRING, value);
		if (*file->mount)
			WRITE(defs, IoFileProperty, i, mount, OTF2_TYPE_STRING, mount_value);
		if (file->names)
			WRITE(defs, IoFileProperty, i, defs_string(defs, ARCHIVE_FILE_NAMES),
			      OTF2_TYPE_UINT32, defs_value32(file->names));
	}
}

/* The file behind a device's handle: made for it, behind all others. */
static uint32_t write_device_file(struct defs *defs, const struct eta_handle *handle, uint32_t id)
{
	uint32_t name = defs_string(defs, handle->name),
		 dev = defs_string(defs, ARCHIVE_DEV_PROPERTY);

	WRITE(defs, IoRegularFile, id, name, defs_node_of(defs, handle->host));
	WRITE(defs, IoFileProperty, id, dev, OTF2_TYPE_UINT32, defs_value32(handle->device));
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
					     : otf2_access_mode(handle->open_flags),
			      otf2_status_flags(handle->open_flags));
	}
}

static void write_all(struct defs *defs)
{
	defs_string(defs, ""); /* id 0, as readers expect */
	write_clock(defs);
	write_attributes(defs);
	write_paradigms(defs);
	defs_system_tree(defs);
	defs_long_properties(defs);
	defs_locations(defs);
	if (write_otf2_links(defs->writer))
		write_links_inputs(defs);
	defs_process_properties(defs);
	defs_addresses(defs);
	write_regions(defs);
	write_level_groups(defs);
	write_files(defs);
	write_handles(defs);
}

/* Readers complain about a location without a definition file, an empty one will do. */
static OTF2_ErrorCode write_no_local(struct archive_writer *writer, uint32_t location)
{
	OTF2_DefWriter *def = OTF2_Archive_GetDefWriter(
		writer->archive, eta_trace_defs(writer->trace)->locations[location].id);

	return def ? OTF2_Archive_CloseDefWriter(writer->archive, def)
		   : OTF2_ERROR_FILE_CAN_NOT_OPEN;
}

int write_otf2_definitions(struct archive_writer *writer)
{
	const struct eta_defs *eta = eta_trace_defs(writer->trace);
	struct defs defs = { .writer = writer, .eta = eta, .unknown_group = ETA_NONE };
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
	writer->broken = writer->broken || defs.code != OTF2_SUCCESS;
	if (defs.code == OTF2_SUCCESS)
		defs.code = OTF2_Archive_OpenDefFiles(writer->archive);
	for (uint32_t i = 0; defs.code == OTF2_SUCCESS && i < eta->n_locations; i++)
		defs.code = write_otf2_links(writer) ? write_links_local(writer, i)
						     : write_no_local(writer, i);
	if (defs.code == OTF2_SUCCESS)
		defs.code = OTF2_Archive_CloseDefFiles(writer->archive);
out:
	if (defs.code != OTF2_SUCCESS)
		rc = write_otf2_failed(writer, defs.code, "the definitions");
	defs_strings_free(&defs);
	known_free(&defs.nodes);
	free(defs.hosts);
	free(defs.process_group);
	free(defs.kernel_group);
	return rc;
}

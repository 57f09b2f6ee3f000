/* OTF2 writer: an archive whose events stay in the archives that were merged. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "write-links.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "eta-ext/merge/merge.h"
#include "eta-ext/trace/machines.h"
#include "read.h"

enum { CHUNK_MAX_BYTES = 16 << 20, ID_BYTES = 5 /* of a number of 32 bits, at most */ };

static const struct otf2 *otf2_of(const struct merge *merge, uint32_t input)
{
	return merge->inputs[input].trace->data;
}

static const char *path_of(const struct merge *merge, uint32_t input)
{
	return eta_trace_path(merge->inputs[input].trace);
}

/* ---- what can be linked ---- */

/* Attributes have no table of their own: both archives must number them alike. */
static bool numbers_attributes_alike(const struct otf2 *otf2)
{
	for (uint32_t i = 0; i < OTF2_ATTRIBUTES_MAX; i++)
		if (otf2->attributes[i] != ARCHIVE_N_ATTRIBUTES && otf2->attributes[i] != i)
			return false;
	return true;
}

/* As the writer numbers them; a table has a place for each number. */
static bool are_dense(const struct ref_map *refs)
{
	return refs->n == 0 || refs->v[refs->n - 1].ref == refs->n - 1;
}

/* The times of runs are in a file that libotf2's tables and clocks do not reach. */
static bool has_runs(const struct otf2 *otf2)
{
	for (uint32_t i = 0; i < OTF2_ATTRIBUTES_MAX; i++)
		if (otf2->attributes[i] == ARCHIVE_RUN)
			return true;
	return false;
}

static int check_input(const struct merge *merge, uint32_t input)
{
	const struct eta_trace *trace = merge->inputs[input].trace;
	const struct otf2 *otf2 = trace->data;
	const char *wrong = NULL;

	if (strcmp(eta_trace_source(trace), "otf2") != 0)
		wrong = "is no archive";
	else if (!otf2->ours || !numbers_attributes_alike(otf2) || !are_dense(&otf2->regions) ||
		 !are_dense(&otf2->handles))
		wrong = "is not an archive of this program";
	else if (otf2->n_inputs)
		wrong = "has its events in other archives itself";
	else if (has_runs(otf2))
		wrong = "has runs of equal operations (--no-runs writes none)";
	else if (machines_have_guests(&trace->defs))
		wrong = "has a guest with its host, whose events name threads of each other";
	if (!wrong)
		return 0;
	eta_error("%s: %s: it cannot be linked (without --link and --copy sci-merge writes all "
		  "events anew)",
		  trace->path, wrong);
	return -EINVAL;
}

static int check_location(const struct eta_trace *trace, const struct merge *merge, uint32_t l)
{
	const struct merge_part *parts = &merge->parts[merge->first[l]];
	const struct merge_input *input = &merge->inputs[parts->input];

	if (merge->first[l + 1] - merge->first[l] == 1 &&
	    !merge_is_inside(trace, input, parts->location))
		return 0;
	eta_error("%s and %s: both have events of %s: they cannot be linked (without --link and "
		  "--copy sci-merge writes all events anew)",
		  path_of(merge, parts[0].input),
		  path_of(merge, parts[merge->first[l + 1] - merge->first[l] - 1].input),
		  trace->defs.locations[l].name);
	return -EINVAL;
}

/* ANCHOR as it is seen from FOLDER, which it is below; NULL: it is not. */
static char *path_below(const char *folder, const char *anchor)
{
	char *whole = realpath(anchor, NULL), *below = NULL;
	size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	if (whole && strncmp(whole, folder, n) == 0 && whole[n] == '/')
		below = strdup(whole + n + 1);
	free(whole);
	return below;
}

static int find_paths(struct archive_writer *writer, const struct write_place *place)
{
	const struct merge *merge = writer->trace->data;
	char at[FOLDER_PATH_BYTES], folder[PATH_MAX];
	ssize_t n = readlink(folder_path(place->at, NULL, at), folder, sizeof(folder) - 1);

	if (n < 0)
		return -errno;
	folder[n] = '\0';
	for (uint32_t i = 0; i < merge->n_inputs; i++) {
		writer->paths[i] = path_below(folder, path_of(merge, i));
		if (writer->paths[i])
			continue;
		eta_error("%s: is not below the folder of %s, and links lead nowhere else (--copy "
			  "copies the events)",
			  path_of(merge, i), writer->anchor);
		return -EINVAL;
	}
	return 0;
}

/* ---- in the place of writing events ---- */

/* The numbers of the events of LOCATION, which are not read. */
static void count_location(struct archive_writer *writer, const struct merge *merge,
			   uint32_t location)
{
	const struct merge_part *part = &merge->parts[merge->first[location]];
	const struct merge_input *input = &merge->inputs[part->input];
	const struct otf2 *otf2 = otf2_of(merge, part->input);

	writer->written[location] = (struct written){
		.events = input->trace->defs.locations[part->location].events,
		.first_ns = eta_clock_convert(&input->clock, otf2->first_ns),
		.last_ns = eta_clock_convert(&input->clock, otf2->last_ns),
	};
	writer->events_done += writer->written[location].events;
}

/* Handles that events create; the first location of each input. */
static void look_at_inputs(struct archive_writer *writer, const struct merge *merge)
{
	for (uint32_t i = 0; i < merge->n_inputs; i++) {
		const struct merge_input *input = &merge->inputs[i];

		for (uint32_t h = 0; h < input->trace->defs.n_handles; h++)
			if (otf2_of(merge, i)->created[h])
				writer->created[input->handles ? input->handles[h] : h] = 1;
		writer->first_of[i] = ETA_NONE;
	}
	for (uint32_t l = 0; l < writer->trace->defs.n_locations; l++) {
		uint32_t *first = &writer->first_of[merge->parts[merge->first[l]].input];

		count_location(writer, merge, l);
		if (*first == ETA_NONE)
			*first = l;
	}
}

int write_links_begin(struct archive_writer *writer, const struct write_place *place)
{
	const struct eta_trace *trace = writer->trace;
	const struct merge *merge = trace->data;
	int rc = 0;

	if (strcmp(eta_trace_source(trace), "merge") != 0) {
		eta_error("%s: only what was merged can be linked", writer->anchor);
		return -EINVAL;
	}
	for (uint32_t i = 0; rc == 0 && i < merge->n_inputs; i++)
		rc = check_input(merge, i);
	for (uint32_t l = 0; rc == 0 && l < trace->defs.n_locations; l++)
		rc = check_location(trace, merge, l);
	if (rc)
		return rc;
	writer->paths = calloc(merge->n_inputs, sizeof(*writer->paths));
	writer->first_of = calloc(merge->n_inputs, sizeof(*writer->first_of));
	if (!writer->paths || !writer->first_of) {
		eta_error("%s: not enough memory to write it", writer->anchor);
		return -ENOMEM;
	}
	writer->n_paths = merge->n_inputs;
	if (writer->options->links == ETA_LINKS)
		rc = find_paths(writer, place);
	if (rc == 0)
		look_at_inputs(writer, merge);
	return rc;
}

/* ---- definitions ---- */

uint64_t write_links_chunk(const struct eta_trace *trace)
{
	const struct merge *merge = trace->data;
	uint64_t need = 0, bytes = WRITE_CHUNK_BYTES;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct eta_defs *defs = &merge->inputs[i].trace->defs;
		uint64_t n = defs->n_regions > defs->n_handles ? defs->n_regions : defs->n_handles;

		if (n * 2 * ID_BYTES > need)
			need = n * 2 * ID_BYTES;
	}
	while (bytes < need + WRITE_CHUNK_BYTES / 2 && bytes < CHUNK_MAX_BYTES)
		bytes *= 2;
	return bytes;
}

/* The references of REFS, of which each is TO[its index] in the result; NULL: its index. */
static OTF2_ErrorCode write_table(OTF2_DefWriter *def, OTF2_MappingType type,
				  const struct ref_map *refs, const uint32_t *to)
{
	uint32_t *table = calloc((size_t)refs->n + 1, sizeof(*table));
	OTF2_IdMap *map = NULL;
	OTF2_ErrorCode code = OTF2_ERROR_MEM_ALLOC_FAILED;
	bool same = true;

	for (uint32_t i = 0; table && i < refs->n; i++) {
		uint32_t index = refs->v[i].index;

		table[refs->v[i].ref] = to ? to[index] : index;
		same = same && refs->v[i].ref == table[refs->v[i].ref];
	}
	if (table && !same)
		map = OTF2_IdMap_CreateFromUint32Array(refs->n, table, false);
	if (map)
		code = OTF2_DefWriter_WriteMappingTable(def, type, map);
	else if (table && same)
		code = OTF2_SUCCESS;
	if (map)
		OTF2_IdMap_Free(map);
	free(table);
	return code;
}

/* What is added to times between two points is on the line through both. */
static OTF2_ErrorCode write_clock(OTF2_DefWriter *def, const struct eta_clock_map *clock,
				  const struct otf2 *otf2)
{
	const uint64_t last = otf2->last_ns > otf2->first_ns ? otf2->last_ns : otf2->first_ns + 1;
	const double error =
		clock->error_ns == ETA_CLOCK_ERROR_UNKNOWN ? 0 : (double)clock->error_ns;
	const uint64_t at[] = { otf2->first_ns, last };
	OTF2_ErrorCode code = OTF2_SUCCESS;

	for (size_t i = 0; code == OTF2_SUCCESS && i < 2; i++)
		code = OTF2_DefWriter_WriteClockOffset(
			def, at[i], (int64_t)(eta_clock_convert(clock, at[i]) - at[i]), error);
	return code;
}

/* Is its file a link to that of an earlier location? They are as many as locations. */
static bool is_shared(const struct archive_writer *writer, uint32_t location, uint32_t *first)
{
	const struct merge *merge = writer->trace->data;

	*first = writer->first_of[merge->parts[merge->first[location]].input];
	return writer->options->links == ETA_LINKS && *first != location;
}

OTF2_ErrorCode write_links_local(struct archive_writer *writer, uint32_t location)
{
	const struct merge *merge = writer->trace->data;
	const struct merge_part *part = &merge->parts[merge->first[location]];
	const struct merge_input *input = &merge->inputs[part->input];
	const struct otf2 *otf2 = otf2_of(merge, part->input);
	OTF2_DefWriter *def;
	OTF2_ErrorCode code;
	uint32_t first;

	if (is_shared(writer, location, &first))
		return OTF2_SUCCESS;
	def = OTF2_Archive_GetDefWriter(writer->archive,
					writer->trace->defs.locations[location].id);
	if (!def)
		return OTF2_ERROR_FILE_CAN_NOT_OPEN;
	code = write_table(def, OTF2_MAPPING_REGION, &otf2->regions, input->regions);
	if (code == OTF2_SUCCESS)
		code = write_table(def, OTF2_MAPPING_IO_HANDLE, &otf2->handles, input->handles);
	if (code == OTF2_SUCCESS && !eta_clock_is_identity(&input->clock))
		code = write_clock(def, &input->clock, otf2);
	return code == OTF2_SUCCESS ? OTF2_Archive_CloseDefWriter(writer->archive, def) : code;
}

void write_links_inputs(struct defs *defs)
{
	const struct archive_writer *writer = defs->writer;
	const struct merge *merge = writer->trace->data;

	for (uint32_t i = 0; i < merge->n_inputs && defs->code == OTF2_SUCCESS; i++) {
		OTF2_AttributeValue value = { 0 };
		char name[32], *text;
		uint32_t name_id;

		snprintf(name, sizeof(name), ARCHIVE_INPUT_PROPERTY "%" PRIu32, i + 1);
		if (asprintf(&text, "%" PRIu32 " %016" PRIx64 " %s", merge->inputs[i].first_stack,
			     otf2_of(merge, i)->id, writer->paths[i] ? writer->paths[i] : "") < 0) {
			defs->code = OTF2_ERROR_MEM_ALLOC_FAILED;
			return;
		}
		name_id = defs_string(defs, name);
		value.stringRef = defs_string(defs, text);
		WRITE(defs, SystemTreeNodeProperty, 0, name_id, OTF2_TYPE_STRING, value);
		free(text);
	}
	for (uint32_t l = 0; l < defs->eta->n_locations; l++) {
		uint32_t name_id = defs_string(defs, ARCHIVE_INPUT);

		WRITE(defs, LocationProperty, defs->eta->locations[l].id, name_id, OTF2_TYPE_UINT32,
		      defs_value32(merge->parts[merge->first[l]].input + 1));
	}
}

/* ---- files ---- */

static int copy_file(const char *from, int folder, const char *name)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), rc = 0;
	int out = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	char buffer[1 << 16];
	ssize_t n = 0;

	if (in < 0 || out < 0)
		rc = -errno;
	/* by the file system where it can */
	while (rc == 0 && (n = copy_file_range(in, NULL, out, NULL, CHUNK_MAX_BYTES, 0)) > 0)
		;
	while (rc == 0 && n != 0 && (n = read(in, buffer, sizeof(buffer))) > 0)
		if (write(out, buffer, (size_t)n) != n)
			rc = errno ? -errno : -EIO;
	if (rc == 0 && n < 0)
		rc = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) != 0 && rc == 0)
		rc = -errno;
	return rc;
}

static int put_events(const struct archive_writer *writer, uint32_t location, int folder)
{
	const struct merge *merge = writer->trace->data;
	const struct merge_part *part = &merge->parts[merge->first[location]];
	const struct eta_location *of_input =
		&merge->inputs[part->input].trace->defs.locations[part->location];
	const char *below = writer->paths[part->input];
	char name[32], *from;
	int rc;

	snprintf(name, sizeof(name), "%" PRIu64 ".evt", writer->trace->defs.locations[location].id);
	if (writer->options->links == ETA_LINKS)
		rc = asprintf(&from, "../%.*s/%" PRIu64 ".evt", (int)strlen(below) - 5, below,
			      of_input->id);
	else
		rc = asprintf(&from, "%s/%" PRIu64 ".evt", otf2_of(merge, part->input)->base,
			      of_input->id);
	if (rc < 0)
		return -ENOMEM;
	if (writer->options->links == ETA_COPIES)
		rc = copy_file(from, folder, name);
	else
		rc = symlinkat(from, folder, name) ? -errno : 0;
	free(from);
	return rc;
}

/* The file itself has been written, and looked at as libotf2 may not have noticed a full disk. */
static int put_local(struct archive_writer *writer, uint32_t location, int folder)
{
	const struct eta_location *locations = writer->trace->defs.locations;
	char name[32], from[32];
	uint32_t first;

	snprintf(name, sizeof(name), "/%" PRIu64 ".def", locations[location].id);
	if (!is_shared(writer, location, &first))
		return write_otf2_check_file(writer, name, NULL);
	snprintf(from, sizeof(from), "%" PRIu64 ".def", locations[first].id);
	return symlinkat(from, folder, name + 1) ? -errno : 0;
}

int write_links_files(struct archive_writer *writer, const struct write_place *place)
{
	int folder = openat(place->folder, place->name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int rc = folder < 0 ? -errno : 0;

	for (uint32_t l = 0; rc == 0 && l < writer->trace->defs.n_locations; l++) {
		rc = put_events(writer, l, folder);
		if (rc == 0)
			rc = put_local(writer, l, folder);
		if (rc == 0 && writer->options->progress &&
		    writer->options->progress(writer->options->arg, 0))
			rc = -ECANCELED;
	}
	if (folder >= 0)
		close(folder);
	if (rc && rc != -ECANCELED)
		eta_error("%s: cannot put the files of events into it: %s", writer->anchor,
			  strerror(-rc));
	return rc;
}

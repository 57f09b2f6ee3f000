/* OTF2 source: archives that have their files of events in others. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "read.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "3 0123456789abcdef node1/unified.otf2", the name absent where the files are copies. */
static bool read_input(const char *text, struct otf2_input *input)
{
	int n = 0;

	if (sscanf(text, "%" SCNu32 " %" SCNx64 "%n", &input->first_stack, &input->id, &n) != 2)
		return false;
	text += n;
	if (*text == ' ' && text[1])
		input->anchor = text + 1; /* as long as the trace */
	return true;
}

bool otf2_build_inputs(struct raw_defs *raw, struct otf2 *otf2)
{
	const struct raw_property *v = raw->node_properties.v;
	const size_t prefix = strlen(ARCHIVE_INPUT_PROPERTY);

	for (uint32_t i = 0; i < raw->node_properties.n; i++)
		otf2->n_inputs +=
			strncmp(otf2_text(raw, v[i].name), ARCHIVE_INPUT_PROPERTY, prefix) == 0;
	if (!otf2->n_inputs)
		return true;
	otf2->inputs = calloc(otf2->n_inputs, sizeof(*otf2->inputs));
	if (!otf2->inputs)
		return false;
	for (uint32_t i = 0; i < raw->node_properties.n; i++) {
		const char *name = otf2_text(raw, v[i].name);
		unsigned long n;

		if (strncmp(name, ARCHIVE_INPUT_PROPERTY, prefix) != 0)
			continue;
		n = strtoul(name + prefix, NULL, 10);
		if (n == 0 || n > otf2->n_inputs || v[i].type != OTF2_TYPE_STRING ||
		    !read_input(otf2_text(raw, v[i].value.stringRef), &otf2->inputs[n - 1]))
			raw->trace->counts.bad++;
	}
	return true;
}

/* ---- what they lead to ---- */

/* The folder that TRACE's anchor is in, without links, the caller's; NULL: reported. */
static char *folder_of_anchor(const struct eta_trace *trace)
{
	const char *slash = strrchr(trace->path, '/');
	char *name = slash ? strndup(trace->path, (size_t)(slash - trace->path) + 1) : strdup(".");
	char *folder = name ? realpath(name, NULL) : NULL;

	if (!folder)
		eta_error("%s: its folder cannot be found: %s", trace->path, strerror(errno));
	free(name);
	return folder;
}

/* Is PATH a file below FOLDER? NAME: as the archive calls it. 0 or -errno, reported. */
static int check_below(const struct eta_trace *trace, const char *folder, const char *name,
		       const char *path)
{
	size_t n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	char *whole = realpath(path, NULL);
	int rc = whole ? 0 : -errno;

	if (rc) {
		eta_error("%s: %s is a link to what cannot be read: %s (an archive of links needs "
			  "those that it was made of, where they were)",
			  trace->path, name, strerror(-rc));
	} else if (strncmp(whole, folder, n) != 0 || whole[n] != '/') {
		rc = -EXDEV;
		eta_error("%s: %s is a link that leaves the folder of the archive: not followed",
			  trace->path, name);
	}
	free(whole);
	return rc;
}

static int check_file(const struct eta_trace *trace, const char *folder, uint64_t id,
		      const char *suffix)
{
	const struct otf2 *otf2 = trace->data;
	const char *slash = strrchr(otf2->base, '/');
	struct stat st;
	char *path;
	int rc = 0;

	if (asprintf(&path, "%s/%" PRIu64 "%s", otf2->base, id, suffix) < 0)
		return -ENOMEM;
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
		rc = check_below(trace, folder, slash ? path + (slash + 1 - otf2->base) : path,
				 path);
	free(path);
	return rc;
}

/* Is ANCHOR that of the archive with this ID? One that was written anew has other events. */
static int check_id(const struct eta_trace *trace, const char *anchor, uint64_t id)
{
	uint64_t found;
	int rc = otf2_check_anchor(anchor, "(merge it again, then link it)");
	OTF2_Reader *reader = rc ? NULL : OTF2_Reader_Open(anchor);

	if (rc)
		return rc;
	if (!reader || OTF2_Reader_GetTraceId(reader, &found) != OTF2_SUCCESS || found != id) {
		eta_error("%s: %s is not the archive that it was linked to (sci-merge --link "
			  "links it anew)",
			  trace->path, anchor);
		rc = -ESTALE;
	}
	if (reader)
		OTF2_Reader_Close(reader);
	return rc;
}

static int check_input(const struct eta_trace *trace, const char *folder, uint32_t i)
{
	const struct otf2_input *input = &((const struct otf2 *)trace->data)->inputs[i];
	char *path;
	int rc;

	if (!input->anchor)
		return 0;
	if (asprintf(&path, "%s/%s", folder, input->anchor) < 0)
		return -ENOMEM;
	rc = check_below(trace, folder, input->anchor, path);
	if (rc == 0)
		rc = check_id(trace, path, input->id);
	free(path);
	return rc;
}

int otf2_check_links(const struct eta_trace *trace)
{
	const struct otf2 *otf2 = trace->data;
	char *folder = folder_of_anchor(trace);
	int rc = 0;

	if (!folder)
		return -errno;
	archive_errors_catch();
	for (uint32_t i = 0; rc == 0 && i < otf2->n_inputs; i++)
		rc = check_input(trace, folder, i);
	for (uint32_t l = 0; rc == 0 && l < trace->defs.n_locations; l++) {
		rc = check_file(trace, folder, trace->defs.locations[l].id, ".evt");
		if (rc == 0)
			rc = check_file(trace, folder, trace->defs.locations[l].id, ".def");
	}
	free(folder);
	return rc;
}

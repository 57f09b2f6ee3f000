/* The spool's modules and stacks: of the images of programs that made calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/format/addresses.h"
#include "spool.h"

enum { MAX_PARENTS = 16 };

static int define_module(struct eta_trace *trace, uint32_t process,
			 const struct eta_module_record *record)
{
	size_t stored = record_bytes(&record->head) - sizeof(*record);
	char build_id[ETA_BUILD_ID_TEXT], path[4097];
	struct eta_module module = {
		.process = process,
		.program = record->head.flags & ETA_MODULE_PROGRAM,
		.since_ns = record->head.time_ns,
		.start = record->start,
		.end = record->end,
		.bias = record->bias,
		.build_id = build_id,
		.path = path,
	};

	if (record_bytes(&record->head) < sizeof(*record) || record->build_id_bytes > 64 ||
	    record->path_bytes >= sizeof(path) ||
	    (size_t)record->build_id_bytes + record->path_bytes > stored) {
		trace->counts.bad++;
		return 0;
	}
	eta_hex((const unsigned char *)record->text, record->build_id_bytes, build_id);
	memcpy(path, record->text + record->build_id_bytes, record->path_bytes);
	path[record->path_bytes] = '\0';
	return eta_defs_module(trace, &module) == ETA_NONE ? -ENOMEM : 0;
}

static int define_stack(struct eta_trace *trace, struct spool_image *image, uint32_t process,
			const struct eta_stack_record *record)
{
	size_t stored = record_bytes(&record->head) - sizeof(*record);
	struct eta_stack stack = { .process = process,
				   .n_frames = record->n_frames,
				   .frames = record->frames };
	uint32_t id = record->head.id, index;

	/* ids are given out one after the other */
	if (record->n_frames == 0 || record->n_frames > stored / sizeof(uint64_t) ||
	    id != image->n_stacks + 1) {
		trace->counts.bad++;
		return 0;
	}
	if (!ARRAY_FITS(image->stacks, image->n_stacks + 1, image->stack_room)) {
		eta_error("%s: not enough memory for its stacks", trace->path);
		return -ENOMEM;
	}
	index = eta_defs_stack(trace, &stack);
	if (index == ETA_NONE)
		return -ENOMEM;
	image->stacks[image->n_stacks++] = index;
	return 0;
}

/* What FILE says, for PROCESS; STACKS: of IMAGE, else only the modules. *MODULES: how many. */
static int read_file(struct eta_trace *trace, struct spool_file *file, uint32_t process,
		     struct spool_image *stacks, uint32_t *modules)
{
	uint64_t at = ETA_SPOOL_HEADER_BYTES;
	const struct eta_record_head *record;
	struct spool_view view;
	int rc = spool_view_open(&view, file->path, 64 << 10, &file->damage);

	if (rc)
		return rc;
	while ((rc = spool_view_record(&view, at, &record)) > 0) {
		at += record_bytes(record);
		rc = 0;
		if (record->type == ETA_RECORD_MODULE) {
			rc = define_module(trace, process, (const void *)record);
			++*modules;
		} else if (record->type == ETA_RECORD_STACK && stacks) {
			rc = define_stack(trace, stacks, process, (const void *)record);
		}
		if (rc)
			break;
	}
	spool_view_close(&view);
	return rc;
}

/* The modules and stacks of image INDEX. The child of a fork has the modules of its parent. */
static int read_image(struct eta_trace *trace, const uint32_t *file_of, uint32_t index,
		      uint32_t process)
{
	struct spool *spool = trace->data;
	uint32_t image = index, modules = 0;
	bool inherits;
	int rc = 0;

	for (int depth = 0; depth < MAX_PARENTS && image != ETA_NONE && rc == 0; depth++) {
		struct spool_file *file =
			file_of[image] == ETA_NONE ? NULL : &spool->files[file_of[image]];

		inherits = !file || file->inherits;
		if (file)
			rc = read_file(trace, file, process,
				       depth == 0 ? &spool->images[index] : NULL, &modules);
		if (!inherits)
			break;
		image = spool->images[image].parent;
	}
	return rc;
}

int spool_addresses_open(struct eta_trace *trace)
{
	struct spool *spool = trace->data;
	uint32_t *file_of = malloc(spool->n_images * sizeof(*file_of));
	bool *done = calloc(spool->n_images, sizeof(*done));
	int rc = 0;

	if (!file_of || !done) {
		eta_error("%s: not enough memory to open it", trace->path);
		rc = -ENOMEM;
		goto out;
	}
	memset(file_of, 0xff, spool->n_images * sizeof(*file_of));
	for (uint32_t i = 0; i < spool->n_files; i++)
		if (spool->files[i].kind == ETA_SPOOL_PROCESS)
			file_of[spool->files[i].image] = i;
	for (uint32_t i = 0; rc == 0 && i < spool->n_files; i++) {
		const struct spool_file *file = &spool->files[i];

		if (file->kind != ETA_SPOOL_USER || done[file->image])
			continue;
		done[file->image] = true;
		rc = read_image(trace, file_of, file->image, file->process);
	}
out:
	free(file_of);
	free(done);
	return rc;
}

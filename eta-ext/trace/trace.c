/* What all sources share: the trace and its definitions, cursors, counts. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory uthash must not exit: the element is then simply not in the table. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "eta-ext/base/io-functions.h"
#include "machines.h"

struct eta_string {
	UT_hash_handle hh;
	char text[];
};

struct eta_trace *eta_trace_new(const struct eta_source_ops *ops, const char *path,
				const struct eta_options *options)
{
	struct eta_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		goto out;
	trace->path = strdup(path);
	if (!trace->path) {
		free(trace);
		trace = NULL;
		goto out;
	}
	trace->ops = ops;
	if (options)
		trace->options = *options;
	pthread_mutex_init(&trace->lock, NULL);
out:
	if (!trace)
		eta_error("%s: not enough memory to open it", path);
	return trace;
}

static void trace_free(struct eta_trace *trace)
{
	struct eta_string *string, *next;

	HASH_ITER (hh, trace->strings, string, next) {
		HASH_DEL(trace->strings, string);
		free(string);
	}
	free(trace->defs.regions);
	free(trace->defs.locations);
	free(trace->defs.processes);
	free(trace->defs.files);
	free(trace->defs.handles);
	free(trace->defs.properties);
	free(trace->defs.modules);
	for (uint32_t i = 0; i < trace->defs.n_stacks; i++)
		free((uint64_t *)trace->defs.stacks[i].frames);
	free(trace->defs.stacks);
	machines_free(trace->defs.machines);
	free(trace->counted);
	free(trace->path);
	pthread_mutex_destroy(&trace->lock);
	free(trace);
}

void eta_close(struct eta_trace *trace)
{
	if (!trace)
		return;
	if (trace->ops->close)
		trace->ops->close(trace);
	trace_free(trace);
}

const struct eta_defs *eta_trace_defs(const struct eta_trace *trace)
{
	return &trace->defs;
}

const char *eta_trace_path(const struct eta_trace *trace)
{
	return trace->path;
}

const char *eta_trace_source(const struct eta_trace *trace)
{
	return trace->ops->name;
}

/* ---- counts ---- */

void eta_counts_add(struct eta_counts *sum, const struct eta_counts *more)
{
	sum->records += more->records;
	sum->events += more->events;
	sum->passed += more->passed;
	sum->bad += more->bad;
	sum->lost += more->lost;
	sum->orphan += more->orphan;
	sum->truncated += more->truncated;
	sum->overlapping += more->overlapping;
	sum->unmatched += more->unmatched;
	sum->out_of_order += more->out_of_order;
	sum->matched += more->matched;
	sum->missing += more->missing;
}

void eta_trace_counts(const struct eta_trace *trace, struct eta_counts *counts)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&trace->lock;

	pthread_mutex_lock(lock);
	*counts = trace->counts;
	pthread_mutex_unlock(lock);
}

void eta_trace_miss(struct eta_trace *trace, uint64_t n)
{
	pthread_mutex_lock(&trace->lock);
	trace->counts.missing += n;
	pthread_mutex_unlock(&trace->lock);
}

/* A location read twice must not be counted twice: its first cursor to be closed counts. */
static void count_location(struct eta_trace *trace, const struct eta_cursor *cursor)
{
	pthread_mutex_lock(&trace->lock);
	if (!trace->counted)
		trace->counted = calloc(trace->defs.n_locations, sizeof(*trace->counted));
	if (!trace->counted || !trace->counted[cursor->location])
		eta_counts_add(&trace->counts, &cursor->counts);
	if (trace->counted)
		trace->counted[cursor->location] = true;
	pthread_mutex_unlock(&trace->lock);
}

/* ---- cursors ---- */

int eta_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	int rc;

	*out = NULL;
	if (location >= trace->defs.n_locations) {
		eta_error("%s: no location number %u, it has %u", trace->path, location,
			  trace->defs.n_locations);
		return -EINVAL;
	}
	rc = trace->ops->cursor_open(trace, location, out);
	if (rc < 0) {
		*out = NULL;
		return rc;
	}
	(*out)->trace = trace;
	(*out)->location = location;
	return 0;
}

bool eta_cursor_part(struct eta_cursor *cursor, uint64_t from_ns, uint64_t to_ns,
		     struct eta_whole *whole)
{
	const struct eta_source_ops *ops = cursor->trace->ops;

	return ops->cursor_part && ops->cursor_part(cursor, from_ns, to_ns, whole);
}

ssize_t eta_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	ssize_t n = cursor->trace->ops->cursor_read(cursor, batch);

	if (n > 0)
		cursor->counts.events += (uint64_t)n;
	return n;
}

void eta_cursor_close(struct eta_cursor *cursor)
{
	if (!cursor)
		return;
	count_location(cursor->trace, cursor);
	cursor->trace->ops->cursor_close(cursor);
}

void eta_cursor_drop(struct eta_cursor *cursor)
{
	if (cursor)
		cursor->trace->ops->cursor_close(cursor);
}

/* ---- definitions ---- */

const char *eta_trace_string(struct eta_trace *trace, const char *text)
{
	size_t n = strlen(text);
	struct eta_string *string;

	HASH_FIND(hh, trace->strings, text, n, string);
	if (string)
		return string->text;
	string = malloc(sizeof(*string) + n + 1);
	if (!string)
		return NULL;
	memcpy(string->text, text, n + 1);
	HASH_ADD_KEYPTR(hh, trace->strings, string->text, n, string);
	if (!string->hh.tbl) {
		free(string);
		return NULL;
	}
	return string->text;
}

/* Makes defs.FIELDS one longer and gives the new last element, zeroed; NULL without memory. */
#define NEW_DEF(trace, fields)                                                                     \
	({                                                                                         \
		struct eta_defs *d_ = &(trace)->defs;                                              \
		bool fits_ = ARRAY_FITS(d_->fields, d_->n_##fields + 1, (trace)->room.fields);     \
                                                                                                   \
		if (fits_)                                                                         \
			memset(&d_->fields[d_->n_##fields++], 0, sizeof(*d_->fields));             \
		fits_ ? &d_->fields[d_->n_##fields - 1] : NULL;                                    \
	})

static uint32_t no_memory(const struct eta_trace *trace, const char *what, const char *name)
{
	eta_error("%s: not enough memory for %s \"%s\"", trace->path, what, name);
	return ETA_NONE;
}

static const char *copy(struct eta_trace *trace, const char *text)
{
	return eta_trace_string(trace, text ? text : "");
}

uint32_t eta_defs_region(struct eta_trace *trace, const char *name, enum eta_level level,
			 const char *description)
{
	const char *own = copy(trace, name), *text = copy(trace, description);
	struct eta_region *region = own && text ? NEW_DEF(trace, regions) : NULL;
	enum eta_level named;

	if (!region)
		return no_memory(trace, "region", name);
	region->name = own;
	region->description = text;
	eta_region_name_split(own, &named, &region->reason);
	region->level = level == ETA_LEVEL_NONE ? named : level;
	return trace->defs.n_regions - 1;
}

uint32_t eta_defs_location(struct eta_trace *trace, const struct eta_location *location)
{
	const char *name = copy(trace, location->name), *host = copy(trace, location->host);
	struct eta_location *own = name && host ? NEW_DEF(trace, locations) : NULL;

	if (!own)
		return no_memory(trace, "location", location->name);
	*own = *location;
	own->name = name;
	own->host = host;
	return trace->defs.n_locations - 1;
}

uint32_t eta_defs_process(struct eta_trace *trace, const struct eta_process *process)
{
	const char *name = copy(trace, process->name), *host = copy(trace, process->host);
	const char *boot = copy(trace, process->boot);
	struct eta_process *own = name && host && boot ? NEW_DEF(trace, processes) : NULL;

	if (!own)
		return no_memory(trace, "process", process->name);
	*own = *process;
	own->name = name;
	own->host = host;
	own->boot = boot;
	if (machines_add(&trace->defs, trace->defs.n_processes - 1) < 0)
		return no_memory(trace, "process", process->name);
	return trace->defs.n_processes - 1;
}

uint32_t eta_defs_file(struct eta_trace *trace, const struct eta_file *file)
{
	const char *path = copy(trace, file->path), *fs = copy(trace, file->fs);
	const char *host = copy(trace, file->host);
	const char *mount = copy(trace, file->mount ? file->mount : "");
	struct eta_file *own = path && fs && host && mount ? NEW_DEF(trace, files) : NULL;

	if (!own)
		return no_memory(trace, "file", file->path);
	*own = *file;
	own->path = path;
	own->fs = fs;
	own->host = host;
	own->mount = mount;
	return trace->defs.n_files - 1;
}

uint32_t eta_defs_handle(struct eta_trace *trace, const struct eta_handle *handle)
{
	const char *name = copy(trace, handle->name), *host = copy(trace, handle->host);
	struct eta_handle *own = name && host ? NEW_DEF(trace, handles) : NULL;

	if (!own)
		return no_memory(trace, "handle", handle->name);
	*own = *handle;
	own->name = name;
	own->host = host;
	return trace->defs.n_handles - 1;
}

uint32_t eta_defs_property(struct eta_trace *trace, const char *name, const char *value)
{
	return eta_defs_process_property(trace, ETA_NONE, name, value);
}

uint32_t eta_defs_process_property(struct eta_trace *trace, uint32_t process, const char *name,
				   const char *value)
{
	const char *own = copy(trace, name), *text = copy(trace, value);
	struct eta_property *property = own && text ? NEW_DEF(trace, properties) : NULL;

	if (!property)
		return no_memory(trace, "property", name);
	property->name = own;
	property->value = text;
	property->process = process;
	return trace->defs.n_properties - 1;
}

uint32_t eta_defs_module(struct eta_trace *trace, const struct eta_module *module)
{
	const char *build_id = copy(trace, module->build_id), *path = copy(trace, module->path);
	struct eta_module *own = build_id && path ? NEW_DEF(trace, modules) : NULL;

	if (!own)
		return no_memory(trace, "module", module->path);
	*own = *module;
	own->build_id = build_id;
	own->path = path;
	return trace->defs.n_modules - 1;
}

uint32_t eta_defs_stack(struct eta_trace *trace, const struct eta_stack *stack)
{
	uint64_t *frames = reallocarray(NULL, stack->n_frames, sizeof(*frames));
	struct eta_stack *own = frames ? NEW_DEF(trace, stacks) : NULL;

	if (!own) {
		free(frames);
		return no_memory(trace, "call stack", "");
	}
	memcpy(frames, stack->frames, stack->n_frames * sizeof(*frames));
	*own = *stack;
	own->frames = frames;
	return trace->defs.n_stacks - 1;
}

uint32_t eta_device_number(const char *name)
{
	const uint32_t major = 0xffe;
	uint32_t hash = 2166136261; /* FNV-1a */

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	return major << 20 | (hash & 0xfffff);
}

bool eta_is_io_function(const char *name)
{
	static const char *const names[] = {
#define X(function) #function,
		ETA_IO_FUNCTIONS(X)
#undef X
	};

	/* an MPI library's own name of the same call */
	if (strncmp(name, "PMPI_", 5) == 0)
		name++;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Logs: threads, regions, files and devices, defined when they are first met. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "log.h"
#include "log-defs.h"
#include "log-events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Without memory uthash must not exit: the element is then simply not in the table. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct log_known {
	UT_hash_handle hh;
	uint32_t index;
	char key[]; /* its kind, then the key proper */
};

enum { KEY_MAX = 4200 }; /* a path and what goes before it; longer ones are distinguished so far */

uint32_t log_known(struct log *log, char kind, const void *key, size_t n)
{
	struct log_known *known;
	char whole[KEY_MAX + 1];

	if (n > KEY_MAX)
		n = KEY_MAX;
	whole[0] = kind;
	memcpy(whole + 1, key, n);
	HASH_FIND(hh, log->known, whole, n + 1, known);
	return known ? known->index : ETA_NONE;
}

bool log_remember(struct log *log, char kind, const void *key, size_t n, uint32_t index)
{
	struct log_known *known;

	if (n > KEY_MAX)
		n = KEY_MAX;
	known = malloc(sizeof(*known) + n + 1);
	if (known) {
		known->index = index;
		known->key[0] = kind;
		memcpy(known->key + 1, key, n);
		HASH_ADD_KEYPTR(hh, log->known, known->key, n + 1, known);
		if (known->hh.tbl)
			return true;
		free(known);
	}
	log_no_memory(log, "what it defines");
	return false;
}

void log_defs_free(struct log *log)
{
	struct log_known *known, *next;

	HASH_ITER (hh, log->known, known, next) {
		HASH_DEL(log->known, known);
		free(known);
	}
	free(log->names);
	log->names = NULL;
}

/* INDEX, remembered; ETA_NONE without memory. */
static uint32_t keep(struct log *log, char kind, const void *key, size_t n, uint32_t index)
{
	return index != ETA_NONE && log_remember(log, kind, key, n, index) ? index : ETA_NONE;
}

uint32_t log_region_at(struct log *log, const char *name, enum eta_level level)
{
	uint32_t index = log_known(log, 'r', name, strlen(name));

	if (index == ETA_NONE)
		index = keep(log, 'r', name, strlen(name),
			     eta_defs_region(log->trace, name, level, ""));
	return index;
}

uint32_t log_region(struct log *log, const char *name)
{
	return log_region_at(log, name, eta_is_io_function(name) ? ETA_LEVEL_USER : ETA_LEVEL_NONE);
}

static uint32_t add_queue(struct log *log, const struct eta_location *location)
{
	uint32_t index = eta_defs_location(log->trace, location);

	return index == ETA_NONE || log_queue_add(log) < 0 ? ETA_NONE : index;
}

static uint32_t process_of(struct log *log, uint32_t pid, const char *comm)
{
	const struct eta_process process = { .name = comm,
					     .host = log->host ? log->host : "",
					     .pid = pid };
	uint32_t index;

	if (pid == 0) {
		index = log_known(log, 'q', comm, strlen(comm));
		return index != ETA_NONE ? index
					 : keep(log, 'q', comm, strlen(comm),
						eta_defs_process(log->trace, &process));
	}
	index = log_known(log, 'p', &pid, sizeof(pid));
	return index != ETA_NONE
		       ? index
		       : keep(log, 'p', &pid, sizeof(pid), eta_defs_process(log->trace, &process));
}

uint32_t log_thread(struct log *log, uint32_t pid, uint32_t tid, const char *comm)
{
	struct eta_location location = { .tid = tid };
	uint32_t index = log_known(log, 't', &tid, sizeof(tid));
	char name[300];

	if (index != ETA_NONE)
		return index;
	if (!*comm) {
		uint32_t named = log_known(log, 'c', &tid, sizeof(tid));

		comm = named == ETA_NONE ? "" : log->names[named];
	}
	location.process = process_of(log, pid, comm);
	if (location.process == ETA_NONE)
		return ETA_NONE;
	location.id = log->n_queues;
	snprintf(name, sizeof(name), "%.255s%stid %u", comm, *comm ? " " : "", tid);
	location.name = name;
	return keep(log, 't', &tid, sizeof(tid), add_queue(log, &location));
}

uint32_t log_named_thread(struct log *log, const char *process, const char *host, const char *name)
{
	const struct eta_process def = { .name = process, .host = host };
	struct eta_location location = { .name = name, .id = log->n_queues };
	char key[1024];
	int n = snprintf(key, sizeof(key), "%.300s/%.300s", host, process);

	location.process = log_known(log, 'n', key, (size_t)n);
	if (location.process == ETA_NONE)
		location.process =
			keep(log, 'n', key, (size_t)n, eta_defs_process(log->trace, &def));
	return location.process == ETA_NONE ? ETA_NONE : add_queue(log, &location);
}

int log_move(struct log *log, uint32_t location, uint32_t pid)
{
	uint32_t process = process_of(log, pid, "");

	if (process == ETA_NONE)
		return -ENOMEM;
	log->trace->defs.locations[location].process = process;
	return 0;
}

/* NAME under KIND and KEY; a later one takes the place of the one before. */
static int set_name(struct log *log, char kind, const void *key, size_t n, const char *name)
{
	const char *own = eta_trace_string(log->trace, name);
	uint32_t index = log_known(log, kind, key, n);

	if (!own)
		goto no_memory;
	if (index == ETA_NONE) {
		if (!ARRAY_FITS(log->names, log->n_names + 1, log->name_room))
			goto no_memory;
		index = log->n_names;
		if (!log_remember(log, kind, key, n, index))
			return -ENOMEM;
		log->n_names++;
	}
	log->names[index] = own;
	return 0;
no_memory:
	return log_no_memory(log, "a name");
}

int log_alias(struct log *log, char kind, const char *alias, const char *name)
{
	return set_name(log, kind, alias, strlen(alias), name);
}

/* The program that thread LOCATION runs from now on. */
static int rename_location(struct log *log, uint32_t location, const char *comm)
{
	struct eta_defs *defs = &log->trace->defs;
	struct eta_location *def = &defs->locations[location];
	char name[300];

	snprintf(name, sizeof(name), "%.255s%stid %u", comm, *comm ? " " : "", def->tid);
	def->name = eta_trace_string(log->trace, name);
	if (def->name && defs->processes[def->process].pid == def->tid)
		defs->processes[def->process].name = eta_trace_string(log->trace, comm);
	if (def->name && defs->processes[def->process].name)
		return 0;
	return log_no_memory(log, "a name");
}

int log_name(struct log *log, uint32_t tid, const char *comm)
{
	uint32_t index = log_known(log, 't', &tid, sizeof(tid));

	return index != ETA_NONE ? rename_location(log, index, comm)
				 : set_name(log, 'c', &tid, sizeof(tid), comm);
}

int log_renumber(struct log *log, uint32_t from, uint32_t to)
{
	struct eta_defs *defs = &log->trace->defs;
	uint32_t location = log_known(log, 't', &from, sizeof(from));
	uint32_t process = log_known(log, 'p', &from, sizeof(from));
	uint32_t comm = log_known(log, 'c', &from, sizeof(from));
	const char *name;

	if (comm != ETA_NONE && !log_remember(log, 'c', &to, sizeof(to), comm))
		return -ENOMEM;
	if (process != ETA_NONE) {
		defs->processes[process].pid = to;
		if (!log_remember(log, 'p', &to, sizeof(to), process))
			return -ENOMEM;
	}
	if (location == ETA_NONE)
		return 0;
	if (!log_remember(log, 't', &to, sizeof(to), location))
		return -ENOMEM;
	defs->locations[location].tid = to;
	name = defs->processes[defs->locations[location].process].name;
	return rename_location(log, location, name);
}

uint32_t log_file(struct log *log, const char *path, uint64_t inode)
{
	const struct eta_file file = { .path = path ? path : "", .fs = "", .inode = inode };
	const void *key = path ? (const void *)path : &inode;
	size_t n = path ? strlen(path) : sizeof(inode);
	char kind = path ? 'f' : 'i';
	uint32_t index = log_known(log, kind, key, n);

	return index != ETA_NONE ? index
				 : keep(log, kind, key, n, eta_defs_file(log->trace, &file));
}

uint32_t log_handle(struct log *log, uint32_t file, uint32_t open_flags)
{
	const uint32_t key[] = { file, open_flags };
	const struct eta_handle handle = {
		.name = log->trace->defs.files[file].path,
		.file = file,
		.open_flags = open_flags,
	};
	uint32_t index = log_known(log, 'h', key, sizeof(key));

	return index != ETA_NONE
		       ? index
		       : keep(log, 'h', key, sizeof(key), eta_defs_handle(log->trace, &handle));
}

int log_device(struct log *log, uint32_t dev, const char *name, struct log_device *out)
{
	uint32_t key = dev ? dev : eta_device_number(name);
	const char *host = log->host ? log->host : "";
	const struct eta_handle handle = {
		.name = name, .file = ETA_NONE, .device = key, .host = host
	};
	const struct eta_location location = {
		.id = log->n_queues,
		.name = name,
		.kind = ETA_LOCATION_DEVICE,
		.process = ETA_NONE,
		.dev = key,
		.host = host,
	};

	out->location = log_known(log, 'd', &key, sizeof(key));
	out->handle = log_known(log, 'D', &key, sizeof(key));
	if (out->location == ETA_NONE)
		out->location = keep(log, 'd', &key, sizeof(key), add_queue(log, &location));
	if (out->location != ETA_NONE && out->handle == ETA_NONE)
		out->handle =
			keep(log, 'D', &key, sizeof(key), eta_defs_handle(log->trace, &handle));
	return out->location == ETA_NONE || out->handle == ETA_NONE ? -ENOMEM : 0;
}

/* What all forms of export share: reading a location, the open regions, names. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "eta-ext/base/search.h"
#include "export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "src/common/machines.h"
#include "src/common/vm-name.h"

/* Between two looks for a signal and a full disk. */
enum { STEP_EVENTS = 1 << 14 };

int export_read(struct export *e, uint32_t location, export_event_fn fn, void *arg)
{
	struct eta_cursor *cursor;
	const struct eta_event *batch;
	ssize_t n = 0;
	int rc = eta_cursor_open(e->trace, location, &cursor);

	if (rc)
		return rc;
	while (rc == 0 && (n = eta_cursor_read(cursor, &batch)) > 0) {
		for (ssize_t i = 0; rc == 0 && i < n; i++)
			rc = fn(arg, &batch[i]);
		if (e->events / STEP_EVENTS != (e->events + (uint64_t)n) / STEP_EVENTS) {
			if (rc == 0 && progress_step(&e->progress, e->events))
				rc = -ECANCELED;
			if (rc == 0 && ferror(e->out))
				rc = -EIO;
		}
		e->events += (uint64_t)n;
	}
	eta_cursor_close(cursor);
	return rc ? rc : (int)n;
}

const char *export_host(const struct export *e, const struct eta_location *location)
{
	return location->process == ETA_NONE ? "" : e->defs->processes[location->process].host;
}

void export_process_name(const struct export *e, uint32_t process, char *text, size_t room)
{
	const struct eta_process *p = process == ETA_NONE ? NULL : &e->defs->processes[process];

	if (e->machines.has_vms && vm_process_name(e->defs, process, text, room))
		return;
	if (p && p->pid)
		snprintf(text, room, "%s pid %u", p->name, p->pid);
	else
		snprintf(text, room, "%s", p ? p->name : "devices");
}

void export_thread_name(const struct export *e, uint32_t location, char *text, size_t room)
{
	const char *name = e->defs->locations[location].name;
	char role[64];

	if (e->machines.has_vms && vm_thread_role(e->defs, location, role, sizeof(role)))
		snprintf(text, room, "%s (%s)", role, name);
	else
		snprintf(text, room, "%s", name);
}

void export_vm_name(const struct export *e, uint32_t location, char *text, size_t room)
{
	uint32_t process = e->defs->locations[location].process;

	*text = '\0';
	if (!e->machines.has_vms ||
	    (process != ETA_NONE && vm_process_name(e->defs, process, text, room)))
		return;
	process = machine_within(&e->machines, location_machine(e->defs, location));
	if (process != ETA_NONE)
		vm_process_name(e->defs, process, text, room);
}

uint32_t *export_devices(const struct export *e)
{
	uint32_t *devices = calloc((size_t)e->defs->n_handles + 1, sizeof(*devices));
	struct device_locations known;

	if (device_locations_new(e->defs, &known) < 0) {
		free(devices);
		return NULL;
	}
	for (uint32_t h = 0; devices && h < e->defs->n_handles; h++) {
		const struct eta_handle *handle = &e->defs->handles[h];

		devices[h] =
			device_location(&known, eta_machine(e->defs, handle->host), handle->device);
	}
	free(known.list);
	return devices;
}

/* Where a file's numbers are valid: on a machine, or, if the host is unknown, on all. */
#define ANY_MACHINE UINT32_MAX

static uint32_t machine_of(const struct eta_defs *defs, const struct eta_file *file)
{
	return *file->host ? eta_machine(defs, file->host) : ANY_MACHINE;
}

static int by_identity(const struct eta_defs *defs, uint32_t f, uint32_t dev, uint64_t inode,
		       uint32_t machine)
{
	const struct eta_file *file = &defs->files[f];
	uint32_t its;

	if (file->inode != inode)
		return file->inode < inode ? -1 : 1;
	if (file->dev != dev)
		return file->dev < dev ? -1 : 1;
	its = machine_of(defs, file);
	return (its > machine) - (its < machine);
}

static int by_identity_and_place(const void *a, const void *b, void *arg)
{
	const struct eta_defs *defs = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct eta_file *file = &defs->files[y];
	int order = by_identity(defs, x, file->dev, file->inode, machine_of(defs, file));

	return order ? order : (x > y) - (x < y);
}

int export_init(struct export *e)
{
	uint32_t n = e->defs->n_files;

	int rc = machine_tree_new(e->defs, &e->machines);

	if (rc)
		return rc;
	e->by_inode = calloc((size_t)n + 1, sizeof(*e->by_inode));
	if (!e->by_inode) {
		eta_error("not enough memory for %" PRIu32 " files", n);
		return -ENOMEM;
	}
	for (uint32_t f = 0; f < n; f++)
		e->by_inode[f] = f;
	qsort_r(e->by_inode, n, sizeof(*e->by_inode), by_identity_and_place,
		(void *)(uintptr_t)e->defs);
	return 0;
}

void export_free(struct export *e)
{
	free(e->by_inode);
	machine_tree_free(&e->machines);
}

/* The first file of these numbers of MACHINE alone; ETA_NONE: there is none. */
static uint32_t find_file(const struct export *e, uint32_t machine, uint32_t dev, uint64_t inode)
{
	uint32_t low =
		PARTITION_POINT((uint32_t)0, e->defs->n_files, i,
				by_identity(e->defs, e->by_inode[i], dev, inode, machine) < 0);

	return low < e->defs->n_files &&
			       by_identity(e->defs, e->by_inode[low], dev, inode, machine) == 0
		       ? e->by_inode[low]
		       : ETA_NONE;
}

/* The first file of these numbers that LOCATION can mean; ETA_NONE: there is none. */
static uint32_t file_of(const struct export *e, uint32_t location, uint32_t dev, uint64_t inode)
{
	uint32_t own = find_file(e, location_machine(e->defs, location), dev, inode);
	uint32_t any = find_file(e, ANY_MACHINE, dev, inode);

	return own < any ? own : any;
}

const char *export_mode(const struct eta_event *event)
{
	static const char *const modes[] = {
		[ETA_IO_READ] = "read", [ETA_IO_WRITE] = "write", [ETA_IO_FLUSH] = "flush"
	};

	return event->mode < sizeof(modes) / sizeof(*modes) ? modes[event->mode] : "?";
}

void export_stack_begin(struct export_stack *stack, uint32_t location)
{
	stack->location = location;
	stack->depth = 0;
}

static int push(struct export_stack *stack, const struct eta_event *event)
{
	struct export_region *region;

	if (!ARRAY_FITS(stack->open, stack->depth + 1, stack->room)) {
		eta_error("not enough memory for %zu regions inside each other", stack->depth + 1);
		return -ENOMEM;
	}
	region = &stack->open[stack->depth++];
	*region = (struct export_region){ .region = event->region,
					  .begin_ns = event->time_ns,
					  .facts = *event,
					  .file = ETA_NONE,
					  .path = "" };
	return 1;
}

static int pop(struct export_stack *stack, const struct eta_event *event)
{
	struct export_region *region = &stack->open[--stack->depth];

	region->has_ret = event->has & ETA_HAS_RET;
	region->ret = region->has_ret ? event->ret : 0;
	region->truncated = event->has & ETA_EVENT_TRUNCATED;
	if (!*region->path && region->facts.has & ETA_HAS_FILE) {
		region->file =
			file_of(stack->e, stack->location, region->facts.dev, region->facts.inode);
		if (region->file != ETA_NONE)
			region->path = stack->e->defs->files[region->file].path;
	}
	stack->ended = *region;
	return 2;
}

/* A library call's transfer has its file, and in archives of EZTrace its bytes. */
static void add_facts(struct export_stack *stack, const struct eta_event *event)
{
	const struct eta_defs *defs = stack->e->defs;
	struct export_region *region;

	if (stack->depth == 0 || event->kind == ETA_MARK || event->handle == ETA_NONE ||
	    event->has & ETA_EVENT_BLOCK_IO)
		return;
	region = &stack->open[stack->depth - 1];
	region->file = defs->handles[event->handle].file;
	region->path = region->file == ETA_NONE ? defs->handles[event->handle].name
						: defs->files[region->file].path;
	if (event->kind == ETA_IO_BEGIN && event->has & ETA_HAS_SIZE &&
	    !(region->facts.has & ETA_HAS_SIZE)) {
		region->facts.has |= ETA_HAS_SIZE;
		region->facts.size = event->size;
	}
}

int export_stack_push(struct export_stack *stack, const struct eta_event *event)
{
	if (event->kind == ETA_ENTER)
		return push(stack, event);
	if (event->kind == ETA_LEAVE && stack->depth > 0)
		return pop(stack, event);
	add_facts(stack, event);
	return 0;
}

void export_stack_free(struct export_stack *stack)
{
	free(stack->open);
}

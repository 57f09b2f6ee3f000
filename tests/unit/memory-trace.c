/* A trace whose definitions and events a test gives in memory. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "memory-trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
	struct eta_event *events;
	size_t n, room;
};

struct memory {
	struct list *lists; /* per location */
	size_t n_lists;
	size_t batch;
};

struct memory_cursor {
	struct eta_cursor cursor;
	const struct list *list;
	size_t next;
	size_t batch;
};

static void *checked(void *memory)
{
	if (!memory) {
		fputs("memory-trace: not enough memory\n", stderr);
		abort();
	}
	return memory;
}

static struct list *list_of(const struct eta_trace *trace, uint32_t location)
{
	struct memory *memory = trace->data;

	if (location >= trace->defs.n_locations) {
		fprintf(stderr, "memory-trace: no location %u\n", location);
		abort();
	}
	if (location >= memory->n_lists) {
		size_t n = trace->defs.n_locations;

		memory->lists = checked(reallocarray(memory->lists, n, sizeof(*memory->lists)));
		memset(memory->lists + memory->n_lists, 0,
		       (n - memory->n_lists) * sizeof(*memory->lists));
		memory->n_lists = n;
	}
	return &memory->lists[location];
}

static void memory_close(struct eta_trace *trace)
{
	struct memory *memory = trace->data;

	for (size_t i = 0; i < memory->n_lists; i++)
		free(memory->lists[i].events);
	free(memory->lists);
	free(memory);
}

static int memory_cursor_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	static const struct list none;
	const struct memory *memory = trace->data;
	struct memory_cursor *c = checked(calloc(1, sizeof(*c)));

	/* Cursors are opened by several threads: nothing of the trace may change here. */
	c->list = location < memory->n_lists ? &memory->lists[location] : &none;
	c->batch = memory->batch ? memory->batch : SIZE_MAX;
	*out = &c->cursor;
	return 0;
}

static ssize_t memory_cursor_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct memory_cursor *c = (struct memory_cursor *)cursor;
	size_t n = c->list->n - c->next;

	if (n > c->batch)
		n = c->batch;
	*batch = c->list->events + c->next;
	c->next += n;
	cursor->counts.records += n;
	return (ssize_t)n;
}

static void memory_cursor_close(struct eta_cursor *cursor)
{
	free(cursor);
}

static const struct eta_source_ops memory_ops = {
	.name = "memory",
	.what = "events of a test",
	.close = memory_close,
	.cursor_open = memory_cursor_open,
	.cursor_read = memory_cursor_read,
	.cursor_close = memory_cursor_close,
};

struct eta_trace *memory_trace_new(const char *name)
{
	struct eta_trace *trace = checked(eta_trace_new(&memory_ops, name, NULL));

	trace->data = checked(calloc(1, sizeof(struct memory)));
	return trace;
}

uint32_t memory_region(struct eta_trace *trace, const char *name)
{
	for (uint32_t r = 0; r < trace->defs.n_regions; r++)
		if (strcmp(trace->defs.regions[r].name, name) == 0)
			return r;
	return eta_defs_region(trace, name,
			       eta_is_io_function(name) ? ETA_LEVEL_USER : ETA_LEVEL_NONE, "");
}

uint32_t memory_thread(struct eta_trace *trace, uint32_t pid, uint32_t tid)
{
	char name[64];
	uint32_t p = 0;

	while (p < trace->defs.n_processes && trace->defs.processes[p].pid != pid)
		p++;
	if (p == trace->defs.n_processes)
		eta_defs_process(
			trace, &(struct eta_process){ .name = "app", .host = "host", .pid = pid });
	snprintf(name, sizeof(name), "app tid %u", tid);
	return eta_defs_location(trace, &(struct eta_location){
						.id = trace->defs.n_locations,
						.name = name,
						.kind = ETA_LOCATION_THREAD,
						.process = p,
						.tid = tid,
					});
}

uint32_t memory_device(struct eta_trace *trace, const char *name, uint32_t dev)
{
	return eta_defs_location(trace, &(struct eta_location){
						.id = trace->defs.n_locations,
						.name = name,
						.kind = ETA_LOCATION_DEVICE,
						.process = ETA_NONE,
						.dev = dev,
					});
}

void memory_event(struct eta_trace *trace, uint32_t location, struct eta_event event)
{
	struct list *list = list_of(trace, location);

	if (list->n == list->room) {
		list->room = list->room ? list->room * 2 : 64;
		list->events = checked(reallocarray(list->events, list->room, sizeof(event)));
	}
	if (list->n == 0 && trace->defs.locations[location].start_ns == 0)
		trace->defs.locations[location].start_ns = event.time_ns;
	list->events[list->n++] = event;
	trace->defs.locations[location].events = list->n;
}

void memory_enter(struct eta_trace *trace, uint32_t location, uint64_t time_ns, const char *region)
{
	memory_event(trace, location,
		     (struct eta_event){ .time_ns = time_ns,
					 .kind = ETA_ENTER,
					 .region = memory_region(trace, region) });
}

void memory_leave(struct eta_trace *trace, uint32_t location, uint64_t time_ns, const char *region)
{
	memory_event(trace, location,
		     (struct eta_event){ .time_ns = time_ns,
					 .kind = ETA_LEAVE,
					 .region = memory_region(trace, region) });
}

void memory_batch(struct eta_trace *trace, size_t events)
{
	((struct memory *)trace->data)->batch = events;
}

const struct eta_event *memory_events(const struct eta_trace *trace, uint32_t location, size_t *n)
{
	const struct list *list = list_of(trace, location);

	*n = list->n;
	return list->events;
}

/* Export: the json of Chrome's trace viewer, which Perfetto and Speedscope open too. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "src/common/machines.h"
#include "src/common/texts.h"

/* Numbers that no pid and no tid has (PID_MAX_LIMIT is 2^22): for what has none of its own. */
enum { OWN_NUMBERS = 1 << 22 };

struct chrome {
	struct export *e;
	char **regions, **paths; /* as json strings; of files */
	uint32_t *pids, *tids;	 /* of each location */
	uint32_t *devices;	 /* export_devices() */
	struct export_stack stack;
	uint32_t location;
	bool comma; /* an event stands before */
};

static char *json_text(const char *text)
{
	json_t *value = json_name(text);
	char *line = value ? json_line(value) : NULL;

	json_decref(value);
	return line;
}

static bool make_texts(struct chrome *c)
{
	const struct eta_defs *defs = c->e->defs;
	bool ok = c->regions && c->paths;

	for (uint32_t i = 0; ok && i < defs->n_regions; i++)
		ok = (c->regions[i] = json_text(defs->regions[i].name)) != NULL;
	for (uint32_t i = 0; ok && i < defs->n_files; i++)
		ok = (c->paths[i] = json_text(defs->files[i].path)) != NULL;
	return ok;
}

/*
 * The format knows processes and threads by number alone. A number that two of them have (hosts,
 * reused tids are one track) or none is replaced by one of our own.
 */
static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Pids that several processes have, ascending; NULL: no memory. */
static uint32_t *shared_pids(const struct eta_defs *defs, uint32_t *n)
{
	uint32_t *pids = calloc((size_t)defs->n_processes + 1, sizeof(*pids));

	*n = 0;
	for (uint32_t p = 0; pids && p < defs->n_processes; p++)
		pids[p] = defs->processes[p].pid;
	if (pids)
		qsort(pids, defs->n_processes, sizeof(*pids), by_number);
	for (uint32_t p = 1; pids && p < defs->n_processes; p++)
		if (pids[p] == pids[p - 1] && (*n == 0 || pids[*n - 1] != pids[p]))
			pids[(*n)++] = pids[p];
	return pids;
}

static int number_locations(struct chrome *c)
{
	const struct eta_defs *defs = c->e->defs;
	uint32_t n_shared, *shared = shared_pids(defs, &n_shared);

	if (!shared)
		return -ENOMEM;
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];
		uint32_t p = location->process, pid = p == ETA_NONE ? 0 : defs->processes[p].pid;
		uint32_t tid = location->tid;

		if (bsearch(&pid, shared, n_shared, sizeof(pid), by_number))
			pid = 0;
		c->pids[l] = pid	     ? pid
			     : p == ETA_NONE ? OWN_NUMBERS + defs->n_processes + l
					     : OWN_NUMBERS + p;
		/* what a thread's tracks do goes on while it does something else */
		c->tids[l] = tid && !location->track ? tid : OWN_NUMBERS + l;
	}
	free(shared);
	return 0;
}

/* Begins an event; what the caller adds ends with "}". */
static void begin(struct chrome *c, char phase, uint32_t location, uint64_t time_ns)
{
	uint64_t ns = time_ns - c->e->start_ns;

	fprintf(c->e->out,
		"%s{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03u",
		c->comma ? ",\n" : "\n", phase, c->pids[location], c->tids[location], ns / 1000,
		(unsigned)(ns % 1000));
	c->comma = true;
}

static int put_name(struct chrome *c, uint32_t location, const char *what, const char *name)
{
	char *text = json_text(name);

	if (!text)
		return -ENOMEM;
	begin(c, 'M', location, c->e->start_ns);
	fprintf(c->e->out, ",\"name\":\"%s\",\"args\":{\"name\":%s}}", what, text);
	free(text);
	return 0;
}

static int put_names(struct chrome *c)
{
	const struct eta_defs *defs = c->e->defs;
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];
		const char *host = export_host(c->e, location);
		char process[256], name[400];

		export_process_name(c->e, location->process, process, sizeof(process));
		if (location->process == ETA_NONE)
			snprintf(name, sizeof(name), "%.300s%s", location->name,
				 machine_suffix(defs, location_host(defs, l)).text);
		else
			snprintf(name, sizeof(name), "%s%s%s", process, *host ? " on " : "", host);
		rc = put_name(c, l, "process_name", name);
		if (rc == 0)
			rc = put_name(c, l, "thread_name", location->name);
	}
	return rc;
}

static void put_enter(struct chrome *c, const struct eta_event *event)
{
	const struct eta_region *region = &c->e->defs->regions[event->region];

	begin(c, 'B', c->location, event->time_ns);
	fprintf(c->e->out, ",\"name\":%s,\"cat\":\"%s\"}", c->regions[event->region],
		region->level == ETA_LEVEL_NONE ? "other" : eta_level_name(region->level));
}

/* What is known at the end; viewers add it to what the begin said. */
static void put_leave(struct chrome *c, const struct eta_event *event)
{
	const struct export_region *r = &c->stack.ended;
	FILE *out = c->e->out;
	const char *comma = "";

	begin(c, 'E', c->location, event->time_ns);
	fputs(",\"args\":{", out);
#define ARG(known, format, ...)                                                                    \
	if (known) {                                                                               \
		fprintf(out, "%s" format, comma, __VA_ARGS__);                                     \
		comma = ",";                                                                       \
	}
	ARG(r->facts.has & ETA_HAS_SIZE, "\"size\":%" PRIu64, r->facts.size);
	ARG(r->facts.has & ETA_HAS_OFFSET, "\"offset\":%" PRId64, r->facts.offset);
	ARG(r->has_ret, "\"ret\":%" PRId64, r->ret);
	ARG(r->facts.has & ETA_HAS_WHO, "\"who\":%" PRIu64, r->facts.who);
	ARG(r->truncated, "\"truncated\":%s", "true");
	ARG(*r->path && r->file != ETA_NONE, "\"path\":%s", c->paths[r->file]);
#undef ARG
	fputs("}}", out);
}

/* A block request: begins where a thread queued it, ends on the device; an asynchronous event. */
static void put_request(struct chrome *c, const struct eta_event *event)
{
	uint32_t device = event->handle == ETA_NONE ? ETA_NONE : c->devices[event->handle];

	begin(c, event->kind == ETA_IO_BEGIN ? 'b' : 'e', device == ETA_NONE ? c->location : device,
	      event->time_ns);
	fprintf(c->e->out,
		",\"id\":\"0x%" PRIx64 "\",\"cat\":\"block request\",\"name\":\"request\"",
		event->match);
	if (event->kind == ETA_IO_BEGIN)
		fprintf(c->e->out,
			",\"args\":{\"mode\":\"%s\",\"size\":%" PRIu64 ",\"by\":%" PRIu32 "}",
			export_mode(event), event->has & ETA_HAS_SIZE ? event->size : 0,
			c->tids[c->location]);
	putc('}', c->e->out);
}

static int chrome_event(void *arg, const struct eta_event *event)
{
	struct chrome *c = arg;
	int rc = export_stack_push(&c->stack, event);

	if (rc == 1)
		put_enter(c, event);
	else if (rc == 2)
		put_leave(c, event);
	else if ((event->kind == ETA_IO_BEGIN || event->kind == ETA_IO_COMPLETE) &&
		 event->has & ETA_EVENT_BLOCK_IO)
		put_request(c, event);
	return rc < 0 ? rc : 0;
}

static void chrome_free(struct chrome *c)
{
	for (uint32_t i = 0; c->regions && i < c->e->defs->n_regions; i++)
		free(c->regions[i]);
	for (uint32_t i = 0; c->paths && i < c->e->defs->n_files; i++)
		free(c->paths[i]);
	free(c->regions);
	free(c->paths);
	free(c->pids);
	free(c->tids);
	free(c->devices);
	export_stack_free(&c->stack);
}

static int chrome_run(struct export *e)
{
	const struct eta_defs *defs = e->defs;
	struct chrome c = { .e = e, .stack.e = e };
	int rc = -ENOMEM;

	c.regions = calloc((size_t)defs->n_regions + 1, sizeof(*c.regions));
	c.paths = calloc((size_t)defs->n_files + 1, sizeof(*c.paths));
	c.pids = calloc((size_t)defs->n_locations + 1, sizeof(*c.pids));
	c.tids = calloc((size_t)defs->n_locations + 1, sizeof(*c.tids));
	c.devices = export_devices(e);
	if (!c.pids || !c.tids || !c.devices || !make_texts(&c))
		goto out;
	rc = number_locations(&c);
	if (rc)
		goto out;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", e->out);
	rc = put_names(&c);
	for (; rc == 0 && c.location < defs->n_locations; c.location++) {
		export_stack_begin(&c.stack, c.location);
		rc = export_read(e, c.location, chrome_event, &c);
	}
	fputs("\n]}\n", e->out);
out:
	if (rc == -ENOMEM)
		eta_error("not enough memory for the names");
	chrome_free(&c);
	return rc;
}

const struct export_format export_chrome = {
	.name = "chrome",
	.suffix = ".json",
	.what = "json of Chrome's trace viewer, for Perfetto and Speedscope",
	.file = "json of sci-export",
	.begins = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[",
	.run = chrome_run,
};

/* Export: the json of Chrome's trace viewer, which Perfetto and Speedscope open too. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "dirty.h"
#include "links.h"
#include "numbers.h"
#include "score.h"
#include "src/common/machines.h"
#include "src/common/texts.h"

/*
 * Speedscope knows the B of an E by equal names and arguments, some of which are known at the end
 * alone: events wait until the outermost region has ended, or there are as many of them. What is
 * open then has only what was known when it began.
 */
enum { WAITING_EVENTS = 16384 };

struct waiting {
	uint64_t time_ns;
	bool begins;
	struct export_region region;
};

/* An open region: its B waits, or it has been written with what was known. */
struct opened {
	size_t waiting; /* WRITTEN */
	struct export_region said;
};
#define WRITTEN SIZE_MAX

struct chrome {
	struct export *e;
	char **regions, **paths; /* as json strings; of files */
	struct export_numbers numbers;
	struct links links;
	struct export_stack stack;
	struct waiting *waiting;
	size_t n_waiting;
	struct opened *opened;
	size_t opened_room;
	uint32_t location;
	uint64_t last_ns; /* of the B and E events of the location */
	uint64_t flows;
	unsigned same; /* how many of them before had that time */
	bool comma;    /* an event stands before */
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
 * Begins an event; what the caller adds ends with "}". Viewers sort by time: where several events
 * have the same, digits below the nanosecond (ORDER < 1000) keep their order.
 */
static void begin_in_order(struct chrome *c, char phase, uint32_t location, uint64_t time_ns,
			   unsigned order)
{
	uint64_t ns = time_ns - c->e->start_ns;

	fprintf(c->e->out,
		"%s{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03u",
		c->comma ? ",\n" : "\n", phase, c->numbers.pids[location],
		c->numbers.tids[location], ns / 1000, (unsigned)(ns % 1000));
	if (order)
		fprintf(c->e->out, "%03u", order);
	c->comma = true;
}

static void begin(struct chrome *c, char phase, uint32_t location, uint64_t time_ns)
{
	begin_in_order(c, phase, location, time_ns, 0);
}

static int put_name(struct chrome *c, uint32_t location, const char *what, const char *name)
{
	char *text = json_text(name);

	if (!text) {
		eta_error("not enough memory for the names");
		return -ENOMEM;
	}
	begin(c, 'M', location, c->e->start_ns);
	fprintf(c->e->out, ",\"name\":\"%s\",\"args\":{\"name\":%s}}", what, text);
	free(text);
	return 0;
}

static int put_process_name(struct chrome *c, uint32_t l)
{
	const struct eta_defs *defs = c->e->defs;
	const struct eta_location *location = &defs->locations[l];
	const char *host = export_host(c->e, location);
	char process[256], name[800];

	export_process_name(c->e, location->process, process, sizeof(process));
	if (location->process == ETA_NONE)
		snprintf(name, sizeof(name), "%.300s%s", location->name,
			 machine_suffix(defs, location_host(defs, l)).text);
	else
		snprintf(name, sizeof(name), "%s%s%s%s", process, *host ? " on " : "", host,
			 machine_place(&c->e->machines, eta_machine(defs, host)).text);
	return put_name(c, l, "process_name", name);
}

static int put_thread_name(struct chrome *c, uint32_t l)
{
	char name[256];

	export_thread_name(c->e, l, name, sizeof(name));
	return put_name(c, l, "thread_name", name);
}

/* This form has no machines; so that those of a tree stand behind what they run in. */
static int put_order(struct chrome *c)
{
	const struct eta_defs *defs = c->e->defs;
	uint32_t *machines = calloc((size_t)defs->n_processes + 1, sizeof(*machines));
	uint32_t *place = calloc((size_t)defs->n_processes + 1, sizeof(*place));
	uint32_t n = machines ? machine_order(&c->e->machines, machines) : 0;
	int rc = machines && place ? 0 : -ENOMEM;

	if (rc)
		eta_error("not enough memory for the names");
	for (uint32_t i = 0; rc == 0 && i < n; i++)
		place[machines[i]] = i;
	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		begin(c, 'M', l, c->e->start_ns);
		fprintf(c->e->out,
			",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
			place[location_machine(defs, l)]);
	}
	free(machines);
	free(place);
	return rc;
}

static int put_names(struct chrome *c)
{
	const struct eta_defs *defs = c->e->defs;
	bool *named = calloc((size_t)defs->n_processes + 1, sizeof(*named));
	int rc = named ? 0 : -ENOMEM;

	if (rc)
		eta_error("not enough memory for the names");
	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		uint32_t process = defs->locations[l].process;

		if (process == ETA_NONE || !named[process])
			rc = put_process_name(c, l);
		if (process != ETA_NONE)
			named[process] = true;
		if (rc == 0)
			rc = put_thread_name(c, l);
	}
	free(named);
	return rc || !c->e->machines.within ? rc : put_order(c);
}

static void put_arguments(const struct chrome *c, const struct export_region *r)
{
	FILE *out = c->e->out;
	const char *before = ",\"args\":{";

#define ARG(known, format, ...)                                                                    \
	if (known) {                                                                               \
		fprintf(out, "%s" format, before, __VA_ARGS__);                                    \
		before = ",";                                                                      \
	}
	ARG(r->facts.has & ETA_HAS_SIZE, "\"size\":%" PRIu64, r->facts.size);
	ARG(r->facts.has & ETA_HAS_OFFSET, "\"offset\":%" PRId64, r->facts.offset);
	ARG(r->has_ret, "\"ret\":%" PRId64, r->ret);
	ARG(r->facts.has & ETA_HAS_WHO, "\"who\":%" PRIu32, event_who(c->e->defs, &r->facts));
	ARG(r->truncated, "\"truncated\":%s", "true");
	ARG(*r->path && r->file != ETA_NONE, "\"path\":%s", c->paths[r->file]);
#undef ARG
	if (*before == ',' && before[1] == '\0')
		putc('}', out);
}

static void put_region(struct chrome *c, const struct waiting *w)
{
	const struct eta_region *region = &c->e->defs->regions[w->region.region];

	c->same = w->time_ns != c->last_ns ? 0 : c->same < 998 ? c->same + 1 : c->same;
	c->last_ns = w->time_ns;
	begin_in_order(c, w->begins ? 'B' : 'E', c->location, w->time_ns, c->same);
	fprintf(c->e->out, ",\"name\":%s", c->regions[w->region.region]);
	if (w->begins)
		fprintf(c->e->out, ",\"cat\":\"%s\"",
			region->level == ETA_LEVEL_NONE ? "other" : eta_level_name(region->level));
	put_arguments(c, &w->region);
	putc('}', c->e->out);
}

/* Writes what waits; the regions that are open now end as they have begun. */
static void put_waiting(struct chrome *c)
{
	for (size_t d = 0; d < c->stack.depth; d++) {
		struct opened *opened = &c->opened[d];

		if (opened->waiting == WRITTEN)
			continue;
		opened->said = c->stack.open[d];
		c->waiting[opened->waiting].region = opened->said;
		opened->waiting = WRITTEN;
	}
	for (size_t i = 0; i < c->n_waiting; i++)
		put_region(c, &c->waiting[i]);
	c->n_waiting = 0;
}

static int wait_with(struct chrome *c, const struct eta_event *event)
{
	size_t depth = c->stack.depth; /* of the region that began or ended, from 0 */
	struct waiting *w = &c->waiting[c->n_waiting];
	struct opened *opened;

	w->time_ns = event->time_ns;
	w->begins = event->kind == ETA_ENTER;
	if (w->begins) {
		depth--;
		if (!ARRAY_FITS(c->opened, depth + 1, c->opened_room)) {
			eta_error("not enough memory for %zu regions inside each other", depth + 1);
			return -ENOMEM;
		}
		c->opened[depth].waiting = c->n_waiting;
	} else {
		opened = &c->opened[depth];
		if (opened->waiting == WRITTEN) {
			w->region = opened->said;
		} else {
			w->region = c->stack.ended;
			c->waiting[opened->waiting].region = c->stack.ended;
		}
	}
	if (++c->n_waiting == WAITING_EVENTS || (!w->begins && depth == 0))
		put_waiting(c);
	return 0;
}

/* A block request: begins where a thread queued it, ends on the device; an asynchronous event. */
static void put_request(struct chrome *c, const struct eta_event *event)
{
	uint32_t device = event->handle == ETA_NONE ? ETA_NONE : c->links.devices[event->handle];

	begin(c, event->kind == ETA_IO_BEGIN ? 'b' : 'e', device == ETA_NONE ? c->location : device,
	      event->time_ns);
	fprintf(c->e->out,
		",\"id\":\"0x%" PRIx64 "\",\"cat\":\"block request\",\"name\":\"request\"",
		event->match);
	if (event->kind == ETA_IO_BEGIN)
		fprintf(c->e->out,
			",\"args\":{\"mode\":\"%s\",\"size\":%" PRIu64 ",\"tid\":%" PRIu32 "}",
			export_mode(event), event->has & ETA_HAS_SIZE ? event->size : 0,
			c->numbers.tids[c->location]);
	putc('}', c->e->out);
}

static int chrome_event(void *arg, const struct eta_event *event)
{
	struct chrome *c = arg;
	int rc = links_event(&c->links, event);

	if (rc)
		return rc;
	rc = export_stack_push(&c->stack, event);
	if (rc > 0)
		rc = wait_with(c, event);
	else if ((event->kind == ETA_IO_BEGIN || event->kind == ETA_IO_COMPLETE) &&
		 event->has & ETA_EVENT_BLOCK_IO)
		put_request(c, event);
	return rc;
}

/*
 * An arrow from the region that the holder is in to the wait, which is the last one to have begun
 * at that time. Without the former viewers do not draw it.
 */
static void put_flow(void *arg, uint32_t holder, uint32_t location, uint64_t time_ns, bool busy)
{
	struct chrome *c = arg;

	if (!busy)
		return;
	c->flows++;
	for (int end = 0; end < 2; end++) {
		begin_in_order(c, end ? 'f' : 's', end ? location : holder, time_ns, 999);
		fprintf(c->e->out,
			",\"id\":\"0x%" PRIx64 "\",\"cat\":\"wait\",\"name\":\"waits\"%s}",
			c->flows, end ? ",\"bp\":\"e\"" : "");
	}
}

static int put_in_flight(void *arg, uint32_t device, uint64_t time_ns, uint32_t n)
{
	struct chrome *c = arg;

	begin(c, 'C', device, time_ns);
	fprintf(c->e->out, ",\"name\":\"requests in flight\",\"args\":{\"requests\":%" PRIu32 "}}",
		n);
	return 0;
}

/* Of all threads: with the first of them. */
static int put_score(void *arg, uint64_t time_ns, unsigned percent)
{
	struct chrome *c = arg;

	begin(c, 'C', 0, time_ns);
	fprintf(c->e->out, ",\"name\":\"" SCORE_NAME "\",\"args\":{\"" SCORE_UNIT "\":%u}}",
		percent);
	return 0;
}

static int put_dirty(void *arg, uint32_t location, uint64_t time_ns, uint64_t bytes)
{
	struct chrome *c = arg;

	begin(c, 'C', location, time_ns);
	fprintf(c->e->out,
		",\"name\":\"" DIRTY_NAME "\",\"args\":{\"" DIRTY_UNIT "\":%" PRIu64 "}}", bytes);
	return 0;
}

static void chrome_free(struct chrome *c)
{
	for (uint32_t i = 0; c->regions && i < c->e->defs->n_regions; i++)
		free(c->regions[i]);
	for (uint32_t i = 0; c->paths && i < c->e->defs->n_files; i++)
		free(c->paths[i]);
	free(c->regions);
	free(c->paths);
	free(c->waiting);
	free(c->opened);
	export_numbers_free(&c->numbers);
	links_close(&c->links);
	export_stack_free(&c->stack);
}

static int put_location(struct chrome *c)
{
	int rc, ended;

	export_stack_begin(&c->stack, c->location);
	c->last_ns = 0;
	c->same = 0;
	links_begin(&c->links, c->location);
	rc = export_read(c->e, c->location, chrome_event, c);
	put_waiting(c);
	ended = links_end(&c->links);
	return rc ? rc : ended;
}

static int chrome_run(struct export *e)
{
	static const struct links_form form = { .wait = put_flow, .in_flight = put_in_flight };
	const struct eta_defs *defs = e->defs;
	struct chrome c = { .e = e, .stack.e = e };
	int rc = links_open(&c.links, e, &form, &c);

	if (rc == 0)
		rc = export_numbers_new(defs, &c.numbers);
	c.regions = calloc((size_t)defs->n_regions + 1, sizeof(*c.regions));
	c.paths = calloc((size_t)defs->n_files + 1, sizeof(*c.paths));
	c.waiting = malloc(WAITING_EVENTS * sizeof(*c.waiting));
	if (rc == 0 && (!c.waiting || !make_texts(&c))) {
		eta_error("not enough memory for the names");
		rc = -ENOMEM;
	}
	if (rc == 0) {
		fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", e->out);
		rc = put_names(&c);
	}
	if (rc == 0)
		rc = export_score(e, put_score, &c);
	if (rc == 0)
		rc = export_dirty(e, put_dirty, &c);
	for (; rc == 0 && c.location < defs->n_locations; c.location++)
		rc = put_location(&c);
	if (rc == 0)
		rc = links_read(&c.links);
	fputs("\n]}\n", e->out);
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

/* Source: Paje traces: states of containers, as regions of locations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "log.h"
#include "log-defs.h"
#include "log-events.h"
#include "log-text.h"

/*
 * A Paje file defines its own lines: "%EventDef NAME NUMBER", "% FIELD TYPE"..., "%EndEventDef".
 * A line is NUMBER and then its fields, quoted where they hold blanks.
 */

/* X(NAME): lines that mean something to us; all others are passed over. */
#define LINES(X)                                                                                   \
	X(PajeCreateContainer)                                                                     \
	X(PajeDefineEntityValue)                                                                   \
	X(PajeSetState)                                                                            \
	X(PajePushState)                                                                           \
	X(PajePopState)                                                                            \
	X(PajeResetState)                                                                          \
	X(PajeDestroyContainer)

enum paje_line {
#define X(name) LINE_##name,
	LINES(X)
#undef X
		LINE_OTHER,
};

/* X(ID, name in the header, another) */
#define FIELDS(X)                                                                                  \
	X(TIME, "Time", "Date")                                                                    \
	X(NAME, "Name", "Name")                                                                    \
	X(ALIAS, "Alias", "NewName")                                                               \
	X(CONTAINER, "Container", "Container")                                                     \
	X(VALUE, "Value", "Value")

enum paje_field {
#define X(id, name, other) FIELD_##id,
	FIELDS(X)
#undef X
		N_FIELDS,
};

enum { FIELDS_MAX = 32, EVENTS_MAX = 4096 };

struct paje_event {
	bool defined;
	enum paje_line line;
	int8_t at[N_FIELDS]; /* which field of the line, -1: none */
	uint8_t n_fields;
};

/* A container that has states becomes a location. */
struct container {
	const char *name;
	uint32_t parent; /* ETA_NONE */
	uint32_t location;
	uint32_t *stack; /* regions that are open */
	uint32_t depth, room;
};

struct paje {
	struct paje_event *events; /* by number */
	struct paje_event *defining;
	struct container *containers;
	uint32_t n_containers, room;
};

static bool paje_line(char *line)
{
	return strncmp(line, "%EventDef", 9) == 0;
}

static bool paje_probe(const char *path, bool directory, const unsigned char *head,
		       size_t head_bytes)
{
	(void)path;
	return !directory && log_probe_lines(head, head_bytes, 20, paje_line);
}

/* ---- the header ---- */

static int define(struct log *log, struct paje *p, char *line)
{
	static const char *const lines[] = {
#define X(name) #name,
		LINES(X)
#undef X
	};
	static const char *const names[][2] = {
#define X(id, name, other) { name, other },
		FIELDS(X)
#undef X
	};
	char *f[4];
	uint32_t number;
	size_t n = log_split(line + 1, ' ', f, 4);

	if (n == 0)
		return log_pass(log);
	if (strcmp(f[0], "EventDef") == 0) {
		if (n < 3 || !log_u32(f[2], &number) || number >= EVENTS_MAX)
			return log_bad(log, "%%EventDef without a name and a number below %d",
				       EVENTS_MAX);
		p->defining = &p->events[number];
		*p->defining = (struct paje_event){ .defined = true, .line = LINE_OTHER };
		memset(p->defining->at, -1, sizeof(p->defining->at));
		for (int i = 0; i < LINE_OTHER; i++)
			if (strcmp(f[1], lines[i]) == 0)
				p->defining->line = (enum paje_line)i;
	} else if (strcmp(f[0], "EndEventDef") == 0) {
		p->defining = NULL;
	} else if (!p->defining) {
		return log_bad(log, "a field outside of %%EventDef");
	} else if (p->defining->n_fields >= FIELDS_MAX) {
		return log_bad(log, "more than %d fields", FIELDS_MAX);
	} else {
		for (int i = 0; i < N_FIELDS; i++)
			if (strcmp(f[0], names[i][0]) == 0 || strcmp(f[0], names[i][1]) == 0)
				p->defining->at[i] = (int8_t)p->defining->n_fields;
		p->defining->n_fields++;
	}
	return log_pass(log);
}

/* ---- containers ---- */

static uint32_t add_container(struct log *log, struct paje *p, const char *name, uint32_t parent)
{
	struct container *c;

	if (!ARRAY_FITS(p->containers, p->n_containers + 1, p->room))
		return ETA_NONE;
	c = &p->containers[p->n_containers];
	*c = (struct container){ .name = eta_trace_string(log->trace, name),
				 .parent = parent,
				 .location = ETA_NONE };
	return c->name ? p->n_containers++ : ETA_NONE;
}

/* The container of this name or alias, made when no line created it; ETA_NONE: no memory. */
static uint32_t container_of(struct log *log, struct paje *p, const char *name)
{
	uint32_t index = log_known(log, 'C', name, strlen(name));

	if (index != ETA_NONE)
		return index;
	index = add_container(log, p, name, ETA_NONE);
	return index != ETA_NONE && log_remember(log, 'C', name, strlen(name), index) ? index
										      : ETA_NONE;
}

/* The number behind WHAT in a name, as sci-export has them: "app pid 41", "app tid 42"; else 0. */
static uint32_t number_in(const char *name, const char *what)
{
	const char *at = NULL, *next = strstr(name, what);
	uint32_t number;

	for (; next; next = strstr(next + 1, what)) /* it may be in the name proper, too */
		at = next;
	return at && log_u32(at + strlen(what), &number) ? number : 0;
}

static int need_location(struct log *log, struct paje *p, struct container *c)
{
	const char *parent = c->parent == ETA_NONE ? c->name : p->containers[c->parent].name;
	struct eta_location *location;

	if (c->location != ETA_NONE)
		return 0;
	c->location = log_named_thread(log, parent, "", c->name);
	if (c->location == ETA_NONE)
		return -ENOMEM;
	location = &log->trace->defs.locations[c->location];
	location->tid = number_in(c->name, "tid ");
	log->trace->defs.processes[location->process].pid = number_in(parent, "pid ");
	return 0;
}

/* ---- states ---- */

static int give(struct log *log, const struct container *c, enum eta_kind kind, uint32_t region,
		uint64_t time_ns)
{
	const struct eta_event event = { .time_ns = time_ns, .kind = kind, .region = region };

	return log_event(log, c->location, &event);
}

static int pop(struct log *log, struct container *c, uint64_t time_ns)
{
	if (c->depth == 0) {
		log->trace->counts.orphan++;
		return 0;
	}
	c->depth--;
	return give(log, c, ETA_LEAVE, c->stack[c->depth], time_ns);
}

static int push(struct log *log, struct container *c, const char *value, uint64_t time_ns)
{
	uint32_t named = log_known(log, 'V', value, strlen(value)), region;
	const char *name = named == ETA_NONE ? value : log->names[named];

	if (!ARRAY_FITS(c->stack, c->depth + 1, c->room))
		return log_no_memory(log, "its containers");
	region = log_region(log, name);
	if (region == ETA_NONE)
		return -ENOMEM;
	c->stack[c->depth++] = region;
	return give(log, c, ETA_ENTER, region, time_ns);
}

/* Fields of LINE, in place; quotes go. */
static size_t fields(char *line, char **f)
{
	size_t n = 0;

	while (n < FIELDS_MAX + 1) {
		line += strspn(line, " \t");
		if (!*line)
			break;
		if (*line == '"') {
			f[n++] = ++line;
			line += strcspn(line, "\"");
		} else {
			f[n++] = line;
			line += strcspn(line, " \t");
		}
		if (!*line)
			break;
		*line++ = '\0';
	}
	return n;
}

static int state(struct log *log, struct paje *p, const struct paje_event *event, char **f)
{
	const char *time = event->at[FIELD_TIME] < 0 ? "" : f[event->at[FIELD_TIME]];
	const char *value = event->at[FIELD_VALUE] < 0 ? NULL : f[event->at[FIELD_VALUE]];
	uint64_t time_ns;
	uint32_t index;
	struct container *c;
	int rc;

	if (!log_time(time, &time_ns))
		return log_bad(log, "\"%.40s\" is no time in seconds", time);
	if (event->at[FIELD_CONTAINER] < 0)
		return log_bad(log, "a state of no container");
	index = container_of(log, p, f[event->at[FIELD_CONTAINER]]);
	if (index == ETA_NONE)
		return log_no_memory(log, "its containers");
	c = &p->containers[index];
	rc = need_location(log, p, c);
	if (rc)
		return rc;
	switch (event->line) {
	case LINE_PajePopState:
		return pop(log, c, time_ns);
	case LINE_PajeResetState:
	case LINE_PajeSetState:
		while (rc == 0 && c->depth > 0)
			rc = pop(log, c, time_ns);
		if (rc || event->line == LINE_PajeResetState)
			return rc;
		break;
	default:
		break;
	}
	return value ? push(log, c, value, time_ns) : log_bad(log, "a state without a value");
}

/* Nothing goes on in a container that is gone. */
static int destroy(struct log *log, struct paje *p, const struct paje_event *event, char **f)
{
	const char *name = event->at[FIELD_NAME] < 0 ? "" : f[event->at[FIELD_NAME]];
	uint32_t index = log_known(log, 'C', name, strlen(name));
	uint64_t time_ns;
	int rc = 0;

	if (event->at[FIELD_TIME] < 0 || !log_time(f[event->at[FIELD_TIME]], &time_ns))
		return log_bad(log, "a container that ends at no time");
	while (rc == 0 && index != ETA_NONE && p->containers[index].depth > 0)
		rc = pop(log, &p->containers[index], time_ns);
	return rc ? rc : log_pass(log);
}

/* Definitions give a name and, mostly, an alias by which later lines mean it. */
static int definition(struct log *log, struct paje *p, const struct paje_event *event, char **f)
{
	const char *name = event->at[FIELD_NAME] < 0 ? "" : f[event->at[FIELD_NAME]];
	const char *alias = event->at[FIELD_ALIAS] < 0 ? name : f[event->at[FIELD_ALIAS]];
	const char *parent = event->at[FIELD_CONTAINER] < 0 ? "0" : f[event->at[FIELD_CONTAINER]];
	uint32_t index;
	int rc = 0;

	if (event->line == LINE_PajeDefineEntityValue) {
		rc = log_alias(log, 'V', alias, name);
	} else {
		index = add_container(log, p, name, log_known(log, 'C', parent, strlen(parent)));
		if (index == ETA_NONE)
			return log_no_memory(log, "its containers");
		if (!log_remember(log, 'C', alias, strlen(alias), index) ||
		    (strcmp(alias, name) != 0 &&
		     log_known(log, 'C', name, strlen(name)) == ETA_NONE &&
		     !log_remember(log, 'C', name, strlen(name), index)))
			rc = -ENOMEM;
	}
	return rc ? rc : log_pass(log);
}

static int parse(struct log *log, void *arg, char *line)
{
	struct paje *p = arg;
	const struct paje_event *event;
	char *f[FIELDS_MAX + 1];
	uint32_t number;
	size_t n;

	line = log_trim(line);
	if (*line == '%')
		return define(log, p, line);
	if (*line == '#')
		return log_pass(log);
	n = fields(line, f);
	if (n == 0 || !log_u32(f[0], &number) || number >= EVENTS_MAX || !p->events[number].defined)
		return log_bad(log, "\"%.40s\" is the number of no %%EventDef", n ? f[0] : "");
	event = &p->events[number];
	if (n - 1 < event->n_fields)
		return log_bad(log, "%zu fields, its %%EventDef has %u", n - 1, event->n_fields);
	switch (event->line) {
	case LINE_PajeCreateContainer:
	case LINE_PajeDefineEntityValue:
		return definition(log, p, event, f + 1);
	case LINE_PajeDestroyContainer:
		return destroy(log, p, event, f + 1);
	case LINE_OTHER:
		return log_pass(log);
	default:
		return state(log, p, event, f + 1);
	}
}

static int paje_open(struct eta_trace *trace)
{
	struct paje p = { .events = calloc(EVENTS_MAX, sizeof(*p.events)) };
	int rc;

	if (!p.events) {
		eta_error("%s: not enough memory to read it", trace->path);
		return -ENOMEM;
	}
	rc = log_read_lines(trace, parse, &p, "relative");
	for (uint32_t i = 0; i < p.n_containers; i++)
		free(p.containers[i].stack);
	free(p.containers);
	free(p.events);
	return rc;
}

LOG_SOURCE(paje, "Paje trace");

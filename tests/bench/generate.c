/* bench-generate: an OTF2 archive of made-up nested I/O of any length, to measure readers with. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/trace/source.h"
#include "src/cli.h"
#include "src/options.h"

enum part { PART_USER = 1, PART_KERNEL = 2, PART_ALL = 3 };

struct settings {
	uint64_t events, threads, writers;
	enum part part;
	bool attributes;
	const char *output, *host;
};

enum region { WRITE, SYS_WRITE, FILE_WRITE_ITER, PERFORM_WRITE, N_REGIONS };

static const char *const region_names[] = { "write", "vfs:sys_write", "fs:ext4_file_write_iter",
					    "pagecache:generic_perform_write" };

enum {
	BATCH = 1024,
	OPERATION_EVENTS = 2 * N_REGIONS, /* where no block request is among them */
	BIO_EVERY = 16,			  /* operations */
	DEV = 8 << 20,
	BLOCK_BYTES = 4096,
};

struct generator {
	struct eta_cursor cursor;
	const struct settings *settings;
	uint64_t operations; /* still to come */
	uint64_t number;     /* of the operation */
	uint64_t time_ns, random;
	struct eta_event batch[BATCH + OPERATION_EVENTS + 4];
	size_t n;
};

/* xorshift64: the same archive on every machine. */
static uint64_t draw(struct generator *g, uint64_t below)
{
	g->random ^= g->random << 13;
	g->random ^= g->random >> 7;
	g->random ^= g->random << 17;
	return g->random % below;
}

static struct eta_event *add(struct generator *g, enum eta_kind kind, uint32_t which, uint64_t step)
{
	struct eta_event *event = &g->batch[g->n++];

	g->time_ns += step;
	memset(event, 0, sizeof(*event));
	event->time_ns = g->time_ns;
	event->kind = (uint8_t)kind;
	event->region = which;
	return event;
}

static void enter(struct generator *g, uint32_t region)
{
	struct eta_event *event = add(g, ETA_ENTER, region, 50 + draw(g, 100));

	if (!g->settings->attributes || region > SYS_WRITE)
		return;
	event->has = ETA_HAS_SIZE | ETA_HAS_OFFSET | ETA_HAS_FILE;
	event->size = BLOCK_BYTES;
	event->offset = (int64_t)(g->number * BLOCK_BYTES);
	event->dev = DEV;
	event->inode = 1000 + g->cursor.location;
}

static void leave(struct generator *g, uint32_t region, uint64_t step)
{
	struct eta_event *event = add(g, ETA_LEAVE, region, step);

	if (!g->settings->attributes || region > SYS_WRITE)
		return;
	event->has = ETA_HAS_RET;
	event->ret = g->number % 64 ? BLOCK_BYTES : BLOCK_BYTES / 2;
}

static void bio(struct generator *g)
{
	uint64_t match = (uint64_t)g->cursor.location << 40 | g->number;
	struct eta_event *event = add(g, ETA_IO_BEGIN, 0, 100);

	event->mode = ETA_IO_WRITE;
	event->has = ETA_EVENT_BLOCK_IO | ETA_HAS_SIZE | ETA_HAS_END;
	event->size = BLOCK_BYTES;
	event->end_ns = event->time_ns + 20000;
	event->match = match;
	event = add(g, ETA_IO_ISSUED, 0, 100);
	event->has = ETA_EVENT_BLOCK_IO;
	event->match = match;
}

static void operation(struct generator *g)
{
	size_t before = g->n, kept = before;
	uint64_t work = 300 + draw(g, 500) + (draw(g, 64) == 0 ? draw(g, 200000) : 0);

	for (uint32_t region = 0; region < N_REGIONS; region++)
		enter(g, region);
	if (g->number % BIO_EVERY == 0)
		bio(g);
	for (uint32_t region = N_REGIONS; region-- > 0;)
		leave(g, region, region == N_REGIONS - 1 ? work : 50 + draw(g, 50));
	g->time_ns += 200 + draw(g, 1000);
	g->number++;
	/* Made whole and then cut, so that both parts have the times of the whole. */
	for (size_t i = before; i < g->n; i++) {
		const struct eta_event *event = &g->batch[i];
		bool user = event->kind <= ETA_LEAVE && event->region == WRITE;

		if (g->settings->part & (user ? PART_USER : PART_KERNEL))
			g->batch[kept++] = *event;
	}
	g->n = kept;
}

static int generator_open(struct eta_trace *trace, uint32_t location, struct eta_cursor **out)
{
	const struct settings *settings = trace->data;
	struct generator *g = calloc(1, sizeof(*g));
	uint64_t per_thread = settings->events / settings->threads;

	if (!g)
		return -ENOMEM;
	g->settings = settings;
	g->operations = per_thread / OPERATION_EVENTS;
	g->time_ns = 1000000000000 + location * 10000;
	g->random = 88172645463325252ull + location;
	*out = &g->cursor;
	return 0;
}

static ssize_t generator_read(struct eta_cursor *cursor, const struct eta_event **batch)
{
	struct generator *g = (struct generator *)cursor;

	for (g->n = 0; g->n < BATCH && g->operations > 0; g->operations--)
		operation(g);
	*batch = g->batch;
	return (ssize_t)g->n;
}

static void generator_close(struct eta_cursor *cursor)
{
	free(cursor);
}

static const struct eta_source_ops generator_ops = {
	.name = "generator",
	.cursor_open = generator_open,
	.cursor_read = generator_read,
	.cursor_close = generator_close,
};

static bool define(struct eta_trace *trace, const struct settings *settings)
{
	const struct eta_process process = {
		.name = "made-up", .host = settings->host, .boot = settings->host, .pid = 100
	};
	const struct eta_handle device = {
		.name = "sda", .file = ETA_NONE, .device = DEV, .host = settings->host
	};
	char name[64];
	bool ok = eta_defs_process(trace, &process) != ETA_NONE &&
		  eta_defs_handle(trace, &device) != ETA_NONE;

	for (int i = 0; ok && i < N_REGIONS; i++)
		ok = eta_defs_region(trace, region_names[i],
				     i == WRITE ? ETA_LEVEL_USER : ETA_LEVEL_NONE, "") != ETA_NONE;
	for (uint32_t i = 0; ok && i < settings->threads; i++) {
		struct eta_location thread = { .id = i,
					       .name = name,
					       .kind = ETA_LOCATION_THREAD,
					       .tid = 100 + i,
					       .start_ns = 1000000000000 };

		snprintf(name, sizeof(name), "made-up tid %u", 100 + i);
		ok = eta_defs_location(trace, &thread) != ETA_NONE;
	}
	return ok && eta_defs_property(trace, "SCI::CLOCK", "monotonic") != ETA_NONE;
}

static void set_part(const struct option_given *given)
{
	struct settings *settings = given->options;

	settings->part = strcmp(given->arg, "user") == 0     ? PART_USER
			 : strcmp(given->arg, "kernel") == 0 ? PART_KERNEL
							     : PART_ALL;
}

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", "archive to write, X.otf2", SETS_TEXT(struct settings, output) },
	{ "events", 'n', "EVENTS", "about how many, both parts together (default 1000000)",
	  SETS_NUMBER(struct settings, events, 1, UINT64_MAX) },
	{ "threads", 't', "THREADS", "traced threads (default 32)",
	  SETS_NUMBER(struct settings, threads, 1, 1000000) },
	{ "part", 'p', "PART", "user, kernel or all (default)", CALLS(set_part) },
	{ "host", 'H', "NAME", "its machine (default here)", SETS_TEXT(struct settings, host) },
	{ "attributes", 'a', NULL, "size, offset, inode, dev and ret",
	  SETS_FLAG(struct settings, attributes) },
	{ "writers", 'w', "THREADS", "threads that write (default: CPUs)",
	  SETS_NUMBER(struct settings, writers, 1, 1000) },
	{ 0 },
};

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	const struct settings *settings = state->input;

	(void)arg;
	if (key == ARGP_KEY_END && !settings->output)
		argp_error(state, "no --output given");
	return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
	static const struct command_line command_line = { rows, NULL,
							  "Write an archive of made-up nested I/O.",
							  parse_words };
	struct settings settings = {
		.events = 1000000, .threads = 32, .part = PART_ALL, .host = "here"
	};
	struct eta_write_options write_options = { 0 };
	struct eta_counts counts;
	struct eta_trace *trace;
	int rc = -ENOMEM;

	options_parse(&command_line, argc, argv, &settings);
	write_options.threads = (unsigned)settings.writers;
	trace = eta_trace_new(&generator_ops, "generator", NULL);
	if (trace) {
		trace->data = &settings;
		if (define(trace, &settings))
			rc = eta_write_otf2(trace, settings.output, &write_options, &counts);
	}
	eta_close(trace);
	if (rc == 0)
		printf("%llu events\n", (unsigned long long)counts.events);
	return rc == 0 ? CLI_OK : CLI_FAILED;
}

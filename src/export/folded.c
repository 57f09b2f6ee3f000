/* Export: folded stacks, a line per path of regions with its own time, for flame graphs. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "eta-ext/base/printable.h"
#include "export.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* A path of regions: the one around it, and the innermost. Compared as bytes: no padding. */
struct node_key {
	const struct node *parent; /* NULL: outermost */
	uint64_t region;
};

struct node {
	struct node_key key;
	uint64_t own_ns;
	struct node *next; /* in the order of their first ENTER */
	UT_hash_handle hh;
};

/* One location at a time, so the memory is that of its different paths. */
struct folded {
	struct export *e;
	struct node *table, *first, **last;
	struct node **open; /* the path now */
	size_t depth, room;
	uint64_t last_ns;
};

/* The node of REGION inside of PARENT, made when it is new; NULL: no memory. */
static struct node *node_of(struct folded *f, const struct node *parent, uint32_t region)
{
	const struct node_key key = { parent, region };
	struct node *node;

	HASH_FIND(hh, f->table, &key, sizeof(key), node);
	if (node)
		return node;
	node = calloc(1, sizeof(*node));
	if (!node)
		return NULL;
	node->key = key;
	HASH_ADD(hh, f->table, key, sizeof(node->key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	*f->last = node;
	f->last = &node->next;
	return node;
}

static int enter(struct folded *f, uint32_t region)
{
	struct node *node;

	if (!ARRAY_FITS(f->open, f->depth + 1, f->room))
		return -ENOMEM;
	node = node_of(f, f->depth ? f->open[f->depth - 1] : NULL, region);
	if (!node)
		return -ENOMEM;
	f->open[f->depth++] = node;
	return 0;
}

static int folded_event(void *arg, const struct eta_event *event)
{
	struct folded *f = arg;
	int rc = 0;

	if (f->depth)
		f->open[f->depth - 1]->own_ns += event->time_ns - f->last_ns;
	f->last_ns = event->time_ns;
	if (event->kind == ETA_ENTER)
		rc = enter(f, event->region);
	else if (event->kind == ETA_LEAVE && f->depth)
		f->depth--;
	if (rc)
		eta_error("not enough memory for the paths of a thread");
	return rc;
}

/* A frame may have blanks, but ';' parts frames. */
static void put_frame(FILE *out, const char *name)
{
	char step[PRINTABLE_STEP];

	while (*name) {
		name += printable_step(name, PRINTABLE_BYTES, step);
		fputs(*step == ';' ? ":" : step, out);
	}
}

static void put_path(FILE *out, const struct export *e, const struct node *node)
{
	if (node->key.parent)
		put_path(out, e, node->key.parent);
	putc(';', out);
	put_frame(out, e->defs->regions[node->key.region].name);
}

/* The machine of HOST, below those that it runs in. */
static void put_machine(const struct export *e, const char *host)
{
	uint32_t within = machine_within(&e->machines, eta_machine(e->defs, host));
	char name[256];

	if (*host && within != ETA_NONE) {
		put_machine(e, e->defs->processes[within].host);
		export_process_name(e, within, name, sizeof(name));
		put_frame(e->out, name);
		putc(';', e->out);
	}
	if (*host) {
		put_frame(e->out, host);
		putc(';', e->out);
	}
}

static void put_location(const struct folded *f, uint32_t l)
{
	const struct export *e = f->e;
	const struct eta_location *location = &e->defs->locations[l];
	char process[256], thread[256];

	export_process_name(e, location->process, process, sizeof(process));
	export_thread_name(e, l, thread, sizeof(thread));
	for (const struct node *node = f->first; node; node = node->next) {
		if (!node->own_ns)
			continue;
		put_machine(e, export_host(e, location));
		put_frame(e->out, process);
		putc(';', e->out);
		put_frame(e->out, thread);
		put_path(e->out, e, node);
		fprintf(e->out, " %" PRIu64 "\n", node->own_ns);
	}
}

static int folded_run(struct export *e)
{
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < e->defs->n_locations; l++) {
		struct folded f = { .e = e, .last = &f.first };
		struct node *next;

		rc = export_read(e, l, folded_event, &f);
		if (rc == 0)
			put_location(&f, l);
		HASH_CLEAR(hh, f.table);
		for (struct node *node = f.first; node; node = next) {
			next = node->next;
			free(node);
		}
		free(f.open);
	}
	return rc;
}

const struct export_format export_folded = {
	.name = "folded",
	.suffix = ".folded",
	.what = "paths of regions with their own nanoseconds, for flame graphs",
	.file = "folded stacks of sci-export",
	.run = folded_run,
};

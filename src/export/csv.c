/* Export: comma-separated values, a row per region when it ends and per block request. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "src/common/texts.h"
#include "src/common/machines.h"

struct csv {
	struct export *e;
	const struct eta_location *location;
	struct export_stack stack;
	char *who; /* host,pid,tid,thread: the same in each row of a location */
	/* of a trace with virtual machines: that of the location, and of the last `who` */
	char vm[128], who_vm[128];
	uint32_t who_location;
};

static int make_who(struct csv *csv)
{
	size_t bytes;
	FILE *out = open_memstream(&csv->who, &bytes);
	const struct eta_location *l = csv->location;

	if (!out)
		return -ENOMEM;
	csv_put(out, export_host(csv->e, l));
	if (l->process != ETA_NONE && csv->e->defs->processes[l->process].pid)
		fprintf(out, ",%" PRIu32, csv->e->defs->processes[l->process].pid);
	else
		putc(',', out);
	if (l->tid)
		fprintf(out, ",%" PRIu32 ",", l->tid);
	else
		fputs(",,", out);
	csv_put(out, l->name);
	return fclose(out) == 0 && csv->who ? 0 : -ENOMEM;
}

/*
 * The last cells of a row, of a trace with virtual machines: whose it is, and the machine of `who`
 * where that is another. WHO: its location, ETA_NONE where it is of the same machine; FOR_GUEST:
 * what the row is of is WHO's doing.
 */
static void put_vm(struct csv *csv, uint32_t who, bool for_guest)
{
	const struct export *e = csv->e;
	FILE *out = e->out;

	if (!e->machines.has_vms)
		return;
	if (for_guest && who != csv->who_location) {
		export_vm_name(e, who, csv->who_vm, sizeof(csv->who_vm));
		csv->who_location = who;
	}
	putc(',', out);
	csv_put(out, for_guest ? csv->who_vm : csv->vm);
	putc(',', out);
	if (who != ETA_NONE)
		csv_put(out, location_host(e->defs, who));
}

static void put_facts(FILE *out, const struct eta_event *facts)
{
	if (facts->has & ETA_HAS_SIZE)
		fprintf(out, "%" PRIu64, facts->size);
	putc(',', out);
	if (facts->has & ETA_HAS_OFFSET)
		fprintf(out, "%" PRId64, facts->offset);
	putc(',', out);
	if (facts->has & ETA_HAS_FILE)
		fprintf(out, "%u:%u,%" PRIu64 ",", facts->dev >> 20, facts->dev & 0xfffff,
			facts->inode);
	else
		fputs(",,", out);
}

static void put_region(struct csv *csv, uint64_t end_ns)
{
	const struct export_region *r = &csv->stack.ended;
	const struct eta_region *region = &csv->e->defs->regions[r->region];
	FILE *out = csv->e->out;

	fprintf(out, "%s,%s,", csv->who,
		region->level == ETA_LEVEL_NONE ? "" : eta_level_name(region->level));
	csv_put(out, region->name);
	fprintf(out, ",%zu,%" PRIu64 ",%" PRIu64 ",", csv->stack.depth, r->begin_ns, end_ns);
	put_facts(out, &r->facts);
	csv_put(out, r->path);
	putc(',', out);
	if (r->has_ret)
		fprintf(out, "%" PRId64, r->ret);
	putc(',', out);
	if (r->facts.has & ETA_HAS_WHO)
		fprintf(out, "%" PRIu32, event_who(csv->e->defs, &r->facts));
	fprintf(out, ",%d", r->truncated);
	put_vm(csv,
	       r->facts.has & ETA_EVENT_OF_HOST && r->facts.who < csv->e->defs->n_locations &&
			       r->facts.has & ETA_HAS_WHO
		       ? (uint32_t)r->facts.who
		       : ETA_NONE,
	       false);
	putc('\n', out);
}

/* The thread that submitted it knows when it ended. */
static void put_request(struct csv *csv, const struct eta_event *event)
{
	FILE *out = csv->e->out;
	bool for_guest;

	fprintf(out, "%s,block,block request: %s,%zu,%" PRIu64 ",", csv->who, export_mode(event),
		csv->stack.depth, event->time_ns);
	if (event->has & ETA_HAS_END)
		fprintf(out, "%" PRIu64, event->end_ns);
	putc(',', out);
	put_facts(out, event);
	if (event->handle != ETA_NONE)
		csv_put(out, csv->e->defs->handles[event->handle].name);
	fputs(",,", out);
	if (event_owner(csv->e->defs, event))
		fprintf(out, "%" PRIu32, event_owner(csv->e->defs, event));
	fprintf(out, ",%d", !(event->has & ETA_HAS_END));
	for_guest = event->has & ETA_EVENT_SERVES && event->owner < csv->e->defs->n_locations;
	put_vm(csv, for_guest ? event->owner : ETA_NONE, for_guest);
	putc('\n', out);
}

static int csv_event(void *arg, const struct eta_event *event)
{
	struct csv *csv = arg;
	int rc = export_stack_push(&csv->stack, event);

	if (rc == 2)
		put_region(csv, event->time_ns);
	else if (event->kind == ETA_IO_BEGIN && event->has & ETA_EVENT_BLOCK_IO)
		put_request(csv, event);
	return rc < 0 ? rc : 0;
}

static int csv_run(struct export *e)
{
	int rc = 0;

	fprintf(e->out,
		"host,pid,tid,thread,level,region,depth,begin_ns,end_ns,size,offset,dev,inode,path,"
		"ret,who,truncated%s\n",
		e->machines.has_vms ? ",vm,who_host" : "");
	for (uint32_t l = 0; rc == 0 && l < e->defs->n_locations; l++) {
		struct csv csv = { .e = e,
				   .location = &e->defs->locations[l],
				   .stack.e = e,
				   .who_location = ETA_NONE };

		export_vm_name(e, l, csv.vm, sizeof(csv.vm));
		export_stack_begin(&csv.stack, l);
		rc = make_who(&csv);
		if (rc)
			eta_error("not enough memory for the names");
		else
			rc = export_read(e, l, csv_event, &csv);
		export_stack_free(&csv.stack);
		free(csv.who);
	}
	return rc;
}

const struct export_format export_csv = {
	.name = "csv",
	.suffix = ".csv",
	.what = "a row per region and block request, for spreadsheets and data frames",
	.file = "csv of sci-export",
	.begins = "host,pid,tid,thread,level,region,depth,begin_ns,",
	.run = csv_run,
};

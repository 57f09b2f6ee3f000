/* dump-trace [--lenient] TRACE: every definition and event that eta-ext reads, one line each. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "eta-ext/base/eta.h"

static const char *const kinds[] = { "ENTER", "LEAVE",	"BEGIN",   "ISSUED", "COMPLETE",
				     "SEEK",  "CREATE", "DESTROY", "MARK" };

static void dump_definitions(const struct eta_defs *defs)
{
	for (uint32_t i = 0; i < defs->n_properties; i++)
		printf("property %s=%s\n", defs->properties[i].name, defs->properties[i].value);
	for (uint32_t i = 0; i < defs->n_processes; i++)
		printf("process %s host=%s pid=%u ppid=%u\n", defs->processes[i].name,
		       defs->processes[i].host, defs->processes[i].pid, defs->processes[i].ppid);
	for (uint32_t i = 0; i < defs->n_regions; i++)
		printf("region %s level=%s reason=%s\n", defs->regions[i].name,
		       eta_level_name(defs->regions[i].level),
		       eta_reason_name(defs->regions[i].reason));
	for (uint32_t i = 0; i < defs->n_files; i++)
		printf("file %s dev=%u inode=%" PRIu64 " fs=%s\n", defs->files[i].path,
		       defs->files[i].dev, defs->files[i].inode, defs->files[i].fs);
	for (uint32_t i = 0; i < defs->n_handles; i++)
		printf("handle %s file=%d device=%u flags=%o\n", defs->handles[i].name,
		       (int)defs->handles[i].file, defs->handles[i].device,
		       defs->handles[i].open_flags);
	for (uint32_t i = 0; i < defs->n_locations; i++) {
		const struct eta_location *l = &defs->locations[i];

		printf("location %" PRIu64 " %s kind=%d process=%d tid=%u start=%" PRIu64
		       " dev=%u events=%" PRIu64 "\n",
		       l->id, l->name, (int)l->kind, (int)l->process, l->tid, l->start_ns, l->dev,
		       l->events);
	}
}

static int dump_event(void *arg, uint32_t location, const struct eta_event *e)
{
	const struct eta_defs *defs = arg;
	bool region = e->kind <= ETA_LEAVE;

	printf("%" PRIu64 " %" PRIu64 " %s ", defs->locations[location].id, e->time_ns,
	       kinds[e->kind]);
	if (region)
		printf("%s", defs->regions[e->region].name);
	else
		printf("%s match=%" PRIu64,
		       e->handle == ETA_NONE ? "-" : defs->handles[e->handle].name,
		       e->kind <= ETA_IO_COMPLETE ? e->match : 0);
	if (e->kind == ETA_IO_BEGIN)
		printf(" mode=%u", e->mode);
	if (e->has & ETA_HAS_SIZE)
		printf(" size=%" PRIu64, e->size);
	if (e->has & ETA_HAS_OFFSET)
		printf(" offset=%" PRId64, e->offset);
	if (e->has & ETA_HAS_FILE)
		printf(" dev=%u inode=%" PRIu64, e->dev, e->inode);
	if (e->has & ETA_HAS_RET)
		printf(" ret=%" PRId64, e->ret);
	if (e->has & ETA_HAS_CALLER)
		printf(" caller=%" PRIu64, e->caller);
	if (e->has & ETA_HAS_STACK)
		for (uint32_t i = 0; i < defs->stacks[e->stack].n_frames; i++)
			printf(" %s%" PRIx64, i ? "" : "stack=", defs->stacks[e->stack].frames[i]);
	if (e->has & ETA_HAS_WHO)
		printf(" who=%" PRIu64, e->who);
	if (e->has & ETA_HAS_PAUSE)
		printf(" pause=%" PRIu64, e->pause_ns);
	if (e->has & ETA_HAS_END)
		printf(" end=%" PRIu64, e->end_ns);
	if (e->kind == ETA_IO_BEGIN && e->has & ETA_EVENT_BLOCK_IO && e->owner)
		printf(" owner=%u", e->owner);
	if (e->has & ETA_EVENT_OF_HOST && e->kind == ETA_ENTER)
		printf(" of_host device=%u", e->device);
	if (e->has & ETA_EVENT_SERVES)
		printf(" serves");
	if (e->has & ETA_EVENT_DIRECT)
		printf(" direct");
	if (e->has & ETA_EVENT_LOWER)
		printf(" lower");
	if (e->has & ETA_EVENT_TRUNCATED)
		printf(" truncated");
	if (e->has & ETA_EVENT_BLOCK_IO)
		printf(" block");
	putchar('\n');
	return 0;
}

int main(int argc, char **argv)
{
	struct eta_options options = { .lenient = argc == 3 && strcmp(argv[1], "--lenient") == 0 };
	struct eta_counts counts;
	struct eta_trace *trace;
	int rc;

	if (argc < 2)
		return 2;
	rc = eta_open(argv[argc - 1], &options, &trace);
	if (rc < 0)
		return 1;
	dump_definitions(eta_trace_defs(trace));
	rc = eta_trace_read(trace, dump_event, (void *)eta_trace_defs(trace));
	eta_trace_counts(trace, &counts);
	printf("counts records=%" PRIu64 " events=%" PRIu64 " bad=%" PRIu64 " out_of_order=%" PRIu64
	       "\n",
	       counts.records, counts.events, counts.bad, counts.out_of_order);
	eta_close(trace);
	return rc < 0;
}

/* Export: Paje, for ViTE and PajeNG: states of threads in the order of time of all of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "in-order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/printable.h"
#include "src/common/machines.h"

/* What is put aside of an event: its time, and what happens with a number. */
enum { PUSH, POP, QUEUED, DONE };
#define WORD(what, number) ((uint64_t)(what) << 32 | (number))

struct paje {
	struct export *e;
	struct in_order order;
	uint32_t *devices; /* export_devices() */
	/*
	 * Types of containers form the tree. So in a trace with guests there are machines,
	 * processes, threads and devices of each depth: CT_P0 of hosts, CT_P1 of guests. Per
	 * machine (eta_machine) and per location; NULL without guests.
	 */
	unsigned *depths, *location_depths, deepest;
	uint32_t *machines, n_machines; /* in the order of the tree */
	uint64_t last_ns;
};

static const char header[] =
	"%EventDef PajeDefineContainerType 0\n%\tAlias string\n%\tType string\n%\tName string\n"
	"%EndEventDef\n"
	"%EventDef PajeDefineStateType 1\n%\tAlias string\n%\tType string\n%\tName string\n"
	"%EndEventDef\n"
	"%EventDef PajeDefineVariableType 2\n%\tAlias string\n%\tType string\n%\tName string\n"
	"%\tColor color\n%EndEventDef\n"
	"%EventDef PajeDefineEntityValue 3\n%\tAlias string\n%\tType string\n%\tName string\n"
	"%\tColor color\n%EndEventDef\n"
	"%EventDef PajeCreateContainer 4\n%\tTime date\n%\tAlias string\n%\tType string\n"
	"%\tContainer string\n%\tName string\n%EndEventDef\n"
	"%EventDef PajeDestroyContainer 5\n%\tTime date\n%\tType string\n%\tName string\n"
	"%EndEventDef\n"
	"%EventDef PajePushState 6\n%\tTime date\n%\tType string\n%\tContainer string\n"
	"%\tValue string\n%EndEventDef\n"
	"%EventDef PajePopState 7\n%\tTime date\n%\tType string\n%\tContainer string\n"
	"%EndEventDef\n"
	"%EventDef PajeSetVariable 8\n%\tTime date\n%\tType string\n%\tContainer string\n"
	"%\tValue double\n%EndEventDef\n"
	"%EventDef PajeAddVariable 9\n%\tTime date\n%\tType string\n%\tContainer string\n"
	"%\tValue double\n%EndEventDef\n"
	"%EventDef PajeSubVariable 10\n%\tTime date\n%\tType string\n%\tContainer string\n"
	"%\tValue double\n%EndEventDef\n"
	"0 CT_T 0 \"Trace\"\n";

/* Levels in the colours of a map: the deeper, the warmer. */
static const char *color_of(enum eta_level level)
{
	static const char *const colors[] = {
		[ETA_LEVEL_USER] = "0.4 0.7 0.4",      [ETA_LEVEL_VFS] = "0.4 0.6 0.9",
		[ETA_LEVEL_PAGECACHE] = "0.9 0.8 0.3", [ETA_LEVEL_FS] = "0.9 0.6 0.2",
		[ETA_LEVEL_BLOCK] = "0.8 0.2 0.2",     [ETA_LEVEL_NET] = "0.6 0.3 0.7",
		[ETA_LEVEL_CPU] = "0.5 0.5 0.5"
	};

	return (unsigned)level < ETA_N_LEVELS ? colors[level] : "0.8 0.8 0.8";
}

/* Strings have no way to hold a quote, and readers do not agree on a backslash. */
static void put_part(FILE *out, const char *text)
{
	char step[PRINTABLE_STEP];

	while (*text) {
		text += printable_step(text, PRINTABLE_BYTES, step);
		fputs(*step == '"' ? "'" : step, out);
	}
}

static void put_text(FILE *out, const char *text)
{
	putc('"', out);
	put_part(out, text);
	putc('"', out);
}

/* The name of a container of HOST, which other tools show alone. */
static void put_name(const struct paje *p, const char *name, const char *host)
{
	putc('"', p->e->out);
	put_part(p->e->out, name);
	put_part(p->e->out, machine_suffix(p->e->defs, host).text);
	fputs("\"\n", p->e->out);
}

/* TYPE of LOCATION, and a blank. */
static void put_type(const struct paje *p, const char *type, uint32_t location)
{
	fputs(type, p->e->out);
	if (p->depths)
		fprintf(p->e->out, "%u", p->location_depths[location]);
	putc(' ', p->e->out);
}

/* The types of processes, threads and devices below PARENT; DEPTH "" without guests. OF: " of
 * guests". */
static void put_types(const struct paje *p, const char *depth, const char *parent, const char *of)
{
	const struct eta_defs *defs = p->e->defs;
	FILE *out = p->e->out;

	fprintf(out,
		"0 CT_P%s %s \"Process%s\"\n0 CT_L%s CT_P%s \"Thread%s\"\n"
		"0 CT_D%s %s \"Block device%s\"\n1 ST_R%s CT_L%s \"Region%s\"\n"
		"2 V_F%s CT_D%s \"Requests in flight%s\" \"0.2 0.4 0.8\"\n",
		depth, parent, of, depth, depth, of, depth, parent, of, depth, depth, of, depth,
		depth, of);
	for (uint32_t r = 0; r < defs->n_regions; r++) {
		fprintf(out, "3 R%" PRIu32 "%s%s ST_R%s ", r, *depth ? "_" : "", depth, depth);
		put_text(out, defs->regions[r].name);
		fprintf(out, " \"%s\"\n", color_of(defs->regions[r].level));
	}
}

static void put_time(const struct paje *p, int event, uint64_t time_ns)
{
	uint64_t ns = time_ns - p->e->start_ns;

	fprintf(p->e->out, "%d %" PRIu64 ".%09u ", event, ns / 1000000000,
		(unsigned)(ns % 1000000000));
}

static void put_process(const struct paje *p, uint32_t process)
{
	const struct eta_defs *defs = p->e->defs;
	const char *host = defs->processes[process].host;
	uint32_t machine = eta_machine(defs, host);
	FILE *out = p->e->out;
	char name[256];

	put_time(p, 4, p->e->start_ns);
	fprintf(out, "P%" PRIu32 " CT_P", process);
	if (p->depths)
		fprintf(out, "%u M%" PRIu32 " ", p->depths[machine], machine);
	else
		fputs(" T ", out);
	export_process_name(p->e, process, name, sizeof(name));
	put_name(p, name, host);
}

static void put_location(const struct paje *p, uint32_t l)
{
	const struct eta_defs *defs = p->e->defs;
	const struct eta_location *location = &defs->locations[l];
	bool is_device = location->process == ETA_NONE;
	FILE *out = p->e->out;
	char name[256];

	put_time(p, 4, p->e->start_ns);
	fprintf(out, "L%" PRIu32 " ", l);
	put_type(p, is_device ? "CT_D" : "CT_L", l);
	if (!is_device)
		fprintf(out, "P%" PRIu32 " ", location->process);
	else if (p->depths)
		fprintf(out, "M%" PRIu32 " ", location_machine(defs, l));
	else
		fputs("T ", out);
	export_thread_name(p->e, l, name, sizeof(name));
	put_name(p, name, location_host(defs, l));
	if (is_device) {
		put_time(p, 8, p->e->start_ns);
		put_type(p, "V_F", l);
		fprintf(out, "L%" PRIu32 " 0\n", l);
	}
}

/* Of a trace with guests: each machine, with its processes, below what it runs in. */
static void put_machines(const struct paje *p)
{
	const struct eta_defs *defs = p->e->defs;
	FILE *out = p->e->out;

	for (uint32_t i = 0; i < p->n_machines; i++) {
		uint32_t machine = p->machines[i];
		uint32_t within = machine_within(&p->e->machines, machine);

		put_time(p, 4, p->e->start_ns);
		fprintf(out, "M%" PRIu32 " CT_M%u ", machine, p->depths[machine]);
		if (within == ETA_NONE)
			fputs("T ", out);
		else
			fprintf(out, "P%" PRIu32 " ", within);
		put_text(out, machine_name(defs, machine));
		putc('\n', out);
		for (uint32_t q = 0; q < defs->n_processes; q++)
			if (eta_machine(defs, defs->processes[q].host) == machine)
				put_process(p, q);
	}
}

static void put_containers(const struct paje *p)
{
	const struct eta_defs *defs = p->e->defs;

	put_time(p, 4, p->e->start_ns);
	fputs("T CT_T 0 \"trace\"\n", p->e->out);
	put_machines(p);
	for (uint32_t i = 0; !p->depths && i < defs->n_processes; i++)
		put_process(p, i);
	for (uint32_t l = 0; l < defs->n_locations; l++)
		put_location(p, l);
}

/* The types of machines at each depth, below the processes of QEMU that are one less deep. */
static void put_type_tree(const struct paje *p)
{
	char depth[16], parent[24], of[48] = "", above[16] = "CT_T";

	for (unsigned d = 0; d <= p->deepest; d++) {
		snprintf(depth, sizeof(depth), "%u", d);
		snprintf(parent, sizeof(parent), "CT_M%u", d);
		if (d)
			snprintf(of, sizeof(of), " of guests%s%s", d > 1 ? " at depth " : "",
				 d > 1 ? depth : "");
		fprintf(p->e->out, "0 %s %s \"Machine%s\"\n", parent, above, of);
		put_types(p, depth, parent, of);
		snprintf(above, sizeof(above), "CT_P%u", d);
	}
}

static void put_definitions(const struct paje *p)
{
	fputs(header, p->e->out);
	if (p->depths)
		put_type_tree(p);
	else
		put_types(p, "", "CT_T", "");
	put_containers(p);
}

/* ---- first pass: location by location, put aside ---- */

static int aside_event(void *arg, const struct eta_event *event)
{
	struct paje *p = arg;
	uint32_t device = ETA_NONE;
	uint64_t word;

	if (event->has & ETA_EVENT_BLOCK_IO && event->handle != ETA_NONE &&
	    (event->kind == ETA_IO_BEGIN || event->kind == ETA_IO_COMPLETE))
		device = p->devices[event->handle];
	if (event->kind == ETA_ENTER)
		word = WORD(PUSH, event->region);
	else if (event->kind == ETA_LEAVE)
		word = WORD(POP, 0);
	else if (device != ETA_NONE)
		word = WORD(event->kind == ETA_IO_BEGIN ? QUEUED : DONE, device);
	else
		return 0;
	in_order_put(&p->order, event->time_ns, word);
	return p->order.writer->rc;
}

static int put_aside(struct paje *p)
{
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < p->e->defs->n_locations; l++) {
		int ended;

		in_order_begin(&p->order, l);
		rc = export_read(p->e, l, aside_event, p);
		ended = in_order_end(&p->order);
		rc = rc ? rc : ended;
	}
	return rc;
}

/* ---- second pass: all of it in the order of time ---- */

static int put_event(void *arg, uint32_t location, uint64_t time_ns, uint64_t word)
{
	struct paje *p = arg;
	uint32_t number = (uint32_t)word;

	p->last_ns = time_ns;
	switch (word >> 32) {
	case PUSH:
		put_time(p, 6, time_ns);
		put_type(p, "ST_R", location);
		fprintf(p->e->out, "L%" PRIu32 " R%" PRIu32, location, number);
		if (p->depths)
			fprintf(p->e->out, "_%u", p->location_depths[location]);
		putc('\n', p->e->out);
		break;
	case POP:
		put_time(p, 7, time_ns);
		put_type(p, "ST_R", location);
		fprintf(p->e->out, "L%" PRIu32 "\n", location);
		break;
	default:
		put_time(p, word >> 32 == QUEUED ? 9 : 10, time_ns);
		put_type(p, "V_F", number);
		fprintf(p->e->out, "L%" PRIu32 " 1\n", number);
	}
	return 0;
}

static void put_process_ends(const struct paje *p, uint32_t machine)
{
	const struct eta_defs *defs = p->e->defs;

	for (uint32_t q = defs->n_processes; q-- > 0;) {
		if (p->depths && eta_machine(defs, defs->processes[q].host) != machine)
			continue;
		put_time(p, 5, p->last_ns);
		fputs("CT_P", p->e->out);
		if (p->depths)
			fprintf(p->e->out, "%u", p->depths[machine]);
		fprintf(p->e->out, " P%" PRIu32 "\n", q);
	}
}

static void put_ends(const struct paje *p)
{
	const struct eta_defs *defs = p->e->defs;
	FILE *out = p->e->out;

	for (uint32_t l = defs->n_locations; l-- > 0;) {
		put_time(p, 5, p->last_ns);
		put_type(p, defs->locations[l].process == ETA_NONE ? "CT_D" : "CT_L", l);
		fprintf(out, "L%" PRIu32 "\n", l);
	}
	for (uint32_t i = p->n_machines; i-- > 0;) {
		put_process_ends(p, p->machines[i]);
		put_time(p, 5, p->last_ns);
		fprintf(out, "CT_M%u M%" PRIu32 "\n", p->depths[p->machines[i]], p->machines[i]);
	}
	if (!p->depths)
		put_process_ends(p, 0);
	put_time(p, 5, p->last_ns);
	fputs("CT_T T\n", out);
}

/* What a guest's machine, processes and threads are called. 0 or -ENOMEM, reported. */
static int find_depths(struct paje *p)
{
	const struct eta_defs *defs = p->e->defs;

	if (!p->e->machines.within)
		return 0;
	p->depths = calloc((size_t)defs->n_processes + 1, sizeof(*p->depths));
	p->location_depths = calloc((size_t)defs->n_locations + 1, sizeof(*p->location_depths));
	p->machines = calloc((size_t)defs->n_processes + 1, sizeof(*p->machines));
	if (!p->depths || !p->location_depths || !p->machines) {
		eta_error("not enough memory for %" PRIu32 " threads", defs->n_locations);
		return -ENOMEM;
	}
	p->n_machines = machine_order(&p->e->machines, p->machines);
	for (uint32_t m = 0; m < defs->n_processes; m++) {
		p->depths[m] = machine_depth(&p->e->machines, m);
		if (p->depths[m] > p->deepest)
			p->deepest = p->depths[m];
	}
	for (uint32_t l = 0; l < defs->n_locations; l++)
		p->location_depths[l] = p->depths[location_machine(defs, l)];
	return 0;
}

static int paje_run(struct export *e)
{
	struct paje p = { .e = e, .last_ns = e->start_ns };
	int rc = in_order_open(&p.order, e);

	if (rc == 0)
		rc = find_depths(&p);
	if (rc == 0) {
		p.devices = export_devices(e);
		if (!p.devices) {
			eta_error("not enough memory for the devices");
			rc = -ENOMEM;
		}
	}
	if (rc == 0)
		rc = put_aside(&p);
	if (rc == 0) {
		put_definitions(&p);
		rc = in_order_read(&p.order, put_event, &p);
	}
	if (rc == 0)
		put_ends(&p);
	free(p.devices);
	free(p.depths);
	free(p.location_depths);
	free(p.machines);
	in_order_close(&p.order);
	return rc;
}

const struct export_format export_paje = {
	.name = "paje",
	.suffix = ".paje",
	.what = "Paje, for ViTE and PajeNG",
	.file = "Paje of sci-export",
	.begins = "%EventDef PajeDefineContainerType 0\n",
	.run = paje_run,
};

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
	"0 CT_T 0 \"Trace\"\n"
	"0 CT_P CT_T \"Process\"\n"
	"0 CT_L CT_P \"Thread\"\n"
	"0 CT_D CT_T \"Block device\"\n"
	"1 ST_R CT_L \"Region\"\n"
	"2 V_F CT_D \"Requests in flight\" \"0.2 0.4 0.8\"\n";

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

static void put_time(const struct paje *p, int event, uint64_t time_ns)
{
	uint64_t ns = time_ns - p->e->start_ns;

	fprintf(p->e->out, "%d %" PRIu64 ".%09u ", event, ns / 1000000000,
		(unsigned)(ns % 1000000000));
}

static void put_containers(const struct paje *p)
{
	const struct eta_defs *defs = p->e->defs;
	FILE *out = p->e->out;
	char name[256];

	put_time(p, 4, p->e->start_ns);
	fputs("T CT_T 0 \"trace\"\n", out);
	for (uint32_t i = 0; i < defs->n_processes; i++) {
		put_time(p, 4, p->e->start_ns);
		fprintf(out, "P%" PRIu32 " CT_P T ", i);
		export_process_name(p->e, i, name, sizeof(name));
		put_name(p, name, defs->processes[i].host);
	}
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_location *location = &defs->locations[l];

		put_time(p, 4, p->e->start_ns);
		if (location->process == ETA_NONE)
			fprintf(out, "L%" PRIu32 " CT_D T ", l);
		else
			fprintf(out, "L%" PRIu32 " CT_L P%" PRIu32 " ", l, location->process);
		put_name(p, location->name, location_host(defs, l));
		if (location->process == ETA_NONE) {
			put_time(p, 8, p->e->start_ns);
			fprintf(out, "V_F L%" PRIu32 " 0\n", l);
		}
	}
}

static void put_definitions(const struct paje *p)
{
	const struct eta_defs *defs = p->e->defs;

	fputs(header, p->e->out);
	for (uint32_t r = 0; r < defs->n_regions; r++) {
		fprintf(p->e->out, "3 R%" PRIu32 " ST_R ", r);
		put_text(p->e->out, defs->regions[r].name);
		fprintf(p->e->out, " \"%s\"\n", color_of(defs->regions[r].level));
	}
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
		fprintf(p->e->out, "ST_R L%" PRIu32 " R%" PRIu32 "\n", location, number);
		break;
	case POP:
		put_time(p, 7, time_ns);
		fprintf(p->e->out, "ST_R L%" PRIu32 "\n", location);
		break;
	default:
		put_time(p, word >> 32 == QUEUED ? 9 : 10, time_ns);
		fprintf(p->e->out, "V_F L%" PRIu32 " 1\n", number);
	}
	return 0;
}

static void put_ends(const struct paje *p)
{
	for (uint32_t l = p->e->defs->n_locations; l-- > 0;) {
		put_time(p, 5, p->last_ns);
		fprintf(p->e->out, "%s L%" PRIu32 "\n",
			p->e->defs->locations[l].process == ETA_NONE ? "CT_D" : "CT_L", l);
	}
	for (uint32_t i = p->e->defs->n_processes; i-- > 0;) {
		put_time(p, 5, p->last_ns);
		fprintf(p->e->out, "CT_P P%" PRIu32 "\n", i);
	}
	put_time(p, 5, p->last_ns);
	fputs("CT_T T\n", p->e->out);
}

static int paje_run(struct export *e)
{
	struct paje p = { .e = e, .last_ns = e->start_ns };
	int rc = in_order_open(&p.order, e);

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

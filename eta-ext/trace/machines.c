/* Which names of hosts are one machine, and whose numbers count there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "eta-ext/base/array.h"
#include "machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/known.h"
#include "eta-ext/format/archive.h"
#include "eta-ext/format/record.h"

/* A host, or the boot of one, and the first process that ran there. */
struct place {
	const char *name;
	uint32_t first;
	/* of a host: the first process that is known to be of a boot, and which; ETA_NONE: none */
	uint32_t with_boot, boot;
};

struct places {
	struct known *names;
	struct place *v;
	uint32_t n, room;
};

struct eta_machines {
	struct places hosts, boots;
	uint32_t named; /* the first process that has a host, ETA_NONE */
	bool counted, several;
};

/* The place called NAME, in which process P ran; NULL without memory. */
static struct place *place_of(struct places *places, const char *name, uint32_t p)
{
	uint32_t i = known_find(places->names, name, strlen(name));

	if (i == ETA_NONE) {
		i = places->n;
		if (!ARRAY_FITS(places->v, i + 1, places->room) ||
		    known_add(&places->names, name, strlen(name), i))
			return NULL;
		places->v[places->n++] = (struct place){
			.name = name, .first = p, .with_boot = ETA_NONE, .boot = ETA_NONE
		};
	}
	if (p < places->v[i].first)
		places->v[i].first = p;
	return &places->v[i];
}

int machines_add(struct eta_defs *defs, uint32_t p)
{
	const struct eta_process *process = &defs->processes[p];
	struct place *boot = NULL, *host;

	if (!defs->machines) {
		defs->machines = calloc(1, sizeof(*defs->machines));
		if (!defs->machines)
			return -ENOMEM;
		defs->machines->named = ETA_NONE;
	}
	defs->machines->counted = false;
	if (*process->boot && !(boot = place_of(&defs->machines->boots, process->boot, p)))
		return -ENOMEM;
	host = place_of(&defs->machines->hosts, process->host, p);
	if (!host)
		return -ENOMEM;
	if (boot && p < host->with_boot) {
		host->with_boot = p;
		host->boot = (uint32_t)(boot - defs->machines->boots.v);
	}
	if (*process->host && p < defs->machines->named)
		defs->machines->named = p;
	return 0;
}

void machines_free(struct eta_machines *m)
{
	if (!m)
		return;
	known_free(&m->hosts.names);
	known_free(&m->boots.names);
	free(m->hosts.v);
	free(m->boots.v);
	free(m);
}

static const struct place *find_host(const struct eta_defs *defs, const char *name)
{
	uint32_t i = defs->machines ? known_find(defs->machines->hosts.names, name, strlen(name))
				    : ETA_NONE;

	return i == ETA_NONE ? NULL : &defs->machines->hosts.v[i];
}

/* The first process that ran on HOST or in its boot, 0 where that is the first with a host. */
static uint32_t machine_of(const struct eta_machines *m, const struct place *host)
{
	uint32_t first = host->first;

	if (host->boot != ETA_NONE && m->boots.v[host->boot].first < first)
		first = m->boots.v[host->boot].first;
	return first <= m->named ? 0 : first;
}

uint32_t eta_machine(const struct eta_defs *defs, const char *name)
{
	const struct place *host = find_host(defs, name);

	return host && *name ? machine_of(defs->machines, host) : 0;
}

const char *machines_boot(const struct eta_defs *defs, const char *name)
{
	const struct place *host = find_host(defs, name);

	return host && host->boot != ETA_NONE ? defs->machines->boots.v[host->boot].name : NULL;
}

bool machines_several(const struct eta_defs *defs)
{
	const struct eta_machines *m = defs->machines;

	if (m && m->counted)
		return m->several;
	for (uint32_t i = 0; m && i < m->hosts.n; i++)
		if (*m->hosts.v[i].name && machine_of(m, &m->hosts.v[i]))
			return true;
	return false;
}

void machines_settle(struct eta_defs *defs)
{
	if (!defs->machines)
		return;
	defs->machines->several = machines_several(defs);
	defs->machines->counted = true;
}

bool eta_inner_numbers(const struct eta_process *process)
{
	return process->pid_ns && process->pid_ns != ETA_FIRST_PID_NS && process->ns_pid &&
	       process->pid == process->ns_pid;
}

bool machines_is_guest(const struct eta_property *property)
{
	return property->process == ETA_NONE &&
	       strncmp(property->name, ARCHIVE_GUEST, strlen(ARCHIVE_GUEST)) == 0;
}

bool machines_have_guests(const struct eta_defs *defs)
{
	for (uint32_t p = 0; p < defs->n_properties; p++)
		if (machines_is_guest(&defs->properties[p]))
			return true;
	return false;
}

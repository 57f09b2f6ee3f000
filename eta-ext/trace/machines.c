/* Which names of hosts are one machine, and whose numbers count there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/known.h"
#include "eta-ext/format/record.h"

/* The first process that ran in a boot, and the first one on a host that says in which boot. */
struct boot {
	const char *name;
	uint32_t first;
};

struct host {
	const char *name;
	uint32_t first, told; /* ETA_NONE: none says so */
	uint32_t boot;
};

struct eta_machines {
	struct known *host_names, *boot_names;
	struct host *hosts;
	struct boot *boots;
	uint32_t n_hosts, n_boots;
	uint32_t named; /* the first process that has a host, ETA_NONE */
	bool settled, several;
};

static struct boot *boot_of(struct eta_machines *m, const char *name, uint32_t p)
{
	uint32_t i = known_find(m->boot_names, name, strlen(name));
	struct boot *boots = m->boots;

	if (i == ETA_NONE) {
		boots = reallocarray(boots, m->n_boots + 1, sizeof(*boots));
		if (!boots)
			return NULL;
		m->boots = boots;
		i = m->n_boots;
		if (known_add(&m->boot_names, name, strlen(name), i))
			return NULL;
		boots[m->n_boots++] = (struct boot){ .name = name, .first = p };
	}
	if (p < boots[i].first)
		boots[i].first = p;
	return &boots[i];
}

static struct host *host_of(struct eta_machines *m, const char *name, uint32_t p)
{
	uint32_t i = known_find(m->host_names, name, strlen(name));
	struct host *hosts = m->hosts;

	if (i == ETA_NONE) {
		hosts = reallocarray(hosts, m->n_hosts + 1, sizeof(*hosts));
		if (!hosts)
			return NULL;
		m->hosts = hosts;
		i = m->n_hosts;
		if (known_add(&m->host_names, name, strlen(name), i))
			return NULL;
		hosts[m->n_hosts++] = (struct host){
			.name = name, .first = p, .told = ETA_NONE, .boot = ETA_NONE
		};
	}
	if (p < hosts[i].first)
		hosts[i].first = p;
	return &hosts[i];
}

int machines_add(struct eta_defs *defs, uint32_t p)
{
	const struct eta_process *process = &defs->processes[p];
	struct boot *boot = NULL;
	struct host *host;

	if (!defs->machines) {
		defs->machines = calloc(1, sizeof(*defs->machines));
		if (!defs->machines)
			return -ENOMEM;
		defs->machines->named = ETA_NONE;
	}
	defs->machines->settled = false;
	if (*process->boot && !(boot = boot_of(defs->machines, process->boot, p)))
		return -ENOMEM;
	host = host_of(defs->machines, process->host, p);
	if (!host)
		return -ENOMEM;
	if (boot && p < host->told) {
		host->told = p;
		host->boot = (uint32_t)(boot - defs->machines->boots);
	}
	if (*process->host && p < defs->machines->named)
		defs->machines->named = p;
	return 0;
}

void machines_free(struct eta_machines *m)
{
	if (!m)
		return;
	known_free(&m->host_names);
	known_free(&m->boot_names);
	free(m->hosts);
	free(m->boots);
	free(m);
}

static const struct host *find_host(const struct eta_defs *defs, const char *name)
{
	uint32_t i = defs->machines ? known_find(defs->machines->host_names, name, strlen(name))
				    : ETA_NONE;

	return i == ETA_NONE ? NULL : &defs->machines->hosts[i];
}

/* The first process that ran on HOST or in its boot, 0 where that is the first with a host. */
static uint32_t machine_of(const struct eta_machines *m, const struct host *host)
{
	uint32_t first = host->first;

	if (host->boot != ETA_NONE && m->boots[host->boot].first < first)
		first = m->boots[host->boot].first;
	return first <= m->named ? 0 : first;
}

uint32_t eta_machine(const struct eta_defs *defs, const char *name)
{
	const struct host *host = find_host(defs, name);

	return host && *name ? machine_of(defs->machines, host) : 0;
}

const char *machines_boot(const struct eta_defs *defs, const char *name)
{
	const struct host *host = find_host(defs, name);

	return host && host->boot != ETA_NONE ? defs->machines->boots[host->boot].name : NULL;
}

bool machines_several(const struct eta_defs *defs)
{
	const struct eta_machines *m = defs->machines;

	if (m && m->settled)
		return m->several;
	for (uint32_t i = 0; m && i < m->n_hosts; i++)
		if (*m->hosts[i].name && machine_of(m, &m->hosts[i]))
			return true;
	return false;
}

void machines_settle(struct eta_defs *defs)
{
	if (!defs->machines)
		return;
	defs->machines->several = machines_several(defs);
	defs->machines->settled = true;
}

bool eta_inner_numbers(const struct eta_process *process)
{
	return process->pid_ns && process->pid_ns != ETA_FIRST_PID_NS && process->ns_pid &&
	       process->pid == process->ns_pid;
}

/* Which names of hosts are one machine, and whose numbers count there. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "machines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* The first process that ran in a boot, and the first one on a host that says in which boot. */
struct boot {
	UT_hash_handle hh;
	const char *name;
	uint32_t first;
};

struct host {
	UT_hash_handle hh;
	const char *name;
	uint32_t first, told; /* ETA_NONE: none says so */
	struct boot *boot;
};

struct eta_machines {
	struct host *hosts;
	struct boot *boots;
	uint32_t named; /* the first process that has a host, ETA_NONE */
	bool settled, several;
};

static struct boot *boot_of(struct eta_machines *m, const char *name, uint32_t p)
{
	struct boot *boot;

	HASH_FIND_STR(m->boots, name, boot);
	if (boot) {
		boot->first = p < boot->first ? p : boot->first;
		return boot;
	}
	boot = calloc(1, sizeof(*boot));
	if (!boot)
		return NULL;
	*boot = (struct boot){ .name = name, .first = p };
	HASH_ADD_KEYPTR(hh, m->boots, boot->name, strlen(name), boot);
	if (boot->hh.tbl)
		return boot;
	free(boot);
	return NULL;
}

static struct host *host_of(struct eta_machines *m, const char *name, uint32_t p)
{
	struct host *host;

	HASH_FIND_STR(m->hosts, name, host);
	if (host) {
		host->first = p < host->first ? p : host->first;
		return host;
	}
	host = calloc(1, sizeof(*host));
	if (!host)
		return NULL;
	*host = (struct host){ .name = name, .first = p, .told = ETA_NONE };
	HASH_ADD_KEYPTR(hh, m->hosts, host->name, strlen(name), host);
	if (host->hh.tbl)
		return host;
	free(host);
	return NULL;
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
		host->boot = boot;
	}
	if (*process->host && p < defs->machines->named)
		defs->machines->named = p;
	return 0;
}

void machines_free(struct eta_machines *m)
{
	struct host *host, *next_host;
	struct boot *boot, *next_boot;

	if (!m)
		return;
	HASH_ITER (hh, m->hosts, host, next_host) {
		HASH_DEL(m->hosts, host);
		free(host);
	}
	HASH_ITER (hh, m->boots, boot, next_boot) {
		HASH_DEL(m->boots, boot);
		free(boot);
	}
	free(m);
}

static struct host *find_host(const struct eta_defs *defs, const char *name)
{
	struct host *host = NULL;

	if (defs->machines)
		HASH_FIND_STR(defs->machines->hosts, name, host);
	return host;
}

/* The first process that ran on HOST or in its boot, 0 where that is the first with a host. */
static uint32_t machine_of(const struct eta_machines *m, const struct host *host)
{
	uint32_t first = host->first;

	if (host->boot && host->boot->first < first)
		first = host->boot->first;
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

	return host && host->boot ? host->boot->name : NULL;
}

bool machines_several(const struct eta_defs *defs)
{
	const struct host *host, *next;

	if (defs->machines && defs->machines->settled)
		return defs->machines->several;
	if (defs->machines)
		HASH_ITER (hh, defs->machines->hosts, host, next)
			if (*host->name && machine_of(defs->machines, host))
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

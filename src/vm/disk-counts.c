/* The counters of virtual disks over time: asked for, kept, put into the recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "disk-counts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/base/plural.h"
#include "qmp.h"

enum { TIMEOUT_MS = 500 }; /* of a machine; it may be stopped, or somebody else at its monitor */

struct asked {
	const struct vm *vm;
	int monitors[QEMU_MONITORS]; /* -errno: not to be reached */
	size_t monitor;		     /* the one that answered last, or is to be tried */
	struct looks looks;	     /* at its disks */
	unsigned failed;
	int why; /* of the last failure */
};

struct disk_counts {
	struct each_second each;
	struct asked *v;
	size_t n;
};

/* ---- asking ---- */

/* Did it answer before, and is gone now? */
static bool has_ended(const struct asked *a, int rc)
{
	return a->looks.n &&
	       (rc == -ENOENT || rc == -ESRCH || rc == -ECONNREFUSED || rc == -ECONNRESET);
}

/* A look that is kept, if QEMU answers: ALWAYS, or if it is one's turn. */
static void ask(struct asked *a, bool always)
{
	const struct qemu_command *command = &a->vm->command;
	struct look *look = looks_due(&a->looks, always);
	int rc;

	if (!look)
		return;
	look->time_ns = clock_ns(CLOCK_MONOTONIC);
	rc = a->monitors[a->monitor];
	if (rc >= 0)
		rc = qmp_ask(a->vm->pid, rc, command, TIMEOUT_MS, look->devices);
	if (rc) {
		free(look);
		if (has_ended(a, rc))
			return;
		a->failed++;
		a->why = rc;
		a->monitor = (a->monitor + 1) % command->n_monitors;
		return;
	}
	look->time_ns += (clock_ns(CLOCK_MONOTONIC) - look->time_ns) / 2;
	looks_keep(&a->looks, look);
}

static void work(void *arg)
{
	struct disk_counts *c = arg;

	/* of many that do not answer each takes its time */
	for (size_t i = 0; i < c->n && !each_second_ends(&c->each); i++)
		ask(&c->v[i], false);
}

void disk_counts_free(struct disk_counts *c)
{
	for (size_t i = 0; c && i < c->n; i++) {
		for (size_t k = 0; k < c->v[i].vm->command.n_monitors; k++)
			if (c->v[i].monitors[k] >= 0)
				close(c->v[i].monitors[k]);
		looks_free(&c->v[i].looks);
	}
	if (c)
		free(c->v);
	free(c);
}

static int add_machine(struct disk_counts *c, const struct vm *vm)
{
	struct asked *a = &c->v[c->n];

	*a = (struct asked){ .vm = vm };
	if (looks_init(&a->looks, vm->command.n_disks))
		return -ENOMEM;
	for (size_t k = 0; k < vm->command.n_monitors; k++)
		a->monitors[k] = qmp_open(vm->pid, vm->command.monitors[k]);
	c->n++;
	return 0;
}

int disk_counts_new(const struct vms *vms, struct disk_counts **out)
{
	struct disk_counts *c = calloc(1, sizeof(*c));
	int rc = 0;

	if (c)
		c->v = calloc(vms->n + 1, sizeof(*c->v));
	if (c && c->v)
		c->each.end = -1;
	else
		rc = -ENOMEM;
	for (size_t i = 0; rc == 0 && i < vms->n; i++)
		if (vms->v[i].command.n_monitors && vms->v[i].command.n_disks)
			rc = add_machine(c, &vms->v[i]);
	if (rc) {
		eta_error("not enough memory for %zu virtual machines", vms->n);
		disk_counts_free(c);
		c = NULL;
	}
	*out = c;
	return rc;
}

void disk_counts_begin(struct disk_counts *c)
{
	int rc;

	if (c->n == 0)
		return;
	rc = each_second_begin(&c->each, work, c);
	if (rc)
		eta_warn("the counters of virtual disks cannot be read: %s", strerror(-rc));
}

/* ---- what is recorded ---- */

static const char *reason(int rc)
{
	switch (rc) {
	case -ETIMEDOUT:
		return "no answer: another program, such as libvirt, has its monitor";
	case -EPERM:
		return "another process listens there";
	case -EBADMSG:
		return "what answers is not QEMU";
	default:
		return strerror(-rc);
	}
}

static void say_failures(const struct asked *a)
{
	const struct qemu_command *command = &a->vm->command;

	if (a->failed == 0)
		return;
	eta_warn("virtual machine %s (pid %d): %s: %s; its counters of disks are %s (%u time%s)",
		 *command->name ? command->name : "without a name", (int)a->vm->pid,
		 command->monitors[a->monitor], reason(a->why),
		 a->looks.n > 1 ? "incomplete" : "not recorded", a->failed, plural(a->failed));
}

void disk_counts_end(struct disk_counts *c, void (*put)(void *arg, const char *text), void *arg)
{
	struct looks_out out;
	char name[32];

	if (c->each.end < 0)
		return;
	each_second_end(&c->each);
	looks_out_begin(&out, "DISKCOUNTS_", put, arg);
	for (size_t i = 0; i < c->n; i++) {
		const struct vm *vm = c->v[i].vm;

		if (c->v[i].looks.n)
			ask(&c->v[i], true);
		for (size_t disk = 0; disk < vm->command.n_disks; disk++) {
			snprintf(name, sizeof(name), "%d %zu", (int)vm->pid, disk);
			looks_put(&out, &c->v[i].looks, disk, name);
		}
		say_failures(&c->v[i]);
	}
}

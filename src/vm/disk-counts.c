/* The counters of virtual disks over time: asked for, kept, put into the recording. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "disk-counts.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/eta.h"
#include "eta-ext/base/plural.h"
#include "qmp.h"

enum {
	STEP_MS = 1000,
	TIMEOUT_MS = 500,     /* of a machine; it may be stopped, or somebody else at its monitor */
	SAMPLES_MAX = 4096,   /* of a machine */
	PROPERTY_BYTES = 3800 /* of samples: a property of a spool has room for 4096 */
};

struct look {
	uint64_t time_ns;
	struct qmp_disk disks[]; /* of the machine */
};

struct asked {
	const struct vm *vm;
	int monitors[QEMU_MONITORS]; /* -errno: not to be reached */
	size_t monitor;		     /* the one that answered last, or is to be tried */
	struct look **looks;	     /* SAMPLES_MAX at most */
	unsigned n, step;	     /* of STEP looks one is kept */
	unsigned times, failed;
	int why; /* of the last failure */
};

struct disk_counts {
	pthread_t thread;
	int end; /* eventfd, -1: it has not begun */
	struct asked *v;
	size_t n;
};

/* ---- asking ---- */

/* Every second one goes, but for the first, to which all counts are relative. */
static void make_room(struct asked *a)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < a->n; i++) {
		if (i % 2 == 0)
			a->looks[kept++] = a->looks[i];
		else
			free(a->looks[i]);
	}
	a->n = kept;
	a->step *= 2;
}

/* Did it answer before, and is gone now? */
static bool has_ended(const struct asked *a, int rc)
{
	return a->n && (rc == -ENOENT || rc == -ESRCH || rc == -ECONNREFUSED || rc == -ECONNRESET);
}

/* A look that is kept, if QEMU answers: ALWAYS, or if it is one's turn. */
static void ask(struct asked *a, bool always)
{
	const struct qemu_command *command = &a->vm->command;
	struct look *look;
	int rc;

	if (a->times++ % a->step && !always)
		return;
	look = calloc(1, sizeof(*look) + command->n_disks * sizeof(*look->disks));
	if (!look)
		return;
	look->time_ns = clock_ns(CLOCK_MONOTONIC);
	rc = a->monitors[a->monitor];
	if (rc >= 0)
		rc = qmp_ask(a->vm->pid, rc, command, TIMEOUT_MS, look->disks);
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
	if (a->n == SAMPLES_MAX)
		make_room(a);
	a->looks[a->n++] = look;
}

static void *work(void *arg)
{
	struct disk_counts *c = arg;
	struct pollfd end = { .fd = c->end, .events = POLLIN };

	do
		/* of many that do not answer each takes its time */
		for (size_t i = 0; i < c->n && poll(&end, 1, 0) == 0; i++)
			ask(&c->v[i], false);
	while (poll(&end, 1, STEP_MS) == 0);
	return NULL;
}

void disk_counts_free(struct disk_counts *c)
{
	for (size_t i = 0; c && i < c->n; i++) {
		for (size_t k = 0; k < c->v[i].vm->command.n_monitors; k++)
			if (c->v[i].monitors[k] >= 0)
				close(c->v[i].monitors[k]);
		for (unsigned k = 0; k < c->v[i].n; k++)
			free(c->v[i].looks[k]);
		free(c->v[i].looks);
	}
	if (c && c->end >= 0)
		close(c->end);
	if (c)
		free(c->v);
	free(c);
}

static int add_machine(struct disk_counts *c, const struct vm *vm)
{
	struct asked *a = &c->v[c->n];

	*a = (struct asked){ .vm = vm, .step = 1 };
	a->looks = calloc(SAMPLES_MAX, sizeof(struct look *));
	if (!a->looks)
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
		c->end = -1;
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
	int rc = 0;

	if (c->n == 0)
		return;
	c->end = eventfd(0, EFD_CLOEXEC);
	rc = c->end < 0 ? errno : pthread_create(&c->thread, NULL, work, c);
	if (rc == 0)
		return;
	eta_warn("the counters of virtual disks cannot be read: %s", strerror(rc));
	if (c->end >= 0)
		close(c->end);
	c->end = -1;
}

/* ---- what is recorded ---- */

struct putting {
	char host[64];
	void (*put)(void *arg, const char *text);
	void *arg;
	unsigned number;
	char text[4096]; /* of one property, its bytes */
	size_t used;
};

/* What QEMU counted from BEFORE to AFTER; its counters begin again where the guest is reset. */
static size_t write_sample(char *text, size_t size, uint64_t ms, const struct qmp_disk *before,
			   const struct qmp_disk *after)
{
	size_t used = (size_t)snprintf(text, size, " %" PRIu64, ms);

	for (int i = 0; i < N_DISK_COUNTS; i++)
		used += (size_t)snprintf(text + used, size - used, "%c%" PRIu64, i ? ',' : ':',
					 after->n[i] < before->n[i] ? after->n[i]
								    : after->n[i] - before->n[i]);
	return used;
}

static void flush(struct putting *p)
{
	if (!p->used)
		return;
	snprintf(p->text + p->used, sizeof(p->text) - p->used, SAMPLES_HOST "%s", p->host);
	p->put(p->arg, p->text);
	p->used = 0;
}

static void put_disk(struct putting *p, const struct asked *a, size_t disk)
{
	const struct look *before = NULL;
	uint64_t since_ns = 0;

	for (unsigned i = 0; i < a->n; i++) {
		const struct look *look = a->looks[i];

		if (!look->disks[disk].known)
			continue;
		if (before && !p->used) {
			since_ns = before->time_ns;
			p->used = (size_t)snprintf(p->text, sizeof(p->text),
						   "DISKCOUNTS_%u=%" PRIu64 " %d %zu", ++p->number,
						   since_ns, (int)a->vm->pid, disk);
		}
		if (before)
			p->used += write_sample(p->text + p->used, sizeof(p->text) - p->used,
						(look->time_ns - since_ns) / 1000000,
						&before->disks[disk], &look->disks[disk]);
		before = look;
		if (p->used > PROPERTY_BYTES)
			flush(p);
	}
	flush(p);
}

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
		 a->n > 1 ? "incomplete" : "not recorded", a->failed, plural(a->failed));
}

void disk_counts_end(struct disk_counts *c, void (*put)(void *arg, const char *text), void *arg)
{
	struct putting p = { .put = put, .arg = arg };
	struct utsname names = { 0 };
	uint64_t one = 1;

	if (c->end < 0)
		return;
	uname(&names);
	snprintf(p.host, sizeof(p.host), "%.63s", names.nodename);
	if (write(c->end, &one, sizeof(one)) == sizeof(one))
		pthread_join(c->thread, NULL);
	for (size_t i = 0; i < c->n; i++) {
		if (c->v[i].n)
			ask(&c->v[i], true);
		for (size_t disk = 0; disk < c->v[i].vm->command.n_disks; disk++)
			put_disk(&p, &c->v[i], disk);
		say_failures(&c->v[i]);
	}
}

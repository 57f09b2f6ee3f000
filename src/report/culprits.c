/* Culprits in a line, those of one program together. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "culprits.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "src/common/machines.h"
#include "src/common/vm-name.h"

#define SHOWN 4

/* ---- programs ---- */

/* A culprit on its way into its program's sum. */
struct member {
	struct culprit culprit;
	uint32_t process; /* ETA_NONE: of none that is known */
	uint32_t place;	  /* in the list: for a stable order */
};

/*
 * The kernel's threads are all of one process, pid 0: their names distinguish them. Its
 * workers are many, kworker/CPU:NUMBER, and one as good as the other.
 */
static void name_kernel_thread(char *name, size_t size, const char *location)
{
	size_t length = strcspn(location, "/");

	if (strncmp(location, "kworker/", 8) != 0)
		length = strcspn(location, " ");
	snprintf(name, size, "%.*s", (int)length, location);
}

static bool is_kernel_thread(const struct eta_defs *defs, const struct eta_location *l)
{
	const struct eta_process *p = l->process == ETA_NONE ? NULL : &defs->processes[l->process];

	return l->kind == ETA_LOCATION_KERNEL_THREAD || !p ||
	       (p->pid == 0 && strcmp(p->name, "kernel") == 0);
}

/* QEMU's threads are those of its virtual machine, whose guest is not traced. */
static void name_virtual_machine(const struct eta_defs *defs, uint32_t process, struct culprit *c)
{
	char name[sizeof(c->name)];

	if (!vm_process_name(defs, process, name, sizeof(name)))
		return;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->thread = NULL;
	c->is_virtual_machine = true;
}

static void member_of(const struct analysis *a, const struct blame *b, uint32_t place,
		      struct member *m)
{
	const struct task_name *task = analysis_task_name(a, b->tid);
	struct culprit *c = &m->culprit;

	*m = (struct member){ .process = ETA_NONE, .place = place };
	c->host = report_culprit_host(a, b);
	c->tid = b->tid;
	c->ns = b->ns;
	c->named_ns = b->named_ns;
	c->threads = c->processes = b->culprits;
	c->is_program = b->location != ETA_NONE;
	if (c->is_program) {
		const struct eta_location *l = &a->defs->locations[b->location];

		c->thread = l->name;
		if (is_kernel_thread(a->defs, l)) {
			name_kernel_thread(c->name, sizeof(c->name), l->name);
			return;
		}
		m->process = l->process;
		if (!*a->defs->processes[l->process].name) {
			snprintf(c->name, sizeof(c->name), "%s", l->name);
			return;
		}
		c->pid = a->defs->processes[l->process].pid;
		snprintf(c->name, sizeof(c->name), "%s", a->defs->processes[l->process].name);
		name_virtual_machine(a->defs, l->process, c);
	} else if (task) {
		c->is_program = true;
		c->thread = task->thread;
		snprintf(c->name, sizeof(c->name), "%s", task->name);
	} else if (blame_is_outside(b)) {
		snprintf(c->name, sizeof(c->name), OUTSIDE_THE_JOB);
	} else if (b->culprits) {
		snprintf(c->name, sizeof(c->name), b->tid ? "tasks without a name" : "others");
	}
}

/* Of one program side by side, then of one process. */
static int by_program(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->culprit.name, y->culprit.name);

	if (!order)
		order = strcmp(x->culprit.host, y->culprit.host);
	if (!order)
		order = (x->process > y->process) - (x->process < y->process);
	return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int by_time(const void *a, const void *b)
{
	const struct culprit *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return order ? order : strcmp(x->host, y->host);
}

static bool are_one_program(const struct culprit *a, const struct culprit *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->host, b->host) == 0;
}

int culprits_new(const struct analysis *a, const struct blame *blame, uint32_t n_blame,
		 struct culprit **list, uint32_t *n)
{
	struct member *members = calloc(n_blame + 1, sizeof(*members));
	struct culprit *sums = calloc(n_blame + 1, sizeof(*sums));

	*list = sums;
	*n = 0;
	if (!members || !sums) {
		free(members);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n_blame; i++)
		member_of(a, &blame[i], i, &members[i]);
	qsort(members, n_blame, sizeof(*members), by_program);
	for (uint32_t i = 0; i < n_blame; i++) {
		const struct culprit *c = &members[i].culprit;
		struct culprit *sum = *n ? &sums[*n - 1] : NULL;

		if (!sum || !are_one_program(sum, c)) {
			sums[(*n)++] = *c;
			continue;
		}
		if (members[i].process == ETA_NONE || members[i].process != members[i - 1].process)
			sum->processes += c->processes;
		sum->threads += c->threads;
		sum->ns += c->ns;
		sum->named_ns += c->named_ns;
		sum->thread = NULL;
		if (sum->processes > 1)
			sum->pid = 0;
	}
	free(members);
	if (*n)
		qsort(sums, *n, sizeof(*sums), by_time);
	return 0;
}

/* ---- the line ---- */

/* Does another process of its machine have the same name? Then the name alone identifies none. */
static bool has_namesake(const struct eta_defs *defs, const struct culprit *c)
{
	uint32_t machine = eta_machine(defs, c->host), n = 0;

	for (uint32_t i = 0; i < defs->n_processes && n < 2; i++)
		n += strcmp(defs->processes[i].name, c->name) == 0 &&
		     eta_machine(defs, defs->processes[i].host) == machine;
	return n > 1;
}

static size_t put_culprit(char *line, size_t room, const struct analysis *a,
			  const struct culprit *c, int64_t sum_ns)
{
	struct machine_suffix on = machine_suffix(a->defs, c->host);
	double percent = 100 * (double)c->ns / (double)sum_ns;
	char pid[32] = "";
	int n;

	if (c->processes == 1 && c->threads > 1 && c->pid && has_namesake(a->defs, c))
		snprintf(pid, sizeof(pid), " (pid %" PRIu32 ")", c->pid);
	if (c->is_virtual_machine)
		n = snprintf(line, room, "%s%s %.0f %%", c->name, on.text, percent);
	else if (!c->processes)
		n = snprintf(line, room, "unknown %.0f %%", percent);
	else if (c->threads == 1 && !c->thread && c->tid)
		n = snprintf(line, room, "tid %" PRIu32 ", not traced%s, %.0f %%", c->tid, on.text,
			     percent);
	else if (c->thread)
		n = snprintf(line, room, "%s%s %.0f %%", c->thread, on.text, percent);
	else if (c->processes > 1)
		n = snprintf(line, room, "%s x %" PRIu32 "%s, %.0f %%", c->name, c->processes,
			     on.text, percent);
	else if (c->threads > 1)
		n = snprintf(line, room, "%" PRIu32 " threads of %s%s%s %.0f %%", c->threads,
			     c->name, pid, on.text, percent);
	else
		n = snprintf(line, room, "%s%s %.0f %%", c->name, on.text, percent);
	return (size_t)n < room ? (size_t)n : room - 1;
}

int report_culprits(FILE *out, const struct analysis *a, const struct blame *blame,
		    uint32_t n_blame, unsigned width)
{
	struct culprit *list;
	int64_t sum_ns = 0, rest_ns = 0;
	uint32_t n, shown = 0, rest = 0;
	char line[1024] = "culprits: ";
	size_t used = strlen(line);
	int rc = culprits_new(a, blame, n_blame, &list, &n);

	for (uint32_t i = 0; !rc && i < n; i++)
		sum_ns += list[i].ns;
	for (uint32_t i = 0; !rc && i < n && sum_ns > 0; i++) {
		/* less than would be shown as 1 % is not worth a word */
		if (shown == SHOWN || list[i].ns * 200 < sum_ns) {
			rest_ns += list[i].ns;
			rest += list[i].processes;
			continue;
		}
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s",
					 shown++ ? "; " : "");
		used += put_culprit(line + used, sizeof(line) - used, a, &list[i], sum_ns);
	}
	if (rest_ns * 200 >= sum_ns && rest_ns)
		snprintf(line + used, sizeof(line) - used, "; %" PRIu32 " more %.0f %%", rest,
			 100 * (double)rest_ns / (double)sum_ns);
	if (!rc && sum_ns > 0)
		report_wrapped(out, line, false, width);
	free(list);
	return rc;
}

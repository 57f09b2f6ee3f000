/* Sums over the processes of a trace, or over groups of them. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "process-sums.h"

#include <errno.h>
#include <stdlib.h>

#define PROCESS ((const struct process_sum *)((const struct score_row *)row)->item)

void process_sums_get_name(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_text(v, PROCESS->process->name);
}

void process_sums_get_pid(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_whole(v, PROCESS->process->pid);
}

void process_sums_get_host(const void *context, const void *row, struct value *v)
{
	(void)context;
	value_text(v, PROCESS->process->host);
}

void process_sums_get_command(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;
	const char *line = a->command_lines[PROCESS->process - a->defs->processes];

	if (line)
		value_text(v, line);
}

void process_sums_get_lifetime(const void *context, const void *row, struct value *v)
{
	const struct analysis *a = context;

	if (a->options.sci == SCI_PAPER)
		score_get_lifetime(context, row, v);
	else
		value_whole(v, (int64_t)(PROCESS->last_ns - PROCESS->first_ns));
}

static int by_loss(const void *a, const void *b)
{
	const struct score_row *x = a, *y = b;
	const struct process_sum *p = x->item, *q = y->item;

	int order = slowdown_order(x->slowdown, y->slowdown);

	if (order)
		return order;
	if (p->process->pid != q->process->pid)
		return p->process->pid < q->process->pid ? -1 : 1;
	return (p > q) - (p < q);
}

static void add_thread(struct process_sum *p, const struct thread_score *t, bool idle_too)
{
	slowdown_add(&p->slowdown, &t->slowdown);
	p->operations += t->operations;
	p->io_ns += t->io_ns;
	if (t->events && (!p->any || t->first_ns < p->first_ns))
		p->first_ns = t->first_ns;
	if (t->events && t->last_ns > p->last_ns)
		p->last_ns = t->last_ns;
	p->any |= t->events > 0;
	p->threads += t->operations > 0;
	if (t->operations || idle_too)
		p->lifetime_ns += t->lifetime_ns;
	if (t->sci > p->sci_max)
		p->sci_max = t->sci;
}

/* A group is named after its first process, or rather the one that all others came from. */
static void add_process(const struct eta_defs *defs, struct process_sum *p, uint32_t process)
{
	const struct eta_process *one = &defs->processes[process];

	p->processes++;
	if (!p->process || (one->ns_pid == 1 && p->process->ns_pid != 1))
		p->process = one;
}

int process_sums_fill(const struct analysis *a, struct table *t, const uint32_t *groups)
{
	uint32_t n_processes = a->defs->n_processes;
	struct process_sum *sums = view_rows_new(t, n_processes, sizeof(*sums));
	size_t n = 0;

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		uint32_t process = a->defs->locations[a->threads[i].location].process;

		if (a->threads[i].scored && process < n_processes)
			add_thread(&sums[groups ? groups[process] : process], &a->threads[i],
				   a->options.sci == SCI_PAPER);
	}
	for (uint32_t i = 0; i < n_processes; i++)
		add_process(a->defs, &sums[groups ? groups[i] : i], i);
	for (uint32_t i = 0; i < n_processes; i++) {
		struct process_sum *p = &sums[i];

		if (!p->operations)
			continue;
		p->verdict = analysis_verdict(a, &p->slowdown, p->lifetime_ns);
		view_row_set(t, n++,
			     (struct score_row){ .slowdown = &p->slowdown,
						 .verdict = &p->verdict,
						 .operations = p->operations,
						 .io_ns = p->io_ns,
						 .lifetime_ns = p->lifetime_ns,
						 .item = p });
	}
	return view_add_sorted(t, n, by_loss);
}

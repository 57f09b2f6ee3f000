/* What other machines did meanwhile, as far as the clocks tell. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "loss.h"
#include "sweep.h"

/* Its key among what several machines use, + 1; 0: none. */
static uint32_t file_key(const struct sweep *s, const struct sweep_thread *l)
{
	const struct company *c = &s->engine->company;

	return l->op.file < c->n_files ? c->of_file[l->op.file] : 0;
}

static uint32_t server_key(const struct sweep *s, const struct sweep_thread *l)
{
	const struct company *c = &s->engine->company;

	return l->op.dev < c->n_devs ? c->of_dev[l->op.dev] : 0;
}

/* A machine is that of its files: equal for all of its threads, in every process. */
static uint32_t machine_of(const struct sweep *s, const struct sweep_thread *l)
{
	return (uint32_t)(s->engine->resources.files[l->op.file].dev >> 32);
}

struct applying {
	struct sweep *s;
	struct sweep_thread *l;
};

/* Time without a reason, from FROM to TO, in which another machine was on the file. */
static void on_file(void *arg, uint32_t location, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	const struct applying *a = arg;
	struct operation_record *op = &a->l->op;
	uint64_t at = op->begin_ns;

	for (uint32_t i = 0; i < op->n_stretches && at < to_ns; i++) {
		const struct stretch *st = &op->stretches[i];

		if (cell_table[st->cell].group == GROUP_FILE && at + st->ns > from_ns && st->ns)
			stretch_is_contended(a->l, i);
		at += st->ns;
	}
	if (a->l->lost_cells & cells_of_group(GROUP_FILE))
		weight_add_company(a->s, a->l, WEIGHT_FILE, location, ns);
}

static void at_server(void *arg, uint32_t location, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	const struct applying *a = arg;

	(void)from_ns;
	(void)to_ns;
	if (a->l->lost_cells & cells_of_group(GROUP_SERVER))
		weight_add_company(a->s, a->l, WEIGHT_SERVER, location, ns);
}

/* Its calls at the server, one by one. */
static void apply_server(struct sweep *s, struct sweep_thread *l, uint32_t key)
{
	struct applying a = { s, l };
	struct operation_record *op = &l->op;
	uint64_t at = op->begin_ns;

	for (uint32_t i = 0; i < op->n_stretches; i++) {
		const struct stretch *st = &op->stretches[i];

		if (st->cell == CELL_NET_SERVER && key &&
		    company_each(&s->engine->company, key - 1, machine_of(s, l), at, at + st->ns,
				 at_server, &a) == COMPANY_SURE)
			stretch_is_contended(l, i);
		if (st->cell == CELL_NET_SERVER && l->contended[i])
			l->seen_ns += st->ns;
		at += st->ns;
	}
}

void company_apply(struct sweep *s, struct sweep_thread *l)
{
	struct applying a = { s, l };
	uint32_t key = file_key(s, l);

	l->company = COMPANY_NONE;
	l->seen_ns = 0;
	if (key)
		l->company = company_each(&s->engine->company, key - 1, machine_of(s, l),
					  l->op.begin_ns, l->op.end_ns, on_file, &a);
	if (l->op.cells & cells_of_group(GROUP_SERVER))
		apply_server(s, l, server_key(s, l));
}

static void nothing(void *arg, uint32_t location, uint64_t from_ns, uint64_t to_ns, uint64_t ns)
{
	(void)arg;
	(void)location;
	(void)from_ns;
	(void)to_ns;
	(void)ns;
}

bool company_is_possible(const struct sweep *s, const struct sweep_thread *l)
{
	uint32_t key = file_key(s, l);

	return key && company_each(&s->engine->company, key - 1, machine_of(s, l), l->op.begin_ns,
				   l->op.end_ns, nothing, NULL) != COMPANY_NONE;
}

int64_t undecided_of(const struct sweep_thread *l, const struct loss *loss)
{
	uint64_t cells = 0;
	int64_t sum = 0;

	if (l->company == COMPANY_MAYBE)
		cells |= cells_of_group(GROUP_FILE);
	/* against a run alone it is known how long the server takes */
	if (!l->references->time)
		cells |= cells_of_group(GROUP_SERVER);
	cells &= loss->cells;
	while (cells) {
		enum cell c = cell_next(&cells);

		sum += loss->ns[c] - loss->interference_ns[c];
	}
	return sum;
}

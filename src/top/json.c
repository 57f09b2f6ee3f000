/* What sci-top --json prints, a line each time; doc/sci-top.schema.json describes it. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>

#include "src/report/json-set.h"
#include "src/report/process-sums.h"

static void put_score(struct json_object o, double sci, const struct slowdown *s,
		      const struct verdict *v)
{
	set(o, "sci", json_real(sci < 0 ? 0.0 : sci));
	set_int(o, "interference_ns", s->interference_ns);
	set_text(o, "level", v->level);
	set_text(o, "reason", v->reason);
}

static void put_culprits(struct json_object in, const struct frame *f, const struct blame *by,
			 uint32_t n)
{
	json_t *list = array_in(in, "culprits");

	for (uint32_t i = 0; i < n; i++) {
		struct json_object o = object_at_end(list, in.of);
		struct report_text room;

		set_text(o, "name", frame_culprit_name(f, &by[i], &room));
		set_count(o, "ns", by[i].ns);
	}
}

static void put_rate(struct json_object o, const struct frame *f, const struct rate *rate)
{
	double seconds = (double)f->window_ns / 1e9;

	set(o, "per_s", json_real((double)rate->n / seconds));
	set(o, "bytes_per_s", json_real((double)rate->bytes / seconds));
	set_count(o, "p99_ns", rate_p99(rate));
}

static void put_process(struct json_object o, const struct frame *f, const void *item)
{
	const struct process_sum *p = item;
	uint32_t process = (uint32_t)(p->process - f->seen.defs->processes);
	int64_t counted = slowdown_counted(&p->slowdown, SCI_DEFAULT);
	struct blame by[CULPRITS_SHOWN];

	put_score(o, p->lifetime_ns ? (double)counted / (double)p->lifetime_ns : 0, &p->slowdown,
		  &p->verdict);
	set_text(o, "process", p->process->name);
	set_count(o, "pid", p->process->pid);
	put_rate(o, f, &f->rates.processes[process]);
	put_culprits(o, f, by, frame_culprits_of_process(f, process, by));
}

static void put_thread(struct json_object o, const struct frame *f, const void *item)
{
	const struct thread_score *t = item;
	const struct eta_location *location = &f->seen.defs->locations[t->location];
	struct blame by[CULPRITS_SHOWN];

	put_score(o, t->sci, &t->slowdown, &t->verdict);
	set_text(o, "thread", location->name);
	set_count(o, "tid", location->tid);
	put_rate(o, f, &f->rates.locations[t->location]);
	put_culprits(o, f, by, frame_culprits_of_thread(t, by));
}

static void put_rows(struct json_object in, const char *key, const struct frame *f,
		     const struct view *view,
		     void (*put)(struct json_object o, const struct frame *f, const void *item))
{
	const struct table_options all = { 0 };
	json_t *list = array_in(in, key);
	struct table table;

	if (view_table(view, &f->seen, &all, &table) < 0)
		in.of->ok = false;
	for (size_t i = 0; in.of->ok && i < table.n; i++)
		put(object_at_end(list, in.of), f, ((const struct score_row *)table.rows[i])->item);
	table_free(&table);
}

static void put_devices(struct json_object in, const struct frame *f)
{
	const struct eta_defs *defs = f->seen.defs;
	json_t *list = array_in(in, "devices");

	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct rate *rate = &f->rates.locations[l];
		struct json_object o;

		if (defs->locations[l].kind != ETA_LOCATION_DEVICE)
			continue;
		o = object_at_end(list, in.of);
		set_text(o, "device", defs->locations[l].name);
		put_rate(o, f, rate);
		set(o, "queue", json_real((double)rate->ns / (double)f->window_ns));
	}
}

static void put_pressures(struct json_object in, const struct frame *f)
{
	struct json_object pressure = object_in(in, "pressure"), o;

	for (int i = 0; i < N_PRESSURES; i++) {
		if (!f->pressures[i].known)
			continue;
		o = object_in(pressure, pressure_names[i]);
		set(o, "some", json_real(f->pressures[i].some));
		set(o, "full", json_real(f->pressures[i].full));
	}
}

int top_json(FILE *out, const struct frame *f)
{
	/* the words of sci-analyze's version 2; the keys have a version of their own */
	struct document document = { .ok = true, .version = 2 };
	struct json_object o = { json_object(), &document };
	const struct analysis *a = &f->seen;
	int rc = -ENOMEM;

	set_int(o, "version", 1);
	set(o, "time_s", json_real((double)f->real_ns / 1e9));
	set(o, "window_s", json_real((double)f->window_ns / 1e9));
	set(o, "light", json_boolean(a->light));
	set_count(o, "lost", f->lost);
	set(o, "sci_total", json_real(a->sci_total));
	if (a->headline != ETA_NONE)
		set_text(o, "most_slowed",
			 a->defs->locations[a->threads[a->headline].location].name);
	put_pressures(o, f);
	put_rows(o, "processes", f, &top_process, put_process);
	put_rows(o, "threads", f, &top_thread, put_thread);
	put_devices(o, f);
	if (document.ok)
		rc = json_write(o.json, out, JSON_COMPACT);
	json_decref(o.json);
	if (rc == 0 && (fputc('\n', out) == EOF || fflush(out) == EOF))
		rc = -EIO;
	return rc;
}

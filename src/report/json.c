/* The analysis as json: the keys are a contract, `version` counts its breaks. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <stdlib.h>

#include "advice.h"
#include "culprits.h"
#include "json-habits.h"
#include "json-layers.h"
#include "json-sums.h"
#include "json-set.h"
#include "premises.h"
#include "src/analysis/tables/io-time.h"
#include "src/common/clock-error.h"
#include "src/common/machines.h"
#include "src/common/texts.h"
#include "words.h"

/* ---- parts ---- */

static void put_verdict(struct json_object in, const struct verdict *v, const char *advice)
{
	struct json_object o = object_in(in, "verdict");

	set_text(o, "level", v->level);
	set_text(o, "reason", word_in_version(word_of_reason(v->reason), o.of->version));
	set(o, "share", json_real(v->share));
	if (v->cpu_share > 0)
		set(o, "cpu_share", json_real(v->cpu_share));
	if (v->beside_level && o.of->version > 1) {
		struct json_object beside = object_in(o, "beside");

		set_text(beside, "level", v->beside_level);
		set_text(beside, "reason", word_of_reason(v->beside_reason));
		set(beside, "share", json_real(v->beside_share));
	}
	set_text(o, "advice", advice);
}

static void put_levels(struct json_object in, const char *key, const int64_t level_ns[ETA_N_LEVELS],
		       bool all)
{
	struct json_object o = object_in(in, key);

	for (int l = 0; l < ETA_N_LEVELS; l++)
		if (l == ETA_LEVEL_USER || (all && (l != ETA_LEVEL_NET || level_ns[l])))
			set_int(o, eta_level_name((enum eta_level)l), level_ns[l]);
}

static void put_slowdown(struct json_object o, const struct slowdown *s, bool all_levels)
{
	int64_t level_ns[ETA_N_LEVELS] = { 0 }, reason_ns[ETA_N_REASONS] = { 0 };
	struct json_object reasons;

	for (int c = 0; c < N_CELLS; c++) {
		level_ns[cell_table[c].level] += s->cell_ns[c];
		reason_ns[cell_table[c].reason] += s->cell_ns[c];
	}
	put_levels(o, "levels", level_ns, all_levels);
	reasons = object_in(o, "reasons");
	for (int r = 1; r < ETA_N_REASONS; r++)
		if (reason_ns[r])
			set_int(reasons, word_of_reason(eta_reason_name((enum eta_reason)r)),
				reason_ns[r]);
}

/* A key of version 2. */
static void set_own_limit(struct json_object o, int64_t ns)
{
	if (o.of->version > 1)
		set_int(o, "own_limit_ns", ns);
}

static void put_interference(struct json_object o, const struct slowdown *s)
{
	set_int(o, "interference_ns", s->interference_ns);
	set_own_limit(o, s->limit_ns);
	set_int(o, "self_ns", slowdown_self(s));
}

static void put_alike(struct json_object o, int64_t ns)
{
	if (o.of->version > 1)
		set_int(o, "alike_ns", ns);
}

static void put_undecided(struct json_object o, int64_t ns)
{
	if (o.of->version > 1 && ns > 0)
		set_int(o, "undecided_ns", ns);
}

/* Interference only, by level. */
static void put_interference_levels(struct json_object o, const struct slowdown *s, bool all_levels)
{
	int64_t level_ns[ETA_N_LEVELS] = { 0 };

	for (int c = 0; c < N_CELLS; c++)
		level_ns[cell_table[c].level] += s->interference_cell_ns[c];
	put_levels(o, "interference_levels", level_ns, all_levels);
}

static bool is_elsewhere(const struct analysis *a, const struct blame *b, uint32_t victim)
{
	if (victim == ETA_NONE)
		return true;
	return b->location != ETA_NONE &&
	       location_machine(a->defs, b->location) != location_machine(a->defs, victim);
}

/* VICTIM: its location, mostly on the machine of those that slowed it; ETA_NONE: several. */
static void put_blame(struct json_object in, const struct analysis *a, const struct blame *blame,
		      uint32_t n, uint32_t victim)
{
	json_t *array = array_in(in, "blame");
	bool guests = machines_have_guests(a->defs);

	for (uint32_t i = 0; i < n && in.of->ok; i++) {
		struct json_object o = object_at_end(array, in.of);

		set_count(o, "tid", blame[i].tid);
		set_text(o, "name", report_culprit(a, &blame[i]));
		if (guests || is_elsewhere(a, &blame[i], victim))
			set_host(o, a, report_culprit_host(a, &blame[i]));
		set_count(o, "culprits", blame[i].culprits);
		set_int(o, "ns", blame[i].ns);
		set_int(o, "named_ns", blame[i].named_ns);
	}
}

static void put_file(struct json_object o, const struct analysis *a, const struct file_score *f)
{
	set_text(o, "path", f->path);
	if (f->machines > 1 && o.of->version > 1)
		set_count(o, "machines", f->machines);
	else
		set_host(o, a, machine_name(a->defs, f->machine));
	set_count(o, "dev", f->dev);
	set_count(o, "inode", f->inode);
	set_count(o, "operations", f->operations);
	set_count(o, "bytes_read", f->bytes_read);
	set_count(o, "bytes_written", f->bytes_written);
	set_count(o, "io_ns", f->io_ns);
	set_int(o, "lost_ns", f->slowdown.lost_ns);
	if (a->options.sci == SCI_DEFAULT) {
		put_interference(o, &f->slowdown);
		set_int(o, "path_ns", f->slowdown.path_ns);
	}
	put_slowdown(o, &f->slowdown, a->has_levels);
	put_verdict(o, &f->verdict, f->verdict.advice);
}

/* Where the time in operations went, whoever is to blame. */
static void put_time(struct json_object o, const uint64_t time_ns[N_CELLS], bool all_levels)
{
	int64_t level_ns[ETA_N_LEVELS] = { 0 };

	for (int c = 0; c < N_CELLS; c++)
		level_ns[cell_table[c].level] += (int64_t)time_ns[c];
	put_levels(o, "io_levels", level_ns, all_levels);
}

/* From the trace's first event on; they sum to what the application lost. */
static void put_bin(struct json_object o, const struct analysis *a, uint32_t number)
{
	const struct bin *b = &a->bins[number];

	set_count(o, "begin_ns", analysis_bin_begin(a->duration_ns, number, a->options.n_bins));
	set_count(o, "end_ns", analysis_bin_begin(a->duration_ns, number + 1, a->options.n_bins));
	set_count(o, "operations", b->operations);
	set_count(o, "io_ns", b->io_ns);
	set_int(o, "lost_ns", b->lost_ns);
	if (a->options.sci == SCI_DEFAULT) {
		set_int(o, "interference_ns", b->interference_ns);
		set_own_limit(o, b->limit_ns);
	}
	put_levels(o, a->options.sci == SCI_DEFAULT ? "interference_levels" : "levels", b->level_ns,
		   a->has_levels);
}

static void put_trace(struct json_object in, const struct analysis *a)
{
	struct json_object o = object_in(in, "trace");
	uint64_t clock_error_ns;

	set_count(o, "duration_ns", a->duration_ns);
	set_count(o, "locations", a->defs->n_locations);
	set_count(o, "events", a->events);
	set_count(o, "operations", a->operations);
	set_count(o, "lost_events", a->counts.lost);
	set_count(o, "orphans", a->counts.orphan);
	set_count(o, "truncated", a->counts.truncated);
	set_count(o, "bad", a->counts.bad);
	set_count(o, "overlapping_regions", a->counts.overlapping);
	set_count(o, "out_of_order", a->counts.out_of_order);
	set_count(o, "unmatched", a->counts.unmatched);
	set_count(o, "open_requests", a->open_bios);
	set_count(o, "low_confidence", a->low_confidence);
	set(o, "has_levels", json_boolean(a->has_levels));
	if (o.of->version > 1 && a->options.sci == SCI_DEFAULT)
		set_count(o, "suspended_ns", a->suspended_ns);
	if (o.of->version > 1 && a->options.sci == SCI_DEFAULT && a->counts.missing)
		set_count(o, "missing", a->counts.missing);
	if (o.of->version > 1 && a->options.sci == SCI_DEFAULT &&
	    clock_error_of(a->defs, &clock_error_ns))
		set(o, "clock_error_ns",
		    clock_error_ns == UINT64_MAX ? json_null()
						 : json_integer((json_int_t)clock_error_ns));
	if (o.of->version > 1 && a->options.sci == SCI_DEFAULT && a->light)
		set(o, "light", json_true());
	if (o.of->version > 1 && a->options.sci == SCI_DEFAULT && a->overwritten)
		set_count(o, "overwritten", a->overwritten);
}

static void put_mode(struct json_object in, const struct analysis *a)
{
	struct json_object o = object_in(in, "mode");
	char reference[4096];

	report_reference_name(&a->options, reference, sizeof(reference));
	set_text(o, "sci", a->options.sci == SCI_PAPER ? "paper" : "default");
	set_text(o, "similar", a->options.similar == SIMILAR_PAPER ? "paper" : "default");
	set_text(o, "reference", reference);
}

/* Who lost most: not the one with the largest part of a short lifetime. */
static void put_headline(struct json_object in, const struct analysis *a)
{
	struct json_object o = object_in(in, "headline");
	const struct thread_score *t = &a->threads[a->headline];
	const struct eta_location *l = &a->defs->locations[t->location];

	set_count(o, "pid", l->process == ETA_NONE ? 0 : a->defs->processes[l->process].pid);
	set_count(o, "tid", l->tid);
	set_text(o, "name", l->name);
	set_host(o, a, location_host(a->defs, t->location));
	set(o, "sci", json_real(t->sci));
	set(o, "sci_low", json_real(t->sci_low));
	set(o, "sci_high", json_real(t->sci_high));
	set_int(o, "interference_ns", t->slowdown.interference_ns);
	set_count(o, "lifetime_ns", t->lifetime_ns);
}

/* The same as blame[], those of one program together. */
static void put_culprits(struct json_object in, const struct analysis *a)
{
	json_t *array = array_in(in, "culprits");
	struct culprit *list;
	uint32_t n;

	if (culprits_new(a, a->blame, a->n_blame, &list, &n) < 0)
		in.of->ok = false;
	for (uint32_t i = 0; i < n && in.of->ok; i++) {
		struct json_object o = object_at_end(array, in.of);

		set_text(o, "name", list[i].processes ? list[i].name : "unknown");
		set_host(o, a, list[i].host);
		set_count(o, "processes", list[i].processes);
		set_count(o, "threads", list[i].threads);
		set_int(o, "ns", list[i].ns);
		set_int(o, "named_ns", list[i].named_ns);
	}
	free(list);
}

static void put_application(struct json_object in, const struct analysis *a)
{
	struct json_object o = object_in(in, "application");
	uint32_t tid = 0;

	if (a->max_thread != ETA_NONE)
		tid = a->defs->locations[a->threads[a->max_thread].location].tid;
	set(o, "sci_max", json_real(a->sci_max));
	set_count(o, "sci_max_tid", tid);
	set(o, "sci_total", json_real(a->sci_total));
	set_count(o, "io_ns", a->io_ns);
	set_count(o, "lifetime_ns", a->lifetime_ns);
	set_int(o, "lost_ns", a->slowdown.lost_ns);
	if (a->options.sci == SCI_DEFAULT) {
		put_interference(o, &a->slowdown);
		set_int(o, "path_ns", a->slowdown.path_ns);
		put_alike(o, a->alike_ns);
		put_undecided(o, a->undecided_ns);
		if (o.of->version > 1)
			set(o, "slowed_alike", json_boolean(a->slowed_alike));
	}
	put_slowdown(o, &a->slowdown, a->has_levels);
	if (a->options.sci == SCI_DEFAULT)
		put_interference_levels(o, &a->slowdown, a->has_levels);
	put_time(o, a->time_ns, a->has_levels);
	if (a->options.sci == SCI_DEFAULT)
		put_blame(o, a, a->blame, a->n_blame, ETA_NONE);
	if (a->options.sci != SCI_DEFAULT || o.of->version == 1)
		return;
	if (a->headline != ETA_NONE)
		put_headline(o, a);
	put_culprits(o, a);
}

/* Of version 2: where the launcher of an MPI job gives its process. */
static void set_rank(struct json_object o, const struct analysis *a, uint32_t process)
{
	if (o.of->version == 1 || a->options.sci != SCI_DEFAULT || process == ETA_NONE ||
	    !a->ranks[process].known)
		return;
	set_count(o, "rank", a->ranks[process].rank);
	if (*a->ranks[process].job)
		set_text(o, "job", a->ranks[process].job);
}

static void put_thread(struct json_object o, const struct analysis *a, const struct thread_score *t)
{
	const struct eta_location *l = &a->defs->locations[t->location];
	const struct slowdown *s = &t->slowdown;
	bool split = a->options.sci == SCI_DEFAULT;

	set_count(o, "location", l->id);
	set_count(o, "pid", l->process == ETA_NONE ? 0 : a->defs->processes[l->process].pid);
	set_count(o, "tid", l->tid);
	set_text(o, "name", l->name);
	set_host(o, a, location_host(a->defs, t->location));
	set_rank(o, a, l->process);
	set(o, "lifetime_ns", t->scored ? json_integer((json_int_t)t->lifetime_ns) : json_null());
	set_count(o, "io_ns", t->io_ns);
	set_count(o, "operations", t->operations);
	set_int(o, "lost_ns", s->lost_ns);
	if (split) {
		put_interference(o, s);
		set_int(o, "path_ns", s->path_ns);
		put_alike(o, t->alike_ns);
		put_undecided(o, t->undecided_ns);
		set_count(o, "slowed_ns", t->slowed_ns);
	}
	set(o, "sci", t->scored ? json_real(t->sci) : json_null());
	if (split) {
		set(o, "sci_low", t->scored ? json_real(t->sci_low) : json_null());
		set(o, "sci_high", t->scored ? json_real(t->sci_high) : json_null());
	}
	set(o, "sci_io", json_real(t->sci_io));
	put_slowdown(o, s, a->has_levels);
	if (split)
		put_interference_levels(o, s, a->has_levels);
	put_time(o, t->time_ns, a->has_levels);
	put_verdict(o, &t->verdict, t->verdict.advice);
	if (split)
		put_blame(o, a, t->blame, t->n_blame, t->location);
}

/* How much shorter it would be, and of what. */
static void put_process(struct json_object o, const struct analysis *a,
			const struct process_score *p)
{
	const struct eta_process *process = &a->defs->processes[p->process];

	set_count(o, "pid", process->pid);
	set_text(o, "name", process->name);
	set_host(o, a, process->host);
	set_rank(o, a, p->process);
	set_count(o, "wall_ns", p->wall_ns);
	set_int(o, "lost_ns", p->slowdown.lost_ns);
	put_interference(o, &p->slowdown);
	set_int(o, "saved_ns", p->saved_ns);
	set_int(o, "saved_all_ns", p->saved_all_ns);
	set_int(o, "saved_most_ns", p->saved_most_ns);
	put_verdict(o, &p->verdict, p->verdict.advice);
}

static void put_class(struct json_object o, const struct analysis *a, const struct class_score *c)
{
	set_text(o, "function", c->function);
	if (a->options.similar == SIMILAR_DEFAULT) {
		set_text(o, "path", c->path);
		set_count(o, "size_bytes", c->size_bytes);
	}
	set_count(o, "count", c->n);
	set_count(o, "reference_ns", c->reference_ns);
	set_count(o, "min_ns", c->min_ns);
	set_count(o, "p50_ns", c->p50_ns);
	set_count(o, "p99_ns", c->p99_ns);
	set_count(o, "max_ns", c->max_ns);
	set_count(o, "total_ns", c->total_ns);
	set_int(o, "lost_ns", c->lost_ns);
	put_levels(o, "levels", c->level_ns, a->has_levels);
}

static void put_place(struct json_object o, const struct analysis *a, const struct code_place *p)
{
	const struct eta_module *m = p->module == ETA_NONE ? NULL : &a->defs->modules[p->module];

	set_count(o, "address", p->address);
	set_text(o, "module", m ? m->path : "");
	set_text(o, "build_id", m ? m->build_id : "");
	set_count(o, "offset", m ? p->offset : 0);
	set_text(o, "function", p->function);
	set_text(o, "file", p->file);
	set_count(o, "line", p->line);
}

static void put_callsite(struct json_object o, const struct analysis *a,
			 const struct callsite_score *s)
{
	put_place(o, a, &s->place);
	if (s->from.address)
		put_place(object_in(o, "from"), a, &s->from);
	set_text(o, "call", s->region == ETA_NONE ? "" : report_callsite_call(a, s));
	set_count(o, "count", s->n);
	set_count(o, "total_ns", s->total_ns);
	set_int(o, "lost_ns", s->slowdown.lost_ns);
	if (a->options.sci == SCI_DEFAULT) {
		set_int(o, "interference_ns", s->slowdown.interference_ns);
		set_own_limit(o, s->slowdown.limit_ns);
	}
	put_slowdown(o, &s->slowdown, a->has_levels);
	put_verdict(o, &s->verdict, s->verdict.advice);
}

/* Kernel threads without operations of their own say nothing here. */
static bool is_reported(const struct thread_score *t)
{
	return t->scored || t->operations;
}

#define REALS JSON_REAL_PRECISION(15)

/* What is of the whole trace. */
static void put_whole(struct json_object root, const struct analysis *a)
{
	set_count(root, "version", root.of->version);
	put_trace(root, a);
	put_mode(root, a);
	put_application(root, a);
	json_put_sums(root, a);
	json_put_layers(root, a);
}

static void put_end(struct json_object root, const struct analysis *a)
{
	char advice[1024];

	advice_text(a, advice, sizeof(advice));
	put_verdict(root, &a->verdict, root.of->version == 1 ? a->verdict.advice : advice);
	if (a->options.habits)
		json_put_habits(root, a);
}

int report_json_summary(FILE *out, const struct analysis *a)
{
	struct document document = { .ok = true, .version = JSON_VERSION };
	struct json_object root = { json_object(), &document };
	int rc = -ENOMEM;

	put_whole(root, a);
	put_end(root, a);
	if (document.ok)
		rc = json_write(root.json, out, JSON_COMPACT | REALS) < 0 || fputc('\n', out) == EOF
			     ? -EIO
			     : 0;
	json_decref(root.json);
	return rc;
}

/* ---- all of it, of which no more is in memory than one row of a list ---- */

struct stream {
	struct json_stream json;
	struct document document;
	int rc;
};

/* The members of what FILL sets. */
static void write_members(struct stream *s, const struct analysis *a,
			  void (*fill)(struct json_object, const struct analysis *))
{
	struct json_object o = { json_object(), &s->document };
	const char *key;
	json_t *value;

	fill(o, a);
	if (!s->rc)
		s->rc = s->document.ok ? 0 : -ENOMEM;
	json_object_foreach (o.json, key, value) {
		if (!s->rc)
			s->rc = json_stream_member(&s->json, key, value);
	}
	json_decref(o.json);
}

/* A list: PUT fills the object of row I; one that stays empty is left out. */
static void write_list(struct stream *s, const char *key, const struct analysis *a, uint32_t n,
		       void (*put)(struct json_object, const struct analysis *, uint32_t))
{
	if (!s->rc)
		s->rc = json_stream_list(&s->json, word_in_version(key, s->document.version));
	for (uint32_t i = 0; i < n && !s->rc; i++) {
		struct json_object o = { json_object(), &s->document };

		put(o, a, i);
		if (!s->document.ok)
			s->rc = -ENOMEM;
		else if (json_object_size(o.json))
			s->rc = json_stream_item(&s->json, o.json);
		json_decref(o.json);
	}
	if (!s->rc)
		s->rc = json_stream_list_end(&s->json);
}

#define ROW(name, list)                                                                            \
	static void put_##name##_row(struct json_object o, const struct analysis *a, uint32_t i)   \
	{                                                                                          \
		put_##name(o, a, &a->list[i]);                                                     \
	}
ROW(process, processes)
ROW(class, classes)
ROW(file, files)
ROW(callsite, callsites)
#undef ROW

static void put_thread_row(struct json_object o, const struct analysis *a, uint32_t i)
{
	if (is_reported(&a->threads[i]))
		put_thread(o, a, &a->threads[i]);
}

static void put_bin_row(struct json_object o, const struct analysis *a, uint32_t i)
{
	put_bin(o, a, i);
}

int report_json(FILE *out, const struct analysis *a, unsigned version)
{
	struct stream s = { .document = { .ok = true, .version = version } };

	json_stream_begin(&s.json, out, REALS);
	write_members(&s, a, put_whole);
	write_list(&s, "threads", a, a->n_threads, put_thread_row);
	if (version > 1 && a->options.sci == SCI_DEFAULT)
		write_list(&s, "processes", a, a->n_processes, put_process_row);
	write_list(&s, "classes", a, a->n_classes, put_class_row);
	if (a->options.files)
		write_list(&s, "files", a, a->n_files, put_file_row);
	if (a->options.callsites)
		write_list(&s, "callsites", a, a->n_callsites, put_callsite_row);
	if (a->options.n_bins)
		write_list(&s, "timeline", a, a->options.n_bins, put_bin_row);
	write_members(&s, a, put_end);
	return s.rc ? s.rc : json_stream_end(&s.json);
}

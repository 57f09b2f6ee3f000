/* What sci-top prints: text, a line of json, metrics. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "eta-ext/base/plural.h"
#include "src/common/texts.h"
#include "src/export/output.h"
#include "src/report/process-sums.h"

/* ---- text ---- */

void top_head(FILE *out, const struct frame *f, unsigned width)
{
	const struct analysis *a = &f->seen;
	time_t now = (time_t)(f->real_ns / 1000000000);
	char line[1024], why[1024] = "", clock[32];
	size_t used = 0;
	struct tm tm;

	strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	/* what is kept is compared with logs and recordings */
	if (!width)
		snprintf(clock + strlen(clock), sizeof(clock) - strlen(clock), ".%03" PRIu64,
			 f->real_ns / 1000000 % 1000);
	if (a->headline == ETA_NONE) {
		snprintf(line, sizeof(line), "%s, last %s: no I/O", clock,
			 report_duration((int64_t)f->window_ns).text);
	} else {
		const struct thread_score *t = &a->threads[a->headline];
		struct blame most[CULPRITS_SHOWN];
		struct report_text room;
		const char *by = frame_culprits_of_thread(t, most)
					 ? frame_culprit_name(f, &most[0], &room)
					 : NULL;

		snprintf(line, sizeof(line), "%s, last %s: SCI %s of %s%s%s", clock,
			 report_duration((int64_t)f->window_ns).text, report_score(t->sci).text,
			 a->defs->locations[t->location].name, by ? ", by " : "", by ? by : "");
		used = (size_t)snprintf(why, sizeof(why), "%s; all threads together %s",
					report_verdict(&t->verdict).text,
					report_score(a->sci_total).text);
	}
	table_line(out, line, width);
	if (a->light && used)
		used += (size_t)snprintf(why + used, sizeof(why) - used,
					 "; only calls that waited%s",
					 width ? "" : " (--full: all)");
	for (int i = 0, n = 0; i < N_PRESSURES; i++) {
		char one[64];

		snprintf(one, sizeof(one), "%s%s %.0f %%",
			 n	? ", "
			 : used ? "; pressure: "
				: "pressure: ",
			 pressure_names[i], f->pressures[i].some);
		/* whole or not at all */
		if (!f->pressures[i].known || (width && used + strlen(one) > width))
			continue;
		used += (size_t)snprintf(why + used, sizeof(why) - used, "%s", one);
		n++;
	}
	if (f->lost)
		used += (size_t)snprintf(why + used, sizeof(why) - used,
					 "%s%" PRIu64 " record%s lost", used ? "; " : "", f->lost,
					 plural(f->lost));
	if (used)
		table_line(out, why, width);
}

/* The threads of each process that is shown, under its name. */
static int put_tree(FILE *out, const struct frame *f, const struct top_look *look,
		    const struct table *processes)
{
	unsigned shown = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < processes->n; i++) {
		const struct process_sum *p = ((const struct score_row *)processes->rows[i])->item;
		struct table_options options = { .sort = NULL, .n_filters = 1 };
		struct table threads;
		char filter[32], line[512];

		if (look->table.top && shown++ == look->table.top)
			break;
		snprintf(line, sizeof(line), "%.128s pid %" PRIu32 ": SCI %s, %s", p->process->name,
			 p->process->pid,
			 report_score(p->lifetime_ns ? (double)slowdown_counted(&p->slowdown,
										SCI_DEFAULT) /
							       (double)p->lifetime_ns
						     : 0)
				 .text,
			 report_verdict(&p->verdict).text);
		table_line(out, line, look->table.width);
		snprintf(filter, sizeof(filter), "pid=%" PRIu32, p->process->pid);
		options.filters[0] = filter;
		options.width = look->table.width;
		rc = view_table(&top_thread, &f->seen, &options, &threads);
		if (rc == 0 && threads.n)
			rc = table_text(out, &threads, &options);
		table_free(&threads);
	}
	return rc;
}

int top_table(FILE *out, const struct frame *f, const struct top_look *look)
{
	const struct view *view = look->tree ? &top_process : look->view;
	struct table table;
	int rc = view_table(view, &f->seen, &look->table, &table);

	if (rc == 0 && table.n == 0)
		fprintf(out, "no %s%s\n", table.name,
			look->table.n_filters ? " that the filter lets through" : "");
	else if (rc == 0)
		rc = look->tree ? put_tree(out, f, look, &table)
				: table_text(out, &table, &look->table);
	table_free(&table);
	return rc;
}

/* ---- metrics ---- */

/* As the format wants it: a backslash before what would end the value. */
static void put_label(FILE *out, const char *name, const char *value, const char *before)
{
	char shown[4 * 256 + 1];

	eta_printable(value, shown, sizeof(shown));
	fprintf(out, "%s%s=\"", before, name);
	for (const char *c = shown; *c; c++) {
		if (*c == '"' || *c == '\\')
			putc('\\', out);
		putc(*c, out);
	}
	putc('"', out);
}

static void put_gauge(FILE *out, const char *name, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static void put_processes(FILE *out, const struct table *table)
{
	put_gauge(out, "sci_process_score", "part of its threads' lifetime that others took");
	for (size_t i = 0; i < table->n; i++) {
		const struct score_row *row = table->rows[i];
		const struct process_sum *p = row->item;
		double sci = (double)slowdown_counted(&p->slowdown, SCI_DEFAULT) /
			     (double)(p->lifetime_ns ? p->lifetime_ns : 1);
		char pid[16];

		snprintf(pid, sizeof(pid), "%" PRIu32, p->process->pid);
		put_label(out, "process", p->process->name, "sci_process_score{");
		put_label(out, "pid", pid, ",");
		put_label(out, "level", p->verdict.level, ",");
		put_label(out, "reason", p->verdict.reason, ",");
		fprintf(out, "} %.6f\n", sci < 0 ? 0 : sci);
	}
}

static void put_devices(FILE *out, const struct frame *f)
{
	static const char *const names[] = { "sci_device_queue", "sci_device_p99_seconds",
					     "sci_device_bytes_per_second" };
	static const char *const help[] = { "requests in flight, on average",
					    "99 of 100 requests take no longer",
					    "bytes of requests" };

	for (int m = 0; m < 3; m++) {
		put_gauge(out, names[m], help[m]);
		for (uint32_t l = 0; l < f->seen.defs->n_locations; l++) {
			const struct rate *rate = &f->rates.locations[l];
			double values[] = { (double)rate->ns / (double)f->window_ns,
					    (double)rate_p99(rate) / 1e9,
					    (double)rate->bytes * 1e9 / (double)f->window_ns };

			if (f->seen.defs->locations[l].kind != ETA_LOCATION_DEVICE)
				continue;
			fputs(names[m], out);
			put_label(out, "device", f->seen.defs->locations[l].name, "{");
			fprintf(out, "} %.6f\n", values[m]);
		}
	}
}

int top_metrics(const char *path, const struct frame *f)
{
	const struct table_options all = { 0 };
	struct output output;
	struct table table;
	int rc = view_table(&top_process, &f->seen, &all, &table);

	if (rc)
		eta_error("not enough memory for the metrics");
	else
		rc = output_open(&output, path, 0644);
	if (rc == 0) {
		put_gauge(output.file, "sci_score",
			  "part of all threads' lifetime that others took");
		fprintf(output.file, "sci_score %.6f\n", f->seen.sci_total);
		put_gauge(output.file, "sci_lost_records", "records that the tracer lost");
		fprintf(output.file, "sci_lost_records %" PRIu64 "\n", f->lost);
		put_processes(output.file, &table);
		put_devices(output.file, f);
		fputs("# EOF\n", output.file);
		rc = output_close(&output, 0);
	}
	table_free(&table);
	return rc;
}

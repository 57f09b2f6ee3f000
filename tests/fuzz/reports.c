/* What commands make of a trace: exports, reports and the page, in any form, written to nowhere. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"
#include "src/export/export.h"
#include "src/report/html/html.h"
#include "src/report/views.h"
#include "src/report/workload.h"

static const struct export_format *const formats[] = {
#define X(name) &export_##name,
	EXPORT_FORMATS(X)
#undef X
};

static const struct view *const views[] = {
#define X(name) &view_##name,
	VIEWS(X)
#undef X
};

static void export(struct eta_trace *trace, const struct export_format *format, FILE *out)
{
	struct export e = { .trace = trace, .defs = eta_trace_defs(trace), .out = out };

	if (eta_trace_start(trace, &e.start_ns) == 0 && export_init(&e) == 0)
		format->run(&e);
	export_free(&e);
}

/* As text, as csv and as json. */
static void show(const struct analysis *a, const struct view *view, FILE *out)
{
	struct table_options options = { .top = 10, .json_version = 2 };
	const struct table *list;
	struct table table;

	report_text(out, a, view, &options);
	if (view_table(view, a, &options, &table) == 0) {
		list = &table;
		table_csv(out, &table, &options);
		table_json(out, view->name, &list, 1, &options);
	}
	table_free(&table);
}

static void analyse(struct eta_trace *trace, FILE *out)
{
	static char name[] = "trace", *paths[] = { name };
	struct analysis_options options = { .threads = 1,
					    .callsites = true,
					    .files = true,
					    .n_bins = html_bins(trace),
					    .n_slowed = LANES_DETAILS,
					    .n_culprits = ANALYSIS_CULPRITS,
					    .habits = true,
					    .squares = true };
	struct analysis *a = NULL;
	struct lanes *lanes;

	if (lanes_new(trace, &lanes) < 0)
		return;
	options.tap = lanes_tap(lanes);
	if (analysis_run(trace, &options, &a) == 0) {
		for (size_t i = 0; i < sizeof(views) / sizeof(*views); i++)
			show(a, views[i], out);
		report_json(out, a, 1);
		report_json(out, a, 2);
		report_html(out, &(struct html){ .sides = { { a, lanes, paths, 1 } },
						 .n_sides = 1,
						 .most_bytes = 64 << 20 });
	}
	lanes_free(lanes);
	analysis_free(a);
}

static void workload(struct eta_trace *trace, FILE *out)
{
	struct workload_options options = { .interval_ns = 1000000000, .threads = 1 };
	struct table_options shown = { .top = 10, .json_version = 2 };
	struct table table = { 0 };
	struct workload *w = NULL;

	if (workload_run(trace, &options, &w) == 0 && workload_table(w, &shown, &table) == 0)
		workload_text(out, w, &table, &shown);
	table_free(&table);
	workload_free(w);
}

void fuzz_reports(struct eta_trace *trace)
{
	FILE *out = fopen("/dev/null", "we");

	if (!out)
		return;
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		export(trace, formats[i], out);
	analyse(trace, out);
	workload(trace, out);
	fclose(out);
}

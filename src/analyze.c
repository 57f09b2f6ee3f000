/* What sci-analyze does: traces in, their scores out, in the form that was asked for. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "analyze.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze-jobs.h"
#include "analyze-options.h"
#include "cli.h"
#include "export/output.h"
#include "inputs.h"
#include "outputs.h"
#include "src/common/progress.h"
#include "report/compare.h"
#include "report/html/html.h"
#include "report/screen.h"
#include "report/unnamed.h"
#include "report/vm-files.h"
#include "report/workload.h"
#include "symbols.h"

static void fit_terminal(struct analyze_options *o)
{
	o->table.width = screen_width(STDOUT_FILENO);
	o->table.blocks = screen_has_blocks(STDOUT_FILENO);
	/* who says how many rows gets them */
	o->table.height = o->rows_given ? 0 : screen_height(STDOUT_FILENO);
}

static int open_baseline(struct analyze_options *o)
{
	char *path = (char *)(uintptr_t)o->baseline;

	return o->baseline ? inputs_open(&path, 1, &o->open, &o->analysis.baseline) : 0;
}

/* What the reading of TRACE, and of OTHER unless NULL, is going to take, as a line that moves. */
static void begin_progress(struct analyze_options *o, struct progress *progress,
			   const struct eta_trace *trace, const struct eta_trace *other)
{
	uint64_t events = progress_events(trace), more = other ? progress_events(other) : 0;

	progress_begin(progress, events && (more || !other) ? events + more : 0, false);
	o->analysis.progress = progress_step;
	o->analysis.progress_arg = progress;
}

/* What a page wants more of the analysis. */
static int prepare_page(struct analyze_options *o, struct eta_trace *trace, struct lanes **lanes)
{
	int rc = lanes_new(trace, lanes);

	if (rc == -ENOMEM)
		eta_error("not enough memory for the page");
	if (rc)
		return rc;
	o->analysis.n_bins = html_bins(trace);
	o->analysis.tap = lanes_tap(*lanes);
	return 0;
}

/* TRACE is of the N PATHS. LANES: of a page, else NULL. */
static int analyse(struct analyze_options *o, char *const *paths, size_t n, struct eta_trace *trace,
		   struct analysis **analysis, struct lanes **lanes)
{
	struct progress progress;
	int rc = o->form == FORM_HTML ? prepare_page(o, trace, lanes) : 0;

	if (!rc)
		rc = analyze_job(o->analysis.exchange, o, paths, n);
	if (rc)
		return rc;
	begin_progress(o, &progress, trace, o->analysis.baseline);
	rc = analysis_run(trace, &o->analysis, analysis);
	progress_end(&progress);
	return rc;
}

static int written(int rc)
{
	if (rc == -ENOMEM) {
		eta_error("not enough memory to show the result");
		return rc;
	}
	if (rc < 0 || fflush(stdout) == EOF) {
		eta_error("standard output: cannot write the report: %s", strerror(errno));
		return -EIO;
	}
	return 0;
}

static int show_table(const struct analyze_options *o, const char *name, const struct table *table)
{
	return o->form == FORM_CSV ? table_csv(stdout, table, &o->table)
				   : table_json(stdout, name, &table, 1, &o->table);
}

/* Is HEAD the beginning of a page of ours? */
static bool is_page(const void *arg, const char *head, size_t size)
{
	(void)arg;
	return size >= strlen(HTML_BEGINS) && strncmp(head, HTML_BEGINS, strlen(HTML_BEGINS)) == 0;
}

/* Before anything is read: may the page be written there? */
static int check_page(const struct analyze_options *o)
{
	struct inputs inputs;
	int rc;

	if (o->form != FORM_HTML || output_is_stdout(o->html))
		return 0;
	broken_off_leaves("%s is not written (the same command writes it)", o->html);
	rc = inputs_find(o->paths, o->n_paths, true, &inputs);
	if (!rc)
		rc = output_check(&(struct output_place){ .path = o->html,
							  .inputs = inputs.paths,
							  .n_inputs = inputs.n,
							  .is_own = is_page,
							  .what = "page of sci-analyze" });
	inputs_free(&inputs);
	return rc;
}

static int show_page(const struct analyze_options *o, struct html *html)
{
	bool to_file = !output_is_stdout(o->html);
	struct progress progress;
	struct output output;
	int rc;

	/* from here on a signal waits until the file has its name, or nothing is left of it */
	progress_begin(&progress, 0, true);
	rc = output_open(&output, to_file ? o->html : NULL, 0600);
	if (rc)
		goto out;
	html->most_bytes = o->html_bytes;
	rc = report_html(output.file, html);
	if (rc == -ENOMEM)
		eta_error("not enough memory for the page");
	rc = output_close(&output, rc);
	if (!rc && to_file)
		broken_off_leaves("%s is complete", o->html);
out:
	progress_end(&progress);
	return rc;
}

static int show_score(const struct analyze_options *o, const struct analysis *a,
		      struct lanes *lanes)
{
	struct table table;
	int rc;

	if (o->form == FORM_HTML)
		return show_page(o, &(struct html){ .sides = { { a, lanes, o->paths, o->n_paths } },
						    .n_sides = 1 });
	if (o->form == FORM_JSON)
		return written(report_json(stdout, a, o->table.json_version));
	if (o->form == FORM_TEXT)
		return written(report_text(stdout, a, o->view, &o->table));
	rc = view_table(o->view, a, &o->table, &table);
	if (!rc)
		rc = show_table(o, o->view->name, &table);
	table_free(&table);
	return written(rc);
}

static int score(struct analyze_options *o, struct eta_counts *counts)
{
	struct eta_trace *trace = NULL;
	struct analysis *analysis = NULL;
	struct lanes *lanes = NULL;
	struct symbols *symbols = symbols_new();
	int rc = check_page(o);

	if (!rc)
		rc = inputs_open(o->paths, o->n_paths, &o->open, &trace);
	if (!rc)
		rc = open_baseline(o);
	if (!rc)
		rc = analyse(o, o->paths, o->n_paths, trace, &analysis, &lanes);
	if (rc < 0)
		goto out;
	/* analyzer: what failed has no result, what did not has one */
	*counts = analysis->counts;
	/* a choice among all rows may want the name of any */
	if (o->analysis.callsites)
		symbols_find(symbols, analysis,
			     o->form != FORM_TEXT || !o->table.top || o->table.sort ||
					     o->table.n_filters
				     ? UINT32_MAX
				     : o->table.top);
	rc = show_score(o, analysis, lanes);
out:
	lanes_free(lanes);
	analysis_free(analysis);
	symbols_free(symbols);
	eta_close(trace);
	eta_close(o->analysis.baseline);
	return rc;
}

static int workload(struct analyze_options *o, struct eta_counts *counts)
{
	struct workload_options options = { .by = workload_groups(o->by ? o->by : "level")->by,
					    .interval_ns = o->interval_ns,
					    .from_ns = o->analysis.from_ns,
					    .to_ns = o->analysis.to_ns,
					    .threads = o->analysis.threads };
	struct eta_trace *trace = NULL;
	struct workload *w = NULL;
	struct progress progress;
	struct table table = { 0 };
	int rc = inputs_open(o->paths, o->n_paths, &o->open, &trace);

	if (rc < 0)
		goto out;
	begin_progress(o, &progress, trace, NULL);
	options.progress = o->analysis.progress;
	options.progress_arg = o->analysis.progress_arg;
	rc = workload_run(trace, &options, &w);
	progress_end(&progress);
	if (rc < 0)
		goto out;
	*counts = w->counts;
	rc = workload_table(w, &o->table, &table);
	if (!rc)
		rc = o->form == FORM_TEXT ? workload_text(stdout, w, &table, &o->table)
					  : show_table(o, "workload", &table);
	rc = written(rc);
out:
	table_free(&table);
	workload_free(w);
	eta_close(trace);
	return rc;
}

/* A table that needs no analysis. */
static int show_rows(struct analyze_options *o, const struct trace_rows *kind,
		     struct eta_counts *counts)
{
	struct eta_trace *trace = NULL;
	struct table table = { 0 };
	void *rows = NULL;
	int rc = inputs_open(o->paths, o->n_paths, &o->open, &trace);

	if (rc < 0)
		goto out;
	rc = kind->run(trace, &rows);
	if (rc < 0)
		goto out;
	eta_trace_counts(trace, counts);
	rc = kind->table(rows, &o->table, &table);
	if (!rc && o->form == FORM_TEXT)
		rc = kind->text(stdout, rows, &table, &o->table);
	else if (!rc && o->form == FORM_JSON && kind->json)
		rc = kind->json(stdout, rows, &table, &o->table);
	else if (!rc)
		rc = show_table(o, kind->name, &table);
	rc = written(rc);
out:
	table_free(&table);
	kind->free(rows);
	eta_close(trace);
	return rc;
}

static int compare(struct analyze_options *o, struct eta_counts *counts)
{
	struct eta_trace *traces[2] = { NULL, NULL };
	struct analysis *sides[2] = { NULL, NULL };
	struct lanes *lanes[2] = { NULL, NULL };
	struct symbols *symbols = symbols_new();
	struct comparison c;
	struct table table = { 0 };
	int rc = check_page(o);

	if (!rc)
		rc = open_baseline(o);
	for (int s = 0; s < 2 && !rc; s++) {
		rc = inputs_open(&o->paths[s], 1, &o->open, &traces[s]);
		if (!rc)
			rc = analyse(o, &o->paths[s], 1, traces[s], &sides[s], &lanes[s]);
		if (rc < 0)
			goto out;
		if (o->analysis.callsites)
			symbols_find(symbols, sides[s], UINT32_MAX);
		c.sides[s] = sides[s];
		c.names[s] = o->paths[s];
		if (!cli_is_complete(&sides[s]->counts)) /* analyzer: as above */
			*counts = sides[s]->counts;
	}
	if (o->form == FORM_HTML) {
		rc = show_page(o,
			       &(struct html){ .sides = { { sides[0], lanes[0], &o->paths[0], 1 },
							  { sides[1], lanes[1], &o->paths[1], 1 } },
					       .n_sides = 2,
					       .compared = &c });
		goto out;
	}
	rc = compare_table(&c, &o->table, &table);
	if (!rc)
		rc = o->form == FORM_TEXT ? compare_text(stdout, &c, &table, &o->table)
					  : show_table(o, "compare", &table);
	rc = written(rc);
out:
	table_free(&table);
	symbols_free(symbols);
	for (int s = 0; s < 2; s++) {
		lanes_free(lanes[s]);
		analysis_free(sides[s]);
		eta_close(traces[s]);
	}
	eta_close(o->analysis.baseline);
	return rc;
}

int analyze(int argc, char **argv, struct exchange *x)
{
	struct analyze_options o;
	struct eta_counts counts = { 0 };
	int rc;

	analyze_options_parse(argc, argv, &o);
	if (x) {
		o.analysis.exchange = x;
		/* there are as many processes as CPUs are to be used */
		o.analysis.threads = o.analysis.threads ? o.analysis.threads : 1;
	}
	broken_off_leaves("the traces are as they were (the same command reads them again)");
	broken_off_begin();
	fit_terminal(&o);
	if (o.what == SHOW_WORKLOAD)
		rc = workload(&o, &counts);
	else if (o.what == SHOW_COMPARISON)
		rc = compare(&o, &counts);
	else if (o.what == SHOW_UNNAMED)
		rc = show_rows(&o, &unnamed_rows, &counts);
	else if (o.what == SHOW_VM_FILES)
		rc = show_rows(&o, &vm_files_rows, &counts);
	else
		rc = score(&o, &counts);
	free(o.paths);
	if (rc < 0 || (o.strict && !cli_is_complete(&counts)))
		return CLI_FAILED;
	return CLI_OK;
}

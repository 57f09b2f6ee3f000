/* Merging the traces of a run into one archive, with its counts: for sci-merge and sci-record. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merging.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "eta-ext/base/plural.h"
#include "eta-ext/base/printable.h"
#include "eta-ext/format/archive.h"
#include "eta-ext/trace/source.h"
#include "outputs.h"
#include "src/common/progress.h"
#include "tracer-warnings.h"

/* The counts after those that every line has; for an input only if they are not 0. */
static void print_rest(FILE *to, const struct eta_counts *counts, bool output)
{
	const struct {
		uint64_t n;
		const char *one, *many;
	} rest[] = {
		{ counts->orphan, "orphan", "orphan" },
		{ counts->truncated, "truncated", "truncated" },
		{ counts->overlapping, "overlapping region", "overlapping regions" },
		{ counts->out_of_order, "out of order", "out of order" },
		{ counts->unmatched, "thread unmatched", "threads unmatched" },
		{ counts->missing, "machine or rank missing", "machines and ranks missing" },
	};
	const size_t n = sizeof(rest) / sizeof(*rest);

	/* what only jobs of several machines have is named where it is there */
	for (size_t i = 0; i < n; i++)
		if (rest[i].n || (output && i < n - 1))
			fprintf(to, ", %" PRIu64 " %s", rest[i].n,
				rest[i].n == 1 ? rest[i].one : rest[i].many);
	fputc('\n', to);
}

static void print_input(FILE *to, const char *path, const struct eta_counts *counts)
{
	printable_put(to, path);
	fprintf(to,
		": %" PRIu64 " record%s, %" PRIu64 " event%s, %" PRIu64 " bad, %" PRIu64 " lost",
		counts->records, plural(counts->records), counts->events, plural(counts->events),
		counts->bad, counts->lost);
	if (counts->passed)
		fprintf(to, ", %" PRIu64 " without I/O", counts->passed);
	print_rest(to, counts, false);
}

/* Those that made a traced call, or may have. */
static uint32_t threads_of(const struct eta_trace *trace)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	uint32_t n = 0;

	for (uint32_t i = 0; i < defs->n_locations; i++)
		n += defs->locations[i].kind == ETA_LOCATION_THREAD &&
		     !defs->locations[i].only_requests;
	return n;
}

static int open_inputs(const struct merging *m, struct eta_trace **inputs)
{
	size_t n = 0;
	int rc = 0;

	while (rc == 0 && n < m->n_inputs) {
		rc = eta_open(m->inputs[n], &m->open, &inputs[n]);
		n += rc == 0;
	}
	while (rc && n > 0)
		eta_close(inputs[--n]);
	return rc;
}

/*
 * What messages of nodes say; of the wall clock's error, the kernel's tracer says it by itself, the
 * library calls are recorded without a look at it.
 */
static int say_clock(const struct merging *m, struct eta_trace *input)
{
	if (m->readings && eta_defs_property(input, ARCHIVE_READINGS, m->readings) == ETA_NONE)
		return -ENOMEM;
	if (!m->clock_error)
		return 0;
	return eta_defs_property(input, "SCI::REALTIME_ERROR", m->clock_error) == ETA_NONE ? -ENOMEM
											   : 0;
}

static int say_mount(void *arg, const char *text)
{
	return eta_defs_mount(arg, text);
}

/* Of inputs that were recorded on this machine just now. */
static int say_mounts(const struct merging *m, struct eta_trace **inputs)
{
	int rc = 0;

	for (size_t i = 0; m->mounts && i < m->n_inputs && !rc; i++)
		rc = m->mounts(say_mount, inputs[i]);
	return rc;
}

/* What the inputs are without by intention. */
static void print_overwritten(FILE *to, const struct eta_trace *merged)
{
	const struct eta_defs *defs = eta_trace_defs(merged);

	for (uint32_t i = 0; i < defs->n_properties; i++)
		if (defs->properties[i].process == ETA_NONE &&
		    strcmp(defs->properties[i].name, ARCHIVE_OVERWRITTEN) == 0)
			fprintf(to,
				"the last part only: %s records before were overwritten (--last)\n",
				defs->properties[i].value);
}

static void print_counts(const struct merging *m, struct eta_trace **inputs,
			 const struct eta_trace *merged, uint64_t events)
{
	struct eta_counts counts;
	uint32_t n_threads = threads_of(merged);

	/* what was not read has no counts */
	for (size_t i = 0; !m->links && i < m->n_inputs; i++) {
		eta_trace_counts(inputs[i], &counts);
		print_input(m->report, m->inputs[i], &counts);
	}
	eta_trace_counts(merged, &counts);
	printable_put(m->report, m->output);
	fprintf(m->report, ": %" PRIu64 " event%s, %" PRIu32 " thread%s", events, plural(events),
		n_threads, plural(n_threads));
	if (m->links)
		fprintf(m->report, ", %s %zu archive%s",
			m->links == ETA_LINKS ? "linked to" : "copied from", m->n_inputs,
			plural(m->n_inputs));
	else if (m->n_inputs > 1)
		fprintf(m->report, ", %" PRIu64 " of them matched", counts.matched);
	fprintf(m->report, ", %" PRIu64 " bad, %" PRIu64 " lost", counts.bad, counts.lost);
	print_rest(m->report, &counts, true);
	print_overwritten(m->report, merged);
}

/* Operations of a thread that are written one by one in any case: a timeline can show those. */
enum { BEFORE_RUNS = 10000 };

static int write_archive(const struct merging *m, struct eta_trace *merged,
			 struct eta_counts *written)
{
	struct progress progress;
	struct eta_write_options options = {
		.threads = m->threads,
		.progress = progress_step,
		.arg = &progress,
		.mode = m->mode,
		.folder = m->folder,
		.runs = m->no_runs ? 0 : BEFORE_RUNS,
		.links = m->links,
	};
	int rc;

	progress_begin(&progress, progress_events(merged), m->quiet || m->links);
	rc = eta_write_otf2(merged, m->output, &options, written);
	if (rc == 0)
		broken_off_leaves("%s is complete", m->output);
	progress_end(&progress);
	return rc;
}

int merging_run(const struct merging *m, bool *complete)
{
	struct eta_trace **inputs = calloc(m->n_inputs, sizeof(*inputs)), *merged = NULL;
	struct eta_counts written = { 0 }, counts;
	int rc = -ENOMEM;

	broken_off_leaves("%s is not written, its inputs are unchanged (%s)", m->output,
			  m->again ? m->again : "the same command writes it");
	if (!inputs) {
		eta_error("not enough memory for %zu inputs", m->n_inputs);
		goto out;
	}
	rc = cli_check_inputs(m->inputs, m->n_inputs);
	if (rc == 0)
		/* the writer checks an existing archive */
		rc = output_check(&(struct output_place){
			.path = m->output, .inputs = m->inputs, .n_inputs = m->n_inputs });
	if (rc == 0)
		rc = open_inputs(m, inputs);
	if (rc == 0)
		rc = say_clock(m, inputs[0]);
	if (rc == 0)
		rc = say_mounts(m, inputs);
	if (rc == 0)
		/* it owns the inputs now */
		rc = eta_merge_with(inputs, m->n_inputs, &m->merge, &merged);
	if (rc == 0 && m->found)
		inputs_count_missing(m->found, merged);
	if (rc == 0)
		rc = write_archive(m, merged, &written);
	if (rc)
		goto out;
	eta_trace_counts(merged, &counts);
	*complete = cli_is_complete(&counts);
	tracer_warnings_print(eta_trace_defs(merged));
	if (m->report && !(m->report_if_lost && *complete))
		print_counts(m, inputs, merged, written.events);
out:
	eta_close(merged);
	free(inputs);
	return rc;
}

const struct option_row merging_rows[] = {
	HEADING("Output:"),
	{ "output", 'o', "ARCHIVE", "write the archive to ARCHIVE, a name that ends in .otf2",
	  SETS_TEXT(struct merging, output) },
	{ "mode", 0, "MODE", MODE_HELP, SETS_MODE(struct merging, mode) },
	{ "no-runs", 0, NULL, NO_RUNS_HELP, SETS_FLAG(struct merging, no_runs) },
	{ "quiet", 'q', NULL, "print neither counts nor the progress line of a terminal",
	  SETS_FLAG(struct merging, quiet) },
	HEADING("Reading:"),
	{ "lenient", 0, NULL, "keep the good part of damaged inputs and count the rest",
	  SETS_FLAG(struct merging, open.lenient) },
	{ "strict", 0, NULL,
	  "exit with status 1 if anything was lost, bad or truncated (the archive is written all "
	  "the same)",
	  SETS_FLAG(struct merging, strict) },
	{ 0 },
};

int merging_command(struct merging *m)
{
	bool complete = true;
	int rc;

	m->report = m->quiet ? NULL : stdout;
	rc = merging_run(m, &complete);
	if (rc == 0 && m->strict && !complete) {
		eta_error("%s: not complete, and --strict was given (the counts show what is "
			  "missing)",
			  m->output);
		rc = -ENODATA;
	}
	if (m->report && fflush(m->report) != 0 && rc == 0) {
		rc = -errno;
		eta_error("cannot write the counts: %s", strerror(errno));
	}
	return rc;
}

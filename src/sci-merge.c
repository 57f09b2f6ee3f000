/* sci-merge: several traces of the same run as one OTF2 archive, by thread and time. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "clock-options.h"
#include "inputs.h"
#include "merging.h"
#include "options.h"
#include "src/common/progress.h"

struct arguments {
	struct merging merging;
	char **given; /* as on the command line */
	size_t n_given;
	const char **clocks; /* of --clock */
	size_t n_clocks;
	const char *tid_map;
	const char **guests; /* of --guest */
	size_t n_guests;
	bool link, copy;
};

static void add_clock(const struct option_given *given)
{
	struct arguments *a = given->options;

	a->clocks[a->n_clocks++] = given->arg;
}

static void add_guest(const struct option_given *given)
{
	struct arguments *a = given->options;

	a->guests[a->n_guests++] = given->arg;
}

static const struct option_row rows[] = {
	PART(struct arguments, merging, merging_rows),
	HEADING("Clocks and threads:"),
	{ "clock", 0, "N:NS|N:FILE",
	  "add NS to the times of input N (from 1), or convert them by the pairs of intervals in "
	  "FILE, a pair per line: begin and end by its clock, then begin and end of an interval "
	  "inside by the other clock, in ns",
	  CALLS(add_clock) },
	{ "guest", 0, "N:PID",
	  "input N is of the virtual machine that process PID of its host runs", CALLS(add_guest) },
	{ "tid-map", 0, "FILE",
	  "name the threads of locations without a thread id: LOCATION PID TID per line",
	  SETS_TEXT(struct arguments, tid_map) },
	HEADING("Events:"),
	{ "link", 0, NULL,
	  "leave them where they are: ARCHIVE has definitions, and links to the files of events of "
	  "the INPUTs, which are archives of different threads (the nodes of a job) below its "
	  "folder",
	  SETS_FLAG(struct arguments, link) },
	{ "copy", 0, NULL, "the same with copies of these files: ARCHIVE does not need the INPUTs",
	  SETS_FLAG(struct arguments, copy) },
	HEADING("Work:"),
	{ "threads", 0, "N", "use N threads (the number of CPUs)",
	  SETS_NUMBER(struct arguments, merging.threads, 1, 1024) },
	{ 0 },
};

static const char doc[] =
	"Merges the traces of a run, by thread and time, into one OTF2 archive. INPUT is a spool "
	"directory, an OTF2 archive (its .otf2 file), a log that sci-import(1) reads, or the "
	"folder of a recording."
	"\v"
	"EXAMPLES\n"
	"  sci-merge run/user.spool run/kernel.spool -o run/unified.otf2\n"
	"  sci-merge --lenient app_trace/eztrace_log.otf2 kernel.spool -o all.otf2\n"
	"  sci-merge --link job -o job/unified.otf2\n"
	"  sci-merge --strict user.spool -o user.otf2 && sci-analyze user.otf2\n\n"
	"SEE ALSO\n"
	"  sci-record(1), sci-kernel(1), sci-analyze(1)";

static error_t parse_words(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		a->given[a->n_given++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->n_given == 0)
			argp_error(state, "which traces? Give spool directories, .otf2 files or "
					  "the folder of a recording");
		if (!a->merging.output)
			argp_error(state, "where to? Give -o ARCHIVE.otf2");
		if (a->link && a->copy)
			argp_error(state, "links or copies of the events: --link or --copy");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct command_line command_line = {
	.rows = rows,
	.parser = parse_words,
	.words = "INPUT... -o ARCHIVE",
	.doc = doc,
};

/* Reads --clock, per input. MAPS and CLOCKS have room for all of them. */
static int read_clocks(const struct arguments *a, struct eta_clock_map *maps,
		       const struct eta_clock_map **clocks)
{
	for (size_t i = 0; i < a->n_clocks; i++) {
		size_t input;
		int rc = clock_option(a->clocks[i], &input, &maps[i]);

		if (rc)
			return rc;
		if (input > a->merging.n_inputs) {
			eta_error("--clock=%.4096s: no input has this number, the last is %zu",
				  a->clocks[i], a->merging.n_inputs);
			return -EINVAL;
		}
		clocks[input - 1] = &maps[i];
	}
	return 0;
}

/* Reads --guest into PIDS, which has an element for each input. */
static int read_guests(const struct arguments *a, uint32_t *pids)
{
	for (size_t i = 0; i < a->n_guests; i++) {
		unsigned input, pid;
		int end = 0;

		if (sscanf(a->guests[i], "%u:%u%n", &input, &pid, &end) != 2 || a->guests[i][end] ||
		    !input || !pid) {
			eta_error("--guest=%.4096s: not N:PID (N: number of the input, from 1)",
				  a->guests[i]);
			return -EINVAL;
		}
		if (input > a->merging.n_inputs) {
			eta_error("--guest=%.4096s: no input has this number, the last is %zu",
				  a->guests[i], a->merging.n_inputs);
			return -EINVAL;
		}
		pids[input - 1] = pid;
	}
	return 0;
}

static int merge(struct arguments *a)
{
	uint32_t *guests = NULL;
	struct eta_clock_map *maps = calloc(a->n_clocks + 1, sizeof(*maps));
	const struct eta_clock_map **clocks = NULL;
	struct tid_map tid_map = { 0 };
	struct inputs inputs;
	int rc;

	a->merging.links = a->link ? ETA_LINKS : a->copy ? ETA_COPIES : ETA_NO_LINKS;
	if (a->merging.links)
		rc = inputs_find_archives(a->given, a->n_given, &inputs);
	else
		rc = inputs_find(a->given, a->n_given, false, &inputs);
	clocks = calloc(inputs.n + 1, sizeof(*clocks));
	guests = calloc(inputs.n + 1, sizeof(*guests));
	if (rc == 0 && (!maps || !clocks || !guests)) {
		eta_error("not enough memory");
		rc = -ENOMEM;
	}
	a->merging.inputs = inputs.paths;
	a->merging.n_inputs = inputs.n;
	a->merging.found = &inputs;
	if (rc == 0)
		rc = read_clocks(a, maps, clocks);
	if (rc == 0)
		rc = read_guests(a, guests);
	if (rc == 0 && a->tid_map)
		rc = tid_map_read(a->tid_map, &tid_map);
	a->merging.merge = (struct eta_merge_options){ .clocks = clocks,
						       .threads = tid_map.threads,
						       .n_threads = tid_map.n,
						       .guests = guests };
	if (rc == 0)
		rc = merging_command(&a->merging);
	tid_map_free(&tid_map);
	inputs_free(&inputs);
	free(guests);
	free(clocks);
	free(maps);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments a = { 0 };
	int rc;

	a.given = calloc((size_t)argc, sizeof(*a.given));
	a.clocks = calloc((size_t)argc, sizeof(*a.clocks));
	a.guests = calloc((size_t)argc, sizeof(*a.guests));
	if (!a.given || !a.clocks || !a.guests) {
		eta_error("not enough memory");
		rc = -ENOMEM;
		goto out;
	}
	options_parse(&command_line, argc, argv, &a);
	broken_off_begin();
	rc = merge(&a);
out:
	free(a.given);
	free(a.clocks);
	free(a.guests);
	return rc ? CLI_FAILED : CLI_OK;
}

/* The first lines of the text: a function for each, in the order of LINES. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "premises.h"
#include "words.h"
#include "eta-ext/base/plural.h"
#include "src/analysis/tables/io-time.h"
#include "src/analysis/tables/longer.h"
#include "src/common/clock-error.h"
#include "src/common/machines.h"
#include "src/common/share.h"

/* ---- the score ---- */

static int put_score(FILE *out, const struct analysis *a, unsigned width)
{
	const struct thread_score *t = &a->threads[a->headline];
	const struct eta_location *l = &a->defs->locations[t->location];
	const char *command = l->process == ETA_NONE ? NULL : a->command_lines[l->process];
	struct machine_suffix on = machine_suffix(a->defs, location_host(a->defs, t->location));
	int64_t lost_ns = slowdown_counted(&t->slowdown, a->options.sci);
	char line[1280], called[80] = "";

	if (command)
		snprintf(called, sizeof(called), " (... %.48s%s)", command,
			 strlen(command) > 48 ? "..." : "");

	if (a->options.sci == SCI_PAPER)
		snprintf(line, sizeof(line),
			 "SCI %s for the most slowed thread (%s%s), %s for all threads together",
			 report_real(t->sci, 4).text, l->name, on.text,
			 report_real(a->sci_total, 4).text);
	else
		snprintf(line, sizeof(line),
			 "SCI %s [%s, %s]: %s%s%s lost %s%s of %s%s%s; all threads together %s",
			 report_score(t->sci).text, report_score(t->sci_low).text,
			 report_score(t->sci_high).text, l->name, on.text, called,
			 lost_ns <= 0  ? "none"
			 : a->headline ? ""
				       : "most, ",
			 lost_ns > 0 ? report_duration(lost_ns).text : "",
			 lost_ns > 0 ? "" : "its ", report_duration((int64_t)t->lifetime_ns).text,
			 lost_ns > 0 ? "" : " to others", report_score(a->sci_total).text);
	report_wrapped(out, line, false, width);
	return 0;
}

/* What is less of the lifetimes is not worth a line. */
#define BETWEEN_PERCENT 2
#define BETWEEN_SHOWN 2

/* How long threads waited between their calls for others that were in one; 0: little. */
static uint64_t between_ns(const struct analysis *a)
{
	uint64_t ns = 0;

	for (uint32_t i = 0; i < a->n_between; i++)
		ns += a->between[i].ns;
	if (a->options.sci != SCI_DEFAULT ||
	    !share_reaches((double)ns, (double)a->lifetime_ns, BETWEEN_PERCENT))
		return 0;
	return ns;
}

/* Locks and semaphores of the program's own: who has them may be in a call. */
static int put_between(FILE *out, const struct analysis *a, unsigned width)
{
	uint64_t sum_ns = between_ns(a);
	char line[1024], calls[512] = "";
	size_t used = 0;

	if (!sum_ns)
		return 0;
	for (uint32_t i = 0; i < a->n_between && i < BETWEEN_SHOWN; i++)
		used += (size_t)snprintf(
			calls + used, sizeof(calls) - used, "%s%.64s (%s wait%s, %s each)",
			i ? ", " : "", a->between[i].function, report_count(a->between[i].n).text,
			plural(a->between[i].n),
			report_duration((int64_t)(a->between[i].ns / a->between[i].n)).text);
	snprintf(line, sizeof(line),
		 "between calls: threads waited %s for others that were in %s; this is not in the "
		 "score, which counts what is lost inside of calls",
		 report_duration((int64_t)sum_ns).text, calls);
	report_wrapped(out, line, false, width);
	return 0;
}

static void put_verdict_words(FILE *out, const struct analysis *a)
{
	fprintf(out, "verdict: %s", report_verdict(&a->verdict).text);
	if (a->verdict.cpu_share > 0)
		fprintf(out, "; beside it cpu: run queue %.0f %%", 100 * a->verdict.cpu_share);
	if (a->verdict.beside_level)
		fprintf(out, "; beside it %s",
			report_verdict(&(struct verdict){ .level = a->verdict.beside_level,
							  .reason = a->verdict.beside_reason,
							  .share = a->verdict.beside_share })
				.text);
	fputc('\n', out);
}

static int put_verdict(FILE *out, const struct analysis *a, unsigned width)
{
	char advice[1024];

	advice_text(a, advice, sizeof(advice));
	if (a->verdict.share <= 0 && between_ns(a))
		snprintf(advice, sizeof(advice),
			 "No interference to speak of inside of I/O calls, but between them.");
	put_verdict_words(out, a);
	report_wrapped(out, advice, true, width);
	return 0;
}

#define LIMITS_SHOWN 3

/* The third kind beside others and self; which limits, as the kernel tracer saw them. */
static int put_own_limit(FILE *out, const struct analysis *a, unsigned width)
{
	int64_t counted = slowdown_counted(&a->slowdown, a->options.sci);
	char line[1024];

	if (a->options.sci != SCI_DEFAULT || (a->slowdown.limit_ns <= 0 && !a->n_limits))
		return 0;
	if (a->slowdown.limit_ns > 0 && counted > 0)
		snprintf(line, sizeof(line),
			 "own limit: %s of the %s that the score counts (%.0f %%), attributed to "
			 "nobody",
			 report_duration(a->slowdown.limit_ns).text, report_duration(counted).text,
			 100 * (double)a->slowdown.limit_ns / (double)counted);
	else
		snprintf(line, sizeof(line), "own limit: nothing that the score counts");
	report_wrapped(out, line, false, width);
	for (uint32_t i = 0; i < a->n_limits && i < LIMITS_SHOWN; i++) {
		const struct limit *l = &a->limits[i];

		snprintf(line, sizeof(line), "%s: %s, %s%s in all: %.400s",
			 eta_level_name(l->level), word_of_reason(eta_reason_name(l->reason)),
			 report_duration((int64_t)l->ns).text,
			 /* the score counts what the operations did beside it, too */
			 l->reason == ETA_REASON_EVICTION_AT_OWN_LIMIT ||
					 l->reason == ETA_REASON_RECLAIM_AT_OWN_LIMIT
				 ? " of waiting"
				 : "",
			 l->what);
		report_wrapped(out, line, true, width);
	}
	return 0;
}

/* What is less of a lifetime is not worth a line. */
#define MACHINE_PERCENT 2

/* How much a busy machine took of the one that lost most. */
static int put_machine(FILE *out, const struct analysis *a, unsigned width)
{
	const struct thread_score *t = &a->threads[a->headline];
	int64_t cells[N_CELLS], inside_ns, sum_ns;
	char line[512];

	if (a->options.sci != SCI_DEFAULT)
		return 0;
	slowdown_counted_cells(&t->slowdown, a->options.sci, cells);
	inside_ns = cells[CELL_CPU_RUN_QUEUE] > 0 ? cells[CELL_CPU_RUN_QUEUE] : 0;
	sum_ns = inside_ns + (int64_t)t->ready_ns;
	if (!share_reaches((double)sum_ns, (double)t->lifetime_ns, MACHINE_PERCENT))
		return 0;
	snprintf(line, sizeof(line),
		 "machine: ready without a CPU for %s, of it %s inside of I/O calls",
		 report_duration(sum_ns).text, report_duration(inside_ns).text);
	report_wrapped(out, line, false, width);
	return 0;
}

/* Its threads cannot be compared one by one, or are not longer by themselves. */
static void put_process_longer(FILE *out, const struct analysis *a, unsigned width)
{
	struct longer_process p;
	char line[768];

	if (!process_longer_than_alone(a, &p))
		return;
	snprintf(line, sizeof(line),
		 "longer: %s took %s, in the baseline %s; of that its I/O calls and waits for a "
		 "CPU explain %s: the rest is in what it computes or waits for outside of them, in "
		 "all its threads",
		 p.name, report_duration((int64_t)p.now_ns).text,
		 report_duration((int64_t)p.alone_ns).text,
		 report_duration(p.saved_ns > 0 ? p.saved_ns : 0).text);
	report_wrapped(out, line, false, width);
}

static int put_longer(FILE *out, const struct analysis *a, unsigned width)
{
	struct longer longer;
	char line[512], times[32] = "";
	int rc = longer_than_alone(a, &longer, NULL);

	if (!rc && !longer.more_ns)
		put_process_longer(out, a, width);
	if (rc || !longer.more_ns)
		return rc;
	if (longer.alone_ns)
		snprintf(times, sizeof(times), ", %.2f times as long",
			 (double)longer.outside_ns / (double)longer.alone_ns);
	snprintf(line, sizeof(line),
		 "longer: %s more than in the baseline outside of I/O calls, at work or in "
		 "futex%s, of it %s "
		 "ready "
		 "without a CPU; not in the score, but in its interval",
		 report_duration((int64_t)longer.more_ns).text, times,
		 report_duration((int64_t)longer.ready_ns).text);
	report_wrapped(out, line, false, width);
	return 0;
}

/* Of a run alone that waited for a CPU for less of its I/O calls this is not worth a line. */
#define BASELINE_PERCENT 10

/* What the run alone waits for in its calls is taken for what they take. */
static int put_baseline(FILE *out, const struct analysis *a, unsigned width)
{
	char line[512];

	if (!a->baseline_ready_ns || !share_reaches((double)a->baseline_ready_ns,
						    (double)a->baseline_io_ns, BASELINE_PERCENT))
		return 0;
	snprintf(line, sizeof(line),
		 "baseline: its I/O calls were ready without a CPU for %s of %s, and that is taken "
		 "for what they take: if others had the CPUs, record it again without them",
		 report_duration((int64_t)a->baseline_ready_ns).text,
		 report_duration((int64_t)a->baseline_io_ns).text);
	report_wrapped(out, line, false, width);
	return 0;
}

/* If it is negligible, or a limit, there are no culprits. */
static int put_culprits(FILE *out, const struct analysis *a, unsigned width)
{
	if (a->verdict.share <= 0 || a->verdict.own_limit)
		return 0;
	return report_culprits(out, a, a->blame, a->n_blame, width);
}

/* ---- what it would bring ---- */

/* What is less of a process is not worth a line. */
#define GAIN_PERCENT 2
/* What else it may be is worth saying from this part of it on. */
#define GAIN_MORE_PERCENT 15

/* As the first line has it, where that is of one of its threads; else its program and number. */
static void name_process(const struct analysis *a, uint32_t process, char *text, size_t room)
{
	const struct eta_location *l = &a->defs->locations[a->threads[a->headline].location];
	const struct eta_process *p = &a->defs->processes[process];
	const char *end = strstr(l->name, " tid ");

	if (l->process == process && end)
		snprintf(text, room, "%.*s", (int)(end - l->name), l->name);
	else if (l->process == process)
		snprintf(text, room, "%s", p->name);
	else
		snprintf(text, room, "%s (pid %" PRIu32 ")", p->name, p->pid);
}

static int put_gain(FILE *out, const struct analysis *a, unsigned width)
{
	const struct process_score *p = a->n_processes ? &a->processes[0] : NULL;
	char line[768], name[128], most[192] = "";

	if (a->verdict.share <= 0 || !p ||
	    !share_reaches((double)p->saved_ns, (double)p->wall_ns, GAIN_PERCENT))
		return 0;
	name_process(a, p->process, name, sizeof(name));
	if (share_reaches((double)(p->saved_most_ns - p->saved_ns), (double)p->saved_ns,
			  GAIN_MORE_PERCENT))
		snprintf(most, sizeof(most),
			 ", or up to %s less: how long its calls take alone is not known",
			 report_duration(p->saved_most_ns).text);
	snprintf(line, sizeof(line), "gain: without that %s would have taken %s, %s less%s", name,
		 report_duration((int64_t)p->wall_ns - p->saved_ns).text,
		 report_duration(p->saved_ns).text, most);
	report_wrapped(out, line, false, width);
	return 0;
}

/* Without another run it is not known how long calls would take that all waited as long. */
static int put_alike(FILE *out, const struct analysis *a, unsigned width)
{
	char line[512];

	if (!a->slowed_alike || a->options.reference == REFERENCE_BASELINE)
		return 0;
	snprintf(line, sizeof(line),
		 "slowed alike: all calls waited beside others, %s that the score does not count: "
		 "record the program alone, and compare (--baseline=ALONE)",
		 report_duration((int64_t)a->alike_ns).text);
	report_wrapped(out, line, false, width);
	return 0;
}

/* What is less of the time in calls is not worth a line. */
#define SERVER_PERCENT 10

/* How busy a file server is with others, and what they do there, its clients do not see. */
static int put_server(FILE *out, const struct analysis *a, unsigned width)
{
	uint64_t server_ns = a->time_ns[CELL_NET_SERVER], lost_ns = a->time_ns[CELL_NET_RETRANSMIT];
	int64_t more_ns = a->slowdown.cell_ns[CELL_NET_SERVER] -
			  a->slowdown.interference_cell_ns[CELL_NET_SERVER];
	char line[768], again[192] = "", more[192] = "";

	if (server_ns + lost_ns == 0 ||
	    !share_reaches((double)(server_ns + lost_ns), (double)a->io_ns, SERVER_PERCENT))
		return 0;
	if (lost_ns)
		snprintf(again, sizeof(again), ", %s until lost calls were sent again",
			 report_duration((int64_t)lost_ns).text);
	if (more_ns > 0)
		snprintf(more, sizeof(more),
			 ", %s more than the same calls take that are not slowed",
			 report_duration(more_ns).text);
	snprintf(line, sizeof(line),
		 "server: %s of the time in I/O calls went by at a file server%s%s; what it did "
		 "meanwhile for clients that are not in this trace, and why it was slow, is not "
		 "known here: record the server, too (sci-kernel --all), and merge both",
		 report_duration((int64_t)server_ns).text, again, more);
	report_wrapped(out, line, false, width);
	return 0;
}

/* Less than this part of the lifetime is not worth a line. */
#define UNDECIDED_PERCENT 2

/* Machines that used the same file, but whose clocks do not say whether at the same time. */
static int put_undecided(FILE *out, const struct analysis *a, unsigned width)
{
	int64_t server_ns = a->slowdown.cell_ns[CELL_NET_SERVER] -
			    a->slowdown.interference_cell_ns[CELL_NET_SERVER];
	int64_t ns = a->undecided_ns - (server_ns > 0 ? server_ns : 0);
	uint64_t error_ns;
	char line[512];

	if (ns <= 0 || !share_reaches((double)ns, (double)a->lifetime_ns, UNDECIDED_PERCENT) ||
	    !clock_error_of(a->defs, &error_ns))
		return 0;
	snprintf(line, sizeof(line),
		 "undecided: %s were lost on files that other machines used at about that time; "
		 "whether meanwhile, their clocks do not tell (%s)",
		 report_duration(ns).text,
		 error_ns == UINT64_MAX ? "by how much they differ is not known"
					: report_duration((int64_t)error_ns).text);
	report_wrapped(out, line, false, width);
	return 0;
}

/* ---- where the time went, whoever else was there ---- */

/* A part of the time that takes less is not why. */
#define SHOWN_PERCENT 5
#define SHOWN_PARTS 3
#define SHOWN_PREMISES 2

/* "fsync (3000 calls, 237 us each)" */
static int put_calls(char *text, size_t size, const struct function_habit *f)
{
	char bytes[160] = "";

	if (f->bytes)
		snprintf(bytes, sizeof(bytes), " of %s",
			 report_bytes((double)f->bytes / (double)f->n).text);
	return snprintf(text, size, "%s (%s call%s%s, %s%s)", f->name, report_count(f->n).text,
			plural(f->n), bytes, report_duration((int64_t)(f->ns / f->n)).text,
			f->n == 1 ? "" : " each");
}

/* "93 % in fsync (3000 calls, 237 us each)"; F NULL: outside of all. */
static int put_part(char *text, size_t size, const struct function_habit *f, double percent)
{
	int used;

	if (!f)
		return snprintf(text, size, "%.0f %% outside of I/O calls", percent);
	used = snprintf(text, size, "%.0f %% in ", percent);
	return used + put_calls(text + used, size - (size_t)used, f);
}

/* The next function from *I on that is asynchronous, or is not; NULL: no more. */
static const struct function_habit *next_function(const struct analysis *a, uint32_t *i,
						  bool asynchronous)
{
	while (*i < a->n_function_habits && a->function_habits[*i].asynchronous != asynchronous)
		++*i;
	return *i < a->n_function_habits ? &a->function_habits[*i] : NULL;
}

/* The largest parts of the lifetime of the threads that did I/O. */
static void put_parts(FILE *out, const struct analysis *a, unsigned width)
{
	const struct io_times times = io_times(a);
	uint64_t lifetime_ns = times.lifetime_ns, outside_ns = io_outside_ns(&times);
	const struct function_habit *f;
	uint32_t next = 0, meanwhile = 0;
	char line[1024] = "time: ";
	size_t used = strlen(line);

	for (int parts = 0; parts < SHOWN_PARTS; parts++) {
		uint64_t ns;

		f = next_function(a, &next, false);
		ns = f ? f->ns : 0;

		if (outside_ns > ns) {
			f = NULL;
			ns = outside_ns;
			outside_ns = 0;
		} else {
			next++;
		}
		if (ns == 0 || !share_reaches((double)ns, (double)lifetime_ns, SHOWN_PERCENT))
			break;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s", parts ? "; " : "");
		used += (size_t)put_part(line + used, sizeof(line) - used, f,
					 100 * (double)ns / (double)lifetime_ns);
	}
	f = next_function(a, &meanwhile, true);
	if (f) {
		used += (size_t)snprintf(line + used, sizeof(line) - used,
					 "%sasynchronous: ", used > strlen("time: ") ? "; " : "");
		used += (size_t)put_calls(line + used, sizeof(line) - used, f);
	}
	if (used > strlen("time: "))
		report_wrapped(out, line, false, width);
}

/* Has the library a call that waits for asynchronous operations? Then it is known by that one. */
static bool reaps_in_library(const struct analysis *a)
{
	for (uint32_t i = 0; i < a->n_function_habits; i++)
		if (call_reaps(a->function_habits[i].name))
			return true;
	return false;
}

/* In what the threads slept outside of I/O calls, as far as the kernel's side saw it. */
static int put_asleep(FILE *out, const struct analysis *a, unsigned width)
{
	const struct io_times times = io_times(a);
	uint64_t lifetime_ns = times.lifetime_ns, outside_ns = io_outside_ns(&times);
	struct io_asleep *list;
	char line[512] = "Outside of I/O calls: ";
	const size_t none = strlen(line);
	size_t used = none;
	int n = io_asleep_new(a, &list), parts = 0;
	bool reaps = reaps_in_library(a);

	if (n < 0)
		return n;
	for (int i = 0; i < n && parts < SHOWN_PARTS; i++) {
		/* a library call may sleep in what is no operation of the kernel's side */
		uint64_t ns = list[i].ns < outside_ns ? list[i].ns : outside_ns;

		if (reaps && call_reaps(list[i].function))
			continue;
		parts++;
		if (!share_reaches((double)ns, (double)lifetime_ns, SHOWN_PERCENT))
			break;
		outside_ns -= ns;
		used += (size_t)snprintf(line + used, sizeof(line) - used,
					 "%s%.0f %% asleep in %.80s (%s time%s, %s%s)",
					 used > none ? "; " : "",
					 100 * (double)ns / (double)lifetime_ns, list[i].function,
					 report_count(list[i].n).text, plural(list[i].n),
					 report_duration((int64_t)(list[i].ns / list[i].n)).text,
					 list[i].n == 1 ? "" : " each");
	}
	if (used > none)
		report_wrapped(out, line, true, width);
	free(list);
	return 0;
}

static int put_time(FILE *out, const struct analysis *a, unsigned width)
{
	struct premise premises[SHOWN_PREMISES];
	uint32_t n;
	int rc;

	if (!a->options.habits)
		return 0;
	put_parts(out, a, width);
	rc = put_asleep(out, a, width);
	if (rc)
		return rc;
	n = premises_find(a, premises, SHOWN_PREMISES);
	for (uint32_t i = 0; i < n; i++)
		report_wrapped(out, premises[i].text, true, width);
	return 0;
}

/* ---- what is missing ---- */

static int put_levels_missing(FILE *out, const struct analysis *a, unsigned width)
{
	if (!a->has_levels)
		report_wrapped(
			out,
			"The trace has no kernel side: what happened below the library calls "
			"is not known, all of it counts as user.",
			true, width);
	return 0;
}

/* ---- all of it ---- */

/* What is to be said besides gets a function and a place here. */
static int (*const lines[])(FILE *out, const struct analysis *a, unsigned width) = {
	put_score,   put_verdict, put_gain,	put_own_limit,	    put_culprits,
	put_machine, put_between, put_alike,	put_server,	    put_undecided,
	put_time,    put_longer,  put_baseline, put_levels_missing,
};

static void put_nothing(FILE *out, unsigned width)
{
	fputs("no I/O by any thread in this trace: nothing to score\n", out);
	report_wrapped(out,
		       "I/O are calls such as read and write, regions named LEVEL:FUNCTION and "
		       "those with I/O records, as sci-record and sci-import write them.",
		       true, width);
}

void report_headline(FILE *out, const struct analysis *a, unsigned width)
{
	if (a->max_thread == ETA_NONE) {
		put_nothing(out, width);
		return;
	}
	put_score(out, a, width);
	put_verdict_words(out, a);
}

int report_answer(FILE *out, const struct analysis *a, unsigned width)
{
	int rc = 0;

	if (a->max_thread == ETA_NONE) {
		put_nothing(out, width);
		return 0;
	}
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && !rc; i++)
		rc = lines[i](out, a, width);
	return rc;
}

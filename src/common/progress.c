/* Long work: a line that moves on a terminal, and an end in order when the user breaks it off. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "eta-ext/base/clock-now.h"
#include "eta-ext/base/printable.h"

enum { STEP_NS = 100000000 };

static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
enum { N_SIGNALS = sizeof(signals) / sizeof(*signals) };

static struct sigaction before[N_SIGNALS], before_limit;
static volatile sig_atomic_t came;

uint64_t progress_events(const struct eta_trace *trace)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	uint64_t n = 0;

	for (uint32_t i = 0; i < defs->n_locations; i++) {
		if (!defs->locations[i].events)
			return 0;
		n += defs->locations[i].events;
	}
	return n;
}

/* ---- what is left ---- */

/* A line with some paths. The one that is shown, and the one that is made. */
static char left_texts[2][4 * PATH_MAX];
static const char *volatile left = left_texts[0];

void broken_off_leaves(const char *format, ...)
{
	char *text = left == left_texts[0] ? left_texts[1] : left_texts[0];
	size_t n;
	va_list ap;

	n = (size_t)snprintf(text, sizeof(*left_texts),
			     "%.64s: interrupted: ", program_invocation_short_name);
	va_start(ap, format);
	printable_format(text + n, sizeof(*left_texts) - n - 1, format, ap);
	va_end(ap);
	strcat(text, "\n");
	left = text;
}

/* Also of a handler. */
static void say_what_is_left(void)
{
	if (*left && write(STDERR_FILENO, left, strlen(left)) < 0)
		return; /* nobody to tell */
}

static void end_now(int sig)
{
	/* progress_end has said it */
	if (!came)
		say_what_is_left();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* What the caller ignores (nohup) stays ignored. */
static void take_signals(void (*handler)(int), struct sigaction *was)
{
	for (int i = 0; i < N_SIGNALS; i++) {
		struct sigaction action = { .sa_handler = handler }, before_it;

		sigaction(signals[i], NULL, &before_it);
		if (before_it.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
		if (was)
			was[i] = before_it;
	}
}

void broken_off_begin(void)
{
	take_signals(end_now, NULL);
}

/* ---- progress ---- */

static void remember(int sig)
{
	came = sig;
}

void progress_begin(struct progress *progress, uint64_t total, bool quiet)
{
	*progress = (struct progress){
		.shown = !quiet && isatty(STDERR_FILENO),
		.total = total,
		.start_ns = clock_ns(CLOCK_MONOTONIC),
	};
	came = 0;
	take_signals(remember, before);
	/* a limit on the size of files is then an error of the write, as a full disk is */
	sigaction(SIGXFSZ, &(struct sigaction){ .sa_handler = SIG_IGN }, &before_limit);
}

int progress_step(void *arg, uint64_t done)
{
	struct progress *p = arg;
	uint64_t now = p->shown ? clock_ns(CLOCK_MONOTONIC) : 0;

	if (p->shown && now - p->last_ns >= STEP_NS) {
		double seconds = (double)(now - p->start_ns) / 1e9;

		p->last_ns = now;
		fprintf(stderr, "\r%.1f M events", (double)done / 1e6);
		if (p->total && done <= p->total)
			fprintf(stderr, ", %" PRIu64 " %%", done * 100 / p->total);
		if (seconds > 0.5)
			fprintf(stderr, ", %.1f M/s", (double)done / 1e6 / seconds);
		fputs("\033[K", stderr);
		fflush(stderr);
	}
	return came != 0;
}

void progress_end(struct progress *progress)
{
	if (progress->shown && progress->last_ns)
		fputs("\r\033[K", stderr);
	if (came)
		say_what_is_left();
	for (int i = 0; i < N_SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
	sigaction(SIGXFSZ, &before_limit, NULL);
	if (came)
		raise(came);
}

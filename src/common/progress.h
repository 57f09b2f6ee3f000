/* Long work: a line that moves on a terminal, and an end in order when the user breaks it off. */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCI_PROGRESS_H
#define SCI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "eta-ext/base/eta.h"

/* How many events TRACE has at most, 0: unknown. */
uint64_t progress_events(const struct eta_trace *trace);

struct progress {
	bool shown;	/* on a terminal, and not asked to be quiet */
	uint64_t total; /* events, 0: unknown */
	uint64_t start_ns, last_ns;
};

/*
 * From here to progress_end SIGINT, SIGQUIT, SIGTERM and SIGHUP do not end the process, but are
 * remembered, and SIGXFSZ is ignored. Nothing is drawn with QUIET. One at a time.
 */
void progress_begin(struct progress *progress, uint64_t total, bool quiet);
/* As eta_write_options wants it: draws the line at most ten times a second; 1 once interrupted. */
int progress_step(void *progress, uint64_t done);
/* Takes the line away. Where a signal has come it is sent again, which ends the process. */
void progress_end(struct progress *progress);

/*
 * What SIGINT, SIGQUIT, SIGTERM or SIGHUP leave, from now on: said before they end the process
 * ("x.otf2 is not written"). Outside of progress_begin and progress_end it ends at once where a
 * command has called broken_off_begin.
 */
void broken_off_leaves(const char *format, ...) __attribute__((format(printf, 1, 2)));
void broken_off_begin(void);

#endif

/* Logs: opening one, all of its lines, the end. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "log-block.h"
#include "log-defs.h"
#include "log-events.h"
#include "log-files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int log_open(struct eta_trace *trace, struct log **out)
{
	struct log *log = calloc(1, sizeof(*log));
	int rc;

	*out = NULL;
	if (!log) {
		eta_error("%s: not enough memory to read it", trace->path);
		return -ENOMEM;
	}
	trace->data = log;
	log->trace = trace;
	log->spill = -1;
	log->file = fopen(trace->path, "re");
	if (!log->file) {
		rc = -errno;
		eta_error("%s: cannot open: %s", trace->path, strerror(-rc));
		return rc;
	}
	*out = log;
	return 0;
}

int log_end(struct log *log, int rc, const char *clock)
{
	/* analyzer: log_open gives none only with an error, which errno is */
	struct eta_trace *trace = log->trace;

	if (rc == 0)
		rc = log_block_end(log);
	if (rc == 0)
		rc = log_queues_end(log);
	if (rc == 0 && eta_defs_property(trace, "SCI::CLOCK", clock) == ETA_NONE)
		rc = -ENOMEM;
	log->endless = log->entered & ~log->left;
	log->no_ends |= log->endless != 0;
	if (rc == 0 && log->no_ends) {
		eta_note("%s: this log does not say when calls end: each lasts 0 ns, or as long as "
			 "its thread was seen in it",
			 trace->path);
		if (eta_defs_property(trace, "SCI::CALL_ENDS", "unknown") == ETA_NONE)
			rc = -ENOMEM;
	}
	/* what only reading needs */
	log_files_free(log);
	log_defs_free(log);
	fclose(log->file);
	log->file = NULL;
	return rc;
}

int log_read_lines(struct eta_trace *trace, int (*parse)(struct log *log, void *state, char *line),
		   void *state, const char *clock)
{
	struct log *log;
	int rc = log_open(trace, &log);

	if (rc)
		return rc;
	while ((rc = log_next_line(log)) > 0) {
		/* analyzer: as above */
		rc = parse(log, state, log->text);
		if (rc)
			break;
	}
	return log_end(log, rc, clock);
}

void log_close(struct eta_trace *trace)
{
	struct log *log = trace->data;

	if (!log)
		return;
	log_files_free(log);
	log_defs_free(log);
	log_queues_free(log);
	if (log->file)
		fclose(log->file);
	if (log->spill >= 0)
		close(log->spill);
	free(log->requests);
	free(log->text);
	free(log->host);
	free(log);
}

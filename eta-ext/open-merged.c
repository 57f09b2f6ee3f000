/* Several inputs opened as one; every event of all locations; when it all began. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "eta-ext/base/eta.h"
#include "eta-ext/trace/source.h"

int eta_open_merged(char *const *paths, size_t n, const struct eta_options *options,
		    struct eta_trace **out)
{
	struct eta_trace **inputs = calloc(n + 1, sizeof(*inputs));
	size_t opened = 0;
	int rc = 0;

	*out = NULL;
	if (!inputs) {
		eta_error("not enough memory for %zu traces", n);
		return -ENOMEM;
	}
	if (n == 0) {
		eta_error("no trace to open (give at least one)");
		rc = -EINVAL;
	}
	while (rc == 0 && opened < n) {
		rc = eta_open(paths[opened], options, &inputs[opened]);
		opened += rc == 0;
	}
	if (rc == 0)
		rc = eta_merge(inputs, n, out);
	else
		while (opened > 0)
			eta_close(inputs[--opened]);
	free(inputs);
	return rc;
}

int eta_trace_read(struct eta_trace *trace, eta_event_fn fn, void *arg)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		ssize_t n = 0;

		rc = eta_cursor_open(trace, l, &cursor);
		if (rc)
			break;
		while (rc == 0 && (n = eta_cursor_read(cursor, &batch)) > 0)
			for (ssize_t i = 0; rc == 0 && i < n; i++)
				rc = fn(arg, l, &batch[i]);
		eta_cursor_close(cursor);
		rc = rc ? rc : (int)n;
	}
	return rc;
}

int eta_trace_start(struct eta_trace *trace, uint64_t *start_ns)
{
	const struct eta_defs *defs = eta_trace_defs(trace);
	uint64_t first = UINT64_MAX;
	int rc = 0;

	for (uint32_t l = 0; rc == 0 && l < defs->n_locations; l++) {
		const struct eta_event *batch;
		struct eta_cursor *cursor;
		ssize_t n;

		rc = eta_cursor_open(trace, l, &cursor);
		if (rc)
			break;
		n = eta_cursor_read(cursor, &batch);
		if (n > 0 && batch->time_ns < first)
			first = batch->time_ns;
		rc = n < 0 ? (int)n : 0;
		eta_cursor_drop(cursor);
	}
	*start_ns = first == UINT64_MAX ? 0 : first;
	return rc;
}

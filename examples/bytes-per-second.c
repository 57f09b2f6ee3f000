/* bytes-per-second TRACE...: what was read and written of each file in each second of a run. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <eta.h>

enum { SECONDS = 3600 }; /* the first hour */

int main(int argc, char **argv)
{
	struct eta_trace **inputs = calloc((size_t)argc, sizeof(*inputs)), *trace;
	int n = 0;

	while (n < argc - 1 && eta_open(argv[n + 1], NULL, &inputs[n]) == 0)
		n++;
	/* all inputs as one trace, which owns them; errors have been said */
	if (n == 0 || n < argc - 1 || eta_merge(inputs, (size_t)n, &trace) < 0) {
		free(inputs);
		return EXIT_FAILURE;
	}

	const struct eta_defs *defs = eta_trace_defs(trace);
	uint64_t(*bytes)[SECONDS] = calloc(defs->n_files + 1, sizeof(*bytes)),
	start_ns = UINT64_MAX;

	for (uint32_t l = 0; l < defs->n_locations; l++)
		if (defs->locations[l].start_ns && defs->locations[l].start_ns < start_ns)
			start_ns = defs->locations[l].start_ns;
	for (uint32_t l = 0; l < defs->n_locations; l++) {
		const struct eta_event *e;
		struct eta_cursor *cursor;
		ssize_t events;

		if (eta_cursor_open(trace, l, &cursor) < 0)
			return EXIT_FAILURE;
		while ((events = eta_cursor_read(cursor, &e)) > 0)
			for (; events > 0; events--, e++)
				if (e->kind == ETA_IO_COMPLETE && e->handle != ETA_NONE &&
				    !(e->has & ETA_EVENT_BLOCK_IO) && e->has & ETA_HAS_SIZE &&
				    e->time_ns - start_ns < SECONDS * UINT64_C(1000000000)) {
					uint32_t file = defs->handles[e->handle].file;
					uint64_t second = (e->time_ns - start_ns) / 1000000000;

					bytes[file == ETA_NONE ? defs->n_files : file][second] +=
						e->size;
				}
		eta_cursor_close(cursor);
		if (events < 0)
			return EXIT_FAILURE;
	}
	for (uint32_t f = 0; f <= defs->n_files; f++)
		for (int s = 0; s < SECONDS; s++)
			if (bytes[f][s])
				printf("%4d %12" PRIu64 " %s\n", s, bytes[f][s],
				       f < defs->n_files ? defs->files[f].path : "(no file)");
	eta_close(trace);
	free(bytes);
	free(inputs);
	return EXIT_SUCCESS;
}

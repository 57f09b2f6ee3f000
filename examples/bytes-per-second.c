/* bytes-per-second TRACE...: what was read and written of each file in each second of a run. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <eta.h>

enum { SECONDS = 3600 }; /* the first hour */

static const struct eta_defs *defs;
static uint64_t start_ns, (*bytes)[SECONDS]; /* of each file, then of none */

static int add(void *arg, uint32_t location, const struct eta_event *e)
{
	uint64_t second = (e->time_ns - start_ns) / 1000000000;
	uint32_t file = ETA_NONE;

	(void)arg, (void)location;
	if (e->kind != ETA_IO_COMPLETE || e->has & ETA_EVENT_BLOCK_IO || second >= SECONDS)
		return 0;
	if (e->handle != ETA_NONE)
		file = defs->handles[e->handle].file;
	bytes[file == ETA_NONE ? defs->n_files : file][second] +=
		e->has & ETA_HAS_SIZE ? e->size : 0;
	return 0;
}

int main(int argc, char **argv)
{
	struct eta_trace *trace;

	if (eta_open_merged(argv + 1, (size_t)argc - 1, NULL, &trace) < 0) /* it has said why */
		return EXIT_FAILURE;
	defs = eta_trace_defs(trace);
	bytes = calloc(defs->n_files + 1, sizeof(*bytes));
	if (eta_trace_start(trace, &start_ns) < 0 || eta_trace_read(trace, add, NULL) < 0)
		return EXIT_FAILURE;
	for (uint32_t f = 0; f <= defs->n_files; f++) {
		char name[8192];

		eta_printable(f < defs->n_files ? defs->files[f].path : "(no file)", name,
			      sizeof(name));
		for (int s = 0; s < SECONDS; s++)
			if (bytes[f][s])
				printf("%4d %12" PRIu64 " %s\n", s, bytes[f][s], name);
	}
	eta_close(trace);
	return EXIT_SUCCESS;
}

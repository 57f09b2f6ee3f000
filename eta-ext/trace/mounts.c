/* Files on network file systems. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "source.h"

int eta_defs_mount(struct eta_trace *trace, const char *text)
{
	char *end;
	uint32_t dev = (uint32_t)strtoul(text, &end, 10);
	const char *source;

	if (end == text || *end != ' ' || !end[1]) {
		trace->counts.bad++;
		return 0;
	}
	source = eta_trace_string(trace, end + 1);
	if (!source)
		return -ENOMEM;
	for (uint32_t i = 0; i < trace->defs.n_files; i++)
		if (trace->defs.files[i].dev == dev)
			trace->defs.files[i].mount = source;
	return 0;
}

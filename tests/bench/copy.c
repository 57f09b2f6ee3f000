/* bench-copy IN... OUT: each archive read and written again, event for event: what a merge may
 * cost. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "eta-ext/base/eta.h"

/* The copy of input I goes to OUT.I.otf2. */
int main(int argc, char **argv)
{
	int rc = argc < 3 ? -1 : 0;

	if (rc)
		fputs("usage: bench-copy IN... OUT\n", stderr);
	for (int i = 1; rc == 0 && i < argc - 1; i++) {
		const struct eta_write_options options = { 0 };
		struct eta_counts counts = { 0 };
		struct eta_trace *trace;
		char path[4096];

		snprintf(path, sizeof(path), "%s.%d.otf2", argv[argc - 1], i);
		rc = eta_open(argv[i], NULL, &trace);
		if (rc)
			break;
		rc = eta_write_otf2(trace, path, &options, &counts);
		eta_close(trace);
	}
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

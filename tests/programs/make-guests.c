/* Writes the archive of two guests and their host. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>

#include "tests/unit/guest-trace.h"

int main(int argc, char **argv)
{
	struct eta_trace *trace;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: %s ARCHIVE.otf2 ORDER\n", argv[0]);
		return 2;
	}
	trace = guests_merged(argv[2]);
	if (!trace)
		return 1;
	rc = eta_write_otf2(trace, argv[1], NULL, NULL);
	eta_close(trace);
	return rc != 0;
}

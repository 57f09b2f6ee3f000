/* write-random ARCHIVE SEED EVENTS THREADS: an archive of random events. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "tests/unit/random-trace.h"

int main(int argc, char **argv)
{
	struct eta_write_options options = { 0 };
	struct eta_trace *trace;
	int rc;

	if (argc != 5)
		return 2;
	trace = random_trace(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	options.threads = (unsigned)strtoul(argv[4], NULL, 10);
	rc = eta_write_otf2(trace, argv[1], &options, NULL);
	eta_close(trace);
	return rc < 0;
}

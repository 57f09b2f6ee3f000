/* follow-spool SPOOL FOLDER SLICE: reads the spool while it is written, as sci-top does; at the end
 * of stdin all of it is a spool in FOLDER. In slices, each of which was a spool in SLICE, it is
 * scored as well: a line "tid operations score name" for each thread. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "src/top/sum.h"
#include "src/top/window.h"

#define SLICE_READS 200 /* of a millisecond and more each */

static int add(struct window *w, struct slices *slices, const char *path, int folder, uint64_t now)
{
	int rc = window_read(w, now, now);

	if (rc == 0)
		rc = window_write(w, folder);
	return rc ? rc : slices_add(slices, path, now);
}

static int print(const struct slices *slices)
{
	struct analysis a;
	struct rates rates;
	struct sum sum;
	int rc = sum_new(slices, &sum, &a, &rates);

	for (uint32_t i = 0; rc == 0 && i < a.n_threads; i++) {
		const struct thread_score *t = &a.threads[i];

		if (t->operations)
			printf("%" PRIu32 " %" PRIu64 " %.6f %s\n",
			       sum.defs.locations[t->location].tid, t->operations, t->sci,
			       sum.defs.locations[t->location].name);
	}
	sum_free(&sum, &a, &rates);
	return rc;
}

int main(int argc, char **argv)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	int spool = argc == 4 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	int folder = argc == 4 ? open(argv[2], O_RDONLY | O_DIRECTORY) : -1;
	int slice = argc == 4 ? open(argv[3], O_RDONLY | O_DIRECTORY) : -1;
	struct window *w = spool < 0 || folder < 0 ? NULL : window_new(spool, false);
	struct window *last = w && slice >= 0 ? window_new(spool, false) : NULL;
	struct slices slices;
	int rc = last ? slices_new(&slices, 100) : -1;
	uint64_t now = 1;

	while (rc == 0 && poll(&input, 1, 1) == 0) {
		rc = window_read(w, 1, 0);
		if (rc == 0 && ++now % SLICE_READS == 0)
			rc = add(last, &slices, argv[3], slice, now);
	}
	if (rc == 0)
		rc = window_read(w, 1, 0);
	if (rc == 0)
		rc = window_write(w, folder);
	if (rc == 0)
		rc = add(last, &slices, argv[3], slice, now + 1);
	if (rc == 0)
		rc = print(&slices);
	if (last)
		slices_free(&slices);
	window_free(w);
	window_free(last);
	return rc ? 1 : 0;
}

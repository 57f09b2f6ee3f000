/* Threads for the passes of the analysis. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

void parallel_run(unsigned n, void *(*work)(void *arg), void *arg)
{
	pthread_t *threads = calloc(n, sizeof(*threads));
	unsigned started = 0;

	while (threads && started + 1 < n &&
	       pthread_create(&threads[started], NULL, work, arg) == 0)
		started++;
	work(arg);
	while (started > 0)
		pthread_join(threads[--started], NULL);
	free(threads);
}

unsigned parallel_threads(unsigned wanted, size_t pieces)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (wanted == 0)
		wanted = cpus > 0 ? (unsigned)cpus : 1;
	if (wanted > pieces)
		wanted = pieces ? (unsigned)pieces : 1;
	return wanted;
}

/* Where the lifetime went of the threads that did the I/O. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "io-time.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/common/share.h"

/* A shell that waits for its children, a main thread for the others, would be most of the time. */
#define PERCENT_OF_IO 95

static int by_io(const void *a, const void *b)
{
	const struct thread_score *const *x = a, *const *y = b;

	if ((*x)->io_ns != (*y)->io_ns)
		return (*x)->io_ns > (*y)->io_ns ? -1 : 1;
	return ((*x)->location > (*y)->location) - ((*x)->location < (*y)->location);
}

struct io_times io_times_of(const struct analysis *a, bool *member)
{
	const struct thread_score *threads = a->threads;
	const struct thread_score **list = calloc((size_t)a->n_threads + 1, sizeof(*list));
	struct io_times sum = { 0 };
	uint64_t io_ns = 0;
	uint32_t found = 0;

	if (!list)
		return sum;
	for (uint32_t i = 0; i < a->n_threads; i++)
		if (threads[i].scored && threads[i].operations &&
		    !a->defs->locations[threads[i].location].track) {
			list[found++] = &threads[i];
			io_ns += threads[i].io_ns;
		}
	if (found)
		qsort(list, found, sizeof(*list), by_io);
	for (uint32_t i = 0; i < found; i++) {
		if (io_ns && share_reaches((double)sum.in_calls_ns, (double)io_ns, PERCENT_OF_IO))
			break;
		sum.lifetime_ns += list[i]->lifetime_ns;
		sum.in_calls_ns += list[i]->io_ns;
		sum.ready_ns += list[i]->ready_ns;
		sum.operations += list[i]->operations;
		sum.threads++;
		if (member)
			member[list[i]->location] = true;
	}
	free(list);
	return sum;
}

static int by_function(const void *left, const void *right)
{
	const struct io_asleep *a = left, *b = right;

	return strcmp(a->function, b->function);
}

static int by_time(const void *left, const void *right)
{
	const struct io_asleep *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return strcmp(a->function, b->function);
}

/* Adds up those of one function; how many are left. LIST is sorted by function. */
static int unite(struct io_asleep *list, int n)
{
	int functions = 0;

	for (int i = 0; i < n; i++) {
		struct io_asleep *last = functions ? &list[functions - 1] : NULL;

		if (last && strcmp(last->function, list[i].function) == 0) {
			last->ns += list[i].ns;
			last->n += list[i].n;
		} else {
			list[functions++] = list[i];
		}
	}
	return functions;
}

int io_asleep_new(const struct analysis *a, struct io_asleep **list)
{
	bool *member = calloc((size_t)a->defs->n_locations + 1, sizeof(*member));
	int n = 0;

	*list = calloc((size_t)a->n_asleep + 1, sizeof(**list));
	if (!member || !*list) {
		free(member);
		free(*list);
		*list = NULL;
		return -ENOMEM;
	}
	io_times_of(a, member);
	for (uint32_t i = 0; i < a->n_asleep; i++) {
		const struct between *b = &a->asleep[i];

		if (b->location != ETA_NONE && member[b->location])
			(*list)[n++] = (struct io_asleep){ b->function, b->ns, b->n };
	}
	free(member);
	qsort(*list, (size_t)n, sizeof(**list), by_function);
	n = unite(*list, n);
	qsort(*list, (size_t)n, sizeof(**list), by_time);
	return n;
}

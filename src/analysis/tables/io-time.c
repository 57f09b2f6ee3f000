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

uint64_t io_lifetime_ns(const struct analysis *a, uint64_t *in_calls_ns, bool *member)
{
	const struct thread_score **list = calloc(a->n_threads + 1, sizeof(*list));
	uint64_t lifetime_ns = 0, io_ns = 0;
	uint32_t n = 0;

	for (uint32_t i = 0; list && i < a->n_threads; i++)
		if (a->threads[i].scored && a->threads[i].operations)
			list[n++] = &a->threads[i];
	if (n)
		qsort(list, n, sizeof(*list), by_io);
	for (uint32_t i = 0; i < n; i++) {
		if (a->io_ns && share_reaches((double)io_ns, (double)a->io_ns, PERCENT_OF_IO))
			break;
		lifetime_ns += list[i]->lifetime_ns;
		io_ns += list[i]->io_ns;
		if (member)
			member[list[i]->location] = true;
	}
	free(list);
	if (in_calls_ns)
		*in_calls_ns = io_ns;
	return lifetime_ns;
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
	io_lifetime_ns(a, NULL, member);
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

/* Threads of two runs that did the same, and the time between their operations. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "longer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io-time.h"
#include "src/common/share.h"

/* Threads with more or fewer calls than that differ in what they do. */
#define SAME_CALLS_PERCENT 5
/* What is longer by less, or less of all the time at work, is what runs differ by. */
#define LONGER_PERCENT 10
#define LONGER_OF_ALL_PERCENT 5

static uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Threads of one name by what they did: the same place in both runs, as far as these are alike. */
static int by_work(const void *a, const void *b)
{
	const struct thread_times *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	if (names)
		return names;
	if (x->calls != y->calls)
		return x->calls > y->calls ? 1 : -1;
	if (x->first_ns != y->first_ns)
		return x->first_ns > y->first_ns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* How long the name of the program is in that of a THREAD. */
static int program_of(const char *thread)
{
	const char *tid = strstr(thread, " tid ");

	return (int)(tid ? (size_t)(tid - thread) : strlen(thread));
}

/* Its name is without the number, which differs from run to run. */
static int add(struct baseline_times *times, const char *name, const struct thread_score *t,
	       uint64_t asleep_ns, uint32_t index)
{
	struct thread_times *to = &times->list[times->n];

	*to = (struct thread_times){
		.name = strndup(name, (size_t)program_of(name)),
		.calls = t->calls,
		.outside_ns = above(t->lifetime_ns, t->io_ns + asleep_ns),
		.ready_ns = t->ready_ns,
		.lifetime_ns = t->lifetime_ns,
		.first_ns = t->first_ns,
		.index = index,
	};
	if (!to->name)
		return -ENOMEM;
	times->n++;
	return 0;
}

/* MEMBER: by location, as io_times_of() has it; NULL: all, also those that only computed. */
static int times_new(const struct analysis *a, const bool *member, struct baseline_times *out)
{
	struct baseline_times times = { calloc((size_t)a->n_threads + 1, sizeof(*times.list)), 0 };
	uint64_t *asleep_ns = calloc((size_t)a->defs->n_locations + 1, sizeof(*asleep_ns));
	int rc = times.list && asleep_ns ? 0 : -ENOMEM;

	/* who sleeps in futex waits for threads of its own, which may do no I/O and be in no row */
	for (uint32_t i = 0; i < a->n_asleep && !rc; i++)
		if (a->asleep[i].location != ETA_NONE &&
		    strcmp(a->asleep[i].function, "futex") != 0)
			asleep_ns[a->asleep[i].location] += a->asleep[i].ns;
	for (uint32_t i = 0; i < a->n_threads && !rc; i++) {
		const struct thread_score *t = &a->threads[i];

		if (t->scored && (!member || member[t->location]))
			rc = add(&times, a->defs->locations[t->location].name, t,
				 asleep_ns[t->location], i);
	}
	free(asleep_ns);
	if (rc) {
		baseline_times_free(&times);
		return rc;
	}
	qsort(times.list, times.n, sizeof(*times.list), by_work);
	*out = times;
	return 0;
}

int baseline_times_new(const struct analysis *a, struct baseline_times *out)
{
	return times_new(a, NULL, out);
}

void baseline_times_free(struct baseline_times *times)
{
	for (uint32_t i = 0; i < times->n; i++)
		free(times->list[i].name);
	free(times->list);
	*times = (struct baseline_times){ 0 };
}

static bool is_same_work(const struct thread_times *now, const struct thread_times *alone)
{
	uint64_t calls = above(now->calls, alone->calls) + above(alone->calls, now->calls);

	return calls <= alone->calls * SAME_CALLS_PERCENT / 100;
}

/* Is ALONE before NOW in the order, and too far from it? */
static bool is_before(const struct thread_times *alone, const struct thread_times *now)
{
	int names = strcmp(alone->name, now->name);

	return names < 0 || (!names && alone->calls < now->calls && !is_same_work(now, alone));
}

/*
 * A thread of NAME that made no call may be in no trace: it lived no longer than the longest of
 * NAME in ALONE, which is *OTHER. False: there is none.
 */
static bool longest_of(const struct baseline_times *alone, const char *name,
		       struct thread_times *other)
{
	*other = (struct thread_times){ 0 };
	for (uint32_t i = 0; i < alone->n; i++)
		if (strcmp(alone->list[i].name, name) == 0 &&
		    alone->list[i].lifetime_ns > other->outside_ns)
			other->outside_ns = alone->list[i].lifetime_ns;
	return other->outside_ns;
}

/* Sums NOW, all of which must have one in ALONE; both in order. False: the runs differ. */
static bool compare(const struct baseline_times *now, const struct baseline_times *alone,
		    struct longer *sum, uint64_t *more_ns)
{
	uint64_t ready_ns = 0, ready_alone_ns = 0;
	uint32_t k = 0;

	for (uint32_t i = 0; i < now->n; i++, k++) {
		const struct thread_times *t = &now->list[i], *other;
		struct thread_times longest;

		while (k < alone->n && is_before(&alone->list[k], t))
			k++;
		other = &alone->list[k];
		if (k == alone->n || strcmp(other->name, t->name) != 0 || !is_same_work(t, other)) {
			if (t->calls || !longest_of(alone, t->name, &longest))
				return false;
			other = &longest;
			k--;
		}
		sum->outside_ns += t->outside_ns;
		sum->alone_ns += other->outside_ns;
		ready_ns += t->ready_ns;
		ready_alone_ns += other->ready_ns;
		if (more_ns)
			more_ns[t->index] = above(t->outside_ns, other->outside_ns);
	}
	sum->more_ns = above(sum->outside_ns, sum->alone_ns);
	sum->ready_ns = above(ready_ns, ready_alone_ns);
	if (sum->ready_ns > sum->more_ns)
		sum->ready_ns = sum->more_ns;
	return true;
}

int longer_than_alone(const struct analysis *a, struct longer *out, uint64_t *more_ns)
{
	bool *member = calloc((size_t)a->defs->n_locations + 1, sizeof(*member));
	struct io_times times;
	struct baseline_times now = { 0 };
	int rc = member ? 0 : -ENOMEM;

	*out = (struct longer){ 0 };
	if (!rc && a->baseline_times.n) {
		times = io_times_of(a, member);
		rc = times_new(a, member, &now);
	}
	free(member);
	if (rc || !now.n)
		goto out;
	if (!compare(&now, &a->baseline_times, out, more_ns) ||
	    !share_reaches((double)out->more_ns, (double)out->alone_ns, LONGER_PERCENT) ||
	    /* not of lifetimes: workers of a server sleep for most of theirs */
	    !share_reaches((double)out->more_ns, (double)(out->outside_ns + times.in_calls_ns),
			   LONGER_OF_ALL_PERCENT))
		out->more_ns = 0;
out:
	baseline_times_free(&now);
	return rc;
}

/* ---- as a whole ---- */

/* What is longer by less, or of what less than this is not explained, is what runs differ by. */
#define PROCESS_LONGER_PERCENT 25
#define UNEXPLAINED_PERCENT 20

/* The process with most of the I/O; ETA_NONE. */
static uint32_t process_of_most(const struct analysis *a)
{
	uint64_t *io_ns = calloc((size_t)a->defs->n_processes + 1, sizeof(*io_ns));
	uint32_t most = ETA_NONE;

	for (uint32_t i = 0; io_ns && i < a->n_threads; i++) {
		const struct eta_location *l = &a->defs->locations[a->threads[i].location];

		if (!a->threads[i].scored || l->track || l->process >= a->defs->n_processes)
			continue;
		io_ns[l->process] += a->threads[i].io_ns;
		if (most == ETA_NONE || io_ns[l->process] > io_ns[most])
			most = l->process;
	}
	free(io_ns);
	return most;
}

/* The longest lived thread of PROCESS. False: another process has its name, too. */
static bool find_process(const struct analysis *a, uint32_t process, struct longer_process *out)
{
	const char *name = "";

	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct eta_location *l = &a->defs->locations[a->threads[i].location];

		if (l->process != process || a->threads[i].lifetime_ns <= out->now_ns || l->track)
			continue;
		out->now_ns = a->threads[i].lifetime_ns;
		name = l->name;
	}
	snprintf(out->name, sizeof(out->name), "%.*s", program_of(name), name);
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct eta_location *l = &a->defs->locations[a->threads[i].location];

		if (l->process != process && strncmp(l->name, out->name, strlen(out->name)) == 0 &&
		    (size_t)program_of(l->name) == strlen(out->name))
			return false;
	}
	return out->name[0];
}

bool process_longer_than_alone(const struct analysis *a, struct longer_process *out)
{
	uint32_t process = a->baseline_times.n ? process_of_most(a) : ETA_NONE;
	int64_t unexplained;

	*out = (struct longer_process){ 0 };
	if (process == ETA_NONE || !find_process(a, process, out))
		return false;
	for (uint32_t i = 0; i < a->baseline_times.n; i++) {
		const struct thread_times *t = &a->baseline_times.list[i];

		if (strcmp(t->name, out->name) == 0 && t->lifetime_ns > out->alone_ns)
			out->alone_ns = t->lifetime_ns;
	}
	for (uint32_t i = 0; i < a->n_processes; i++)
		if (a->processes[i].process == process)
			out->saved_ns = a->processes[i].saved_all_ns;
	unexplained = (int64_t)above(out->now_ns, out->alone_ns) - out->saved_ns;
	return out->alone_ns && unexplained > 0 &&
	       share_reaches((double)above(out->now_ns, out->alone_ns), (double)out->alone_ns,
			     PROCESS_LONGER_PERCENT) &&
	       share_reaches((double)unexplained, (double)out->now_ns, UNEXPLAINED_PERCENT);
}

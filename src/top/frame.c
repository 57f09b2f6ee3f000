/* What sci-top shows: the score of the last seconds. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const pressure_names[N_PRESSURES] = {
#define X(name) [PRESSURE_##name] = #name,
	PRESSURES(X)
#undef X
};

/* The kernel may be built or started without it. */
static void read_pressures(struct frame *f)
{
	for (int i = 0; i < N_PRESSURES; i++) {
		struct pressure *p = &f->pressures[i];
		char path[64], line[256];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/pressure/%s", pressure_names[i]);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "some avg10=%lf", &p->some) == 1)
				p->known = true;
			else
				(void)sscanf(line, "full avg10=%lf", &p->full);
		if (file)
			fclose(file);
	}
}

int frame_new(const struct slices *slices, struct frame *frame)
{
	int rc;

	*frame = (struct frame){ 0 };
	read_pressures(frame);
	rc = sum_new(slices, &frame->sum, &frame->seen, &frame->rates);
	frame->lost = frame->seen.counts.lost;
	return rc;
}

void frame_free(struct frame *frame)
{
	sum_free(&frame->sum, &frame->seen, &frame->rates);
	*frame = (struct frame){ 0 };
}

const char *frame_culprit_name(const struct frame *f, const struct blame *b,
			       struct report_text *room)
{
	char path[64], comm[32] = "";
	FILE *file = NULL;

	if (b->location == ETA_NONE && b->tid) {
		snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", b->tid);
		file = fopen(path, "re");
	}
	if (!file)
		return report_culprit(&f->seen, b);
	if (fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
	snprintf(room->text, sizeof(room->text), "%s tid %" PRIu32, comm, b->tid);
	return room->text;
}

/* Somebody: not nobody, and not the rest of many. */
static bool is_known(const struct blame *b)
{
	return b->ns > 0 && (b->location != ETA_NONE || b->tid);
}

static int by_identity(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	if (x->location != y->location)
		return x->location < y->location ? -1 : 1;
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_time(const void *a, const void *b)
{
	const struct blame *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_identity(a, b);
}

/* Those of the N in LIST, of several threads, that took most. */
static uint32_t most(struct blame *list, uint32_t n, struct blame by[CULPRITS_SHOWN])
{
	uint32_t different = 0;

	if (n)
		qsort(list, n, sizeof(*list), by_identity);
	for (uint32_t i = 0; i < n; i++)
		if (different && by_identity(&list[i], &list[different - 1]) == 0)
			list[different - 1].ns += list[i].ns;
		else
			list[different++] = list[i];
	if (different)
		qsort(list, different, sizeof(*list), by_time);
	if (different > CULPRITS_SHOWN)
		different = CULPRITS_SHOWN;
	for (uint32_t i = 0; i < different; i++)
		by[i] = list[i];
	return different;
}

static uint32_t add_known(const struct thread_score *t, struct blame *list, uint32_t n)
{
	for (uint32_t i = 0; i < t->n_blame; i++)
		if (is_known(&t->blame[i]))
			list[n++] = t->blame[i];
	return n;
}

uint32_t frame_culprits_of_thread(const struct thread_score *t, struct blame by[CULPRITS_SHOWN])
{
	struct blame *list = calloc(t->n_blame + 1, sizeof(*list));
	uint32_t n = list ? most(list, add_known(t, list, 0), by) : 0;

	free(list);
	return n;
}

uint32_t frame_culprits_of_process(const struct frame *f, uint32_t process,
				   struct blame by[CULPRITS_SHOWN])
{
	const struct analysis *a = &f->seen;
	uint32_t room = 0, n = 0;
	struct blame *list;

	for (int fill = 0; fill < 2; fill++) {
		list = fill ? calloc(room + 1, sizeof(*list)) : NULL;
		for (uint32_t i = 0; i < a->n_threads; i++) {
			const struct thread_score *t = &a->threads[i];

			if (a->defs->locations[t->location].process != process)
				continue;
			room += t->n_blame;
			n = list ? add_known(t, list, n) : 0;
		}
	}
	n = list ? most(list, n, by) : 0;
	free(list);
	return n;
}

/* What sci-top shows: the score of the last seconds. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/inputs.h"

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

int frame_new(const char *path, struct frame *frame)
{
	/* one thread: this is to disturb the machine least */
	const struct analysis_options options = { .files = true, .n_culprits = 8, .threads = 1 };
	char *name = (char *)(uintptr_t)path;
	int rc;

	*frame = (struct frame){ 0 };
	read_pressures(frame);
	rc = eta_open_merged(&name, 1, NULL, &frame->trace);
	if (rc == 0)
		rc = analysis_run(frame->trace, &options, &frame->analysis);
	if (rc == 0) {
		frame->seen = *frame->analysis;
		frame->lost = frame->seen.counts.lost;
		rc = rates_new(frame->trace, &frame->rates);
	}
	return rc;
}

void frame_free(struct frame *frame)
{
	if (frame->trace)
		rates_free(&frame->rates, eta_trace_defs(frame->trace));
	analysis_free(frame->analysis);
	eta_close(frame->trace);
	*frame = (struct frame){ 0 };
}

/* Somebody: not nobody, and not the rest of many. */
static bool is_known(const struct blame *b)
{
	return b->location != ETA_NONE || b->tid;
}

const char *frame_culprit_of_thread(const struct frame *f, const struct thread_score *t,
				    int64_t *ns)
{
	for (uint32_t i = 0; i < t->n_blame; i++)
		if (is_known(&t->blame[i]) && t->blame[i].ns > 0) {
			*ns = t->blame[i].ns;
			return report_culprit(&f->seen, &t->blame[i]);
		}
	*ns = 0;
	return NULL;
}

/* The largest part that one task took of one thread. */
const char *frame_culprit_of_process(const struct frame *f, uint32_t process, int64_t *ns)
{
	const struct analysis *a = &f->seen;
	const struct blame *most = NULL;

	*ns = 0;
	for (uint32_t i = 0; i < a->n_threads; i++) {
		const struct thread_score *t = &a->threads[i];

		if (a->defs->locations[t->location].process != process)
			continue;
		for (uint32_t b = 0; b < t->n_blame; b++)
			if (is_known(&t->blame[b]) && t->blame[b].ns > *ns) {
				most = &t->blame[b];
				*ns = most->ns;
			}
	}
	return most ? report_culprit(a, most) : NULL;
}

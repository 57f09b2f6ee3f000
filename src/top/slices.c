/* What sci-top has seen: the last seconds in slices, each scored once. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "slices.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eta-ext/base/array.h"
#include "src/analysis/tables/earlier.h"

int slices_new(struct slices *slices, unsigned n)
{
	*slices = (struct slices){ .earlier = earlier_new(n) };
	if (slices->earlier)
		return 0;
	eta_error("not enough memory");
	return -ENOMEM;
}

/* Of which nothing is used any more: a look may still show it. */
void slice_free(struct slice *s)
{
	if (!s || --s->users)
		return;
	if (s->trace)
		rates_free(&s->rates, eta_trace_defs(s->trace));
	analysis_free(s->analysis);
	eta_close(s->trace);
	free(s);
}

void slices_free(struct slices *slices)
{
	slices_forget(slices, UINT64_MAX);
	earlier_free(slices->earlier);
	free(slices->list);
	*slices = (struct slices){ 0 };
}

/*
 * What a recording warns of once would be on the screen with every slice: that intervals inside
 * operations were not recorded, which is no loss (their time stays with the level around them).
 * What is lost is counted, and shown.
 */
static void print_errors(void *arg, enum eta_severity severity, const char *text)
{
	(void)arg;
	if (severity == ETA_ERROR)
		fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
}

int slices_add(struct slices *slices, const char *path, uint64_t now_ns)
{
	const struct analysis_options options = { .files = true,
						  .n_culprits = 8,
						  .earlier = slices->earlier };
	/* the copy of the records that is looked at is nobody else's */
	const struct eta_options own = { .stable = true };
	char *name = (char *)(uintptr_t)path;
	struct slice *s = calloc(1, sizeof(*s));
	int rc;

	if (!s || !ARRAY_FITS(slices->list, slices->n + 1, slices->room)) {
		eta_error("not enough memory for what was recorded: give a shorter --window");
		free(s);
		return -ENOMEM;
	}
	s->users = 1;
	s->taken_ns = now_ns;
	earlier_next(slices->earlier);
	eta_set_message_fn(print_errors, NULL);
	rc = eta_open_merged(&name, 1, &own, &s->trace);
	if (rc == 0)
		rc = rates_analyse(s->trace, &options, &s->analysis, &s->rates);
	eta_set_message_fn(NULL, NULL);
	if (rc)
		slice_free(s);
	else
		slices->list[slices->n++] = s;
	return rc;
}

void slices_forget(struct slices *slices, uint64_t since_ns)
{
	size_t over = 0;

	while (over < slices->n && slices->list[over]->taken_ns < since_ns) {
		slices->begin_ns = slices->list[over]->taken_ns;
		slice_free(slices->list[over++]);
	}
	slices->n -= over;
	if (over)
		memmove(slices->list, slices->list + over, slices->n * sizeof(*slices->list));
}

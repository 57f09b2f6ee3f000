/* The analysis from a trace to its scores, pass by pass. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static int run(struct engine *e, struct analysis *a)
{
	int rc = regions_new(e->defs, &e->regions);

	if (!rc && e->options.callsites)
		rc = callsites_open(&e->callsites, e->defs);

	if (!rc && e->split)
		rc = spill_open(&e->spill);
	if (!rc)
		rc = engine_pass(e);
	if (!rc)
		rc = engine_references(e);
	if (!rc && e->split)
		rc = engine_split(e);
	if (!rc)
		rc = engine_score(e, a);
	return rc;
}

int analysis_run(struct eta_trace *trace, const struct analysis_options *options,
		 struct analysis **out)
{
	struct engine e = { .trace = trace,
			    .defs = eta_trace_defs(trace),
			    .options = *options,
			    .split = options->sci == SCI_DEFAULT,
			    .spill.fd = -1 };
	struct analysis *a = calloc(1, sizeof(*a));
	int rc = -ENOMEM;

	resources_init(&e.resources);
	if (!a)
		goto out;
	if (!e.split) {
		/* the published definition has no choices */
		e.options.similar = SIMILAR_PAPER;
		e.options.reference = REFERENCE_MIN;
	}
	a->defs = e.defs;
	a->options = e.options;
	rc = run(&e, a);
out:
	if (rc == -ENOMEM)
		eta_error("%s: not enough memory to analyse it", eta_trace_path(trace));
	if (rc < 0) {
		analysis_free(a);
		a = NULL;
	}
	engine_locations_free(&e);
	classes_free(&e.classes);
	callsites_close(&e.callsites);
	regions_free(&e.regions);
	resources_free(&e.resources);
	free(e.references);
	free(e.pool);
	if (e.spill.fd >= 0)
		spill_close(&e.spill);
	*out = a;
	return rc;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	free(a->threads);
	free(a->classes);
	free(a->callsites);
	free(a);
}

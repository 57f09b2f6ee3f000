/* What the inputs' machines were looked at for from time to time, by the result's clock. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "eta-ext/format/samples.h"

/* VALUE of INPUT as property NUMBER of KIND. 0 or -ENOMEM. */
static int take(struct eta_trace *trace, const struct merge_input *input, const char *kind,
		const char *value, unsigned number)
{
	struct samples samples;
	char name[32], *text;
	bool ok;

	if (!samples_parse(value, &samples)) {
		trace->counts.bad++;
		return 0;
	}
	snprintf(name, sizeof(name), "%s%u", kind, number);
	if (asprintf(&text, "%" PRIu64 " %.*s%s",
		     eta_clock_convert(&input->clock, samples.since_ns),
		     (int)(samples.host - samples.next), samples.next,
		     merge_host(trace, input, samples.host)) < 0)
		return -ENOMEM;
	ok = eta_defs_property(trace, name, text) != ETA_NONE;
	free(text);
	return ok ? 0 : -ENOMEM;
}

int merge_samples(struct eta_trace *trace, const struct merge *merge)
{
	unsigned numbers[N_SAMPLES] = { 0 };
	int rc = 0;

	for (size_t i = 0; i < merge->n_inputs; i++) {
		const struct eta_defs *defs = &merge->inputs[i].trace->defs;

		for (uint32_t p = 0; rc == 0 && p < defs->n_properties; p++) {
			enum samples_kind kind = samples_kind(&defs->properties[p]);

			if (kind != N_SAMPLES)
				rc = take(trace, &merge->inputs[i], samples_name(kind),
					  defs->properties[p].value, ++numbers[kind]);
		}
	}
	if (rc)
		eta_error("%s: not enough memory for the definitions", trace->path);
	return rc;
}

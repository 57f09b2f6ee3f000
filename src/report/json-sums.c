/* What the kernel tracer summed, as json: limits, and waits between calls. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "json-sums.h"

#include "words.h"

/* Which limits threads waited for. */
static void put_limits(struct json_object in, const struct analysis *a)
{
	json_t *array = array_in(in, "limits");

	for (uint32_t i = 0; in.of->ok && i < a->n_limits; i++) {
		struct json_object o = object_at_end(array, in.of);

		set_text(o, "level", eta_level_name(a->limits[i].level));
		set_text(o, "reason", word_of_reason(eta_reason_name(a->limits[i].reason)));
		set_count(o, "ns", a->limits[i].ns);
		set_text(o, "what", a->limits[i].what);
	}
}

/* Waits between operations for threads that were in one. */
static void put_between(struct json_object in, const struct analysis *a)
{
	json_t *array = array_in(in, "waits_between");

	for (uint32_t i = 0; in.of->ok && i < a->n_between; i++) {
		const struct between *b = &a->between[i];
		struct json_object o = object_at_end(array, in.of);

		set_text(o, "function", b->function);
		set_count(o, "ns", b->ns);
		set_count(o, "count", b->n);
		set_text(o, "longest",
			 b->location == ETA_NONE ? "" : a->defs->locations[b->location].name);
	}
}

void json_put_sums(struct json_object root, const struct analysis *a)
{
	if (root.of->version == 1 || a->options.sci != SCI_DEFAULT)
		return;
	put_limits(root, a);
	put_between(root, a);
}

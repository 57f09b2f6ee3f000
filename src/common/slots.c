/* Finds the entries of a list by their hash. */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "slots.h"

#include <errno.h>
#include <stdlib.h>

int slots_grow(struct slots *s)
{
	struct slots more = { .n = s->n ? 2 * s->n : 16 };

	more.at = calloc(more.n, sizeof(*more.at));
	if (!more.at)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		struct slot *slot = slots_first(&more, s->at[i].hash);

		if (!s->at[i].number)
			continue;
		while (slot->number)
			slot = slots_next(&more, slot);
		slots_take(&more, slot, s->at[i].hash, s->at[i].number - 1);
	}
	slots_free(s);
	*s = more;
	return 0;
}

void slots_free(struct slots *s)
{
	free(s->at);
	*s = (struct slots){ 0 };
}
